#!/usr/bin/env python3
"""Times whole jobs in bulkhash and in the programs that people use for them now: joins, groups, distinct
edges, counts, k-mers. `make compare-jobs` installs those programs and runs this; see --help.

What bulkhash does is what a user copies: the programs of examples/, and `bulkhash count`. What the others
do is in compare-jobs-engines.py. This file runs all of them, in turn, each in a process of its own, makes
sure that their answers are the same, and says what each took. It needs no library of Python.
"""

import argparse
import collections
import datetime
import gzip
import importlib.metadata
import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENGINES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compare-jobs-engines.py")
K = 31
TIMES = 2 # that a process does its job, if it is one in memory; the last is timed

HELP = """Runs each JOB in bulkhash and in the engines that are installed, REPETITIONS times, in turn, by one
thread and by all threads, each run in a process of its own. All answers must be the same. Prints medians
of the CPU time (user and system, all threads), the wall time, and the peak of memory; and bulkhash's CPU
time divided by that of the engine in the same round, beside the bar for it.

jobs:
  join-unique          10 M rows with 30 M; keys are unique on the build side, half of the probes match
  join-several         the same with keys that come four times on the build side
  group-sum            30 M rows by 1 M keys of 8 bytes: the sum
  group-sum-count-min  the same: sum, count and minimum
  edges                the distinct ones of 16 M edges, sorted
  count-zipf           20 M numbers of 8 bytes, .npy to .npy; Zipf's law with exponent 1.0
  count-distinct       the same, all different
  kmers-genome         the 31-mers of the E. coli genome, from FASTA to lines of text
  kmers-reads          the same of 400,000 reads of 150 letters made from it, FASTQ

Joins, groups and edges are measured in memory: from columns to columns, in the engine's own form. A
process does the job twice. The time is that of the second run: the first one touches new memory, which
takes very different times on virtual machines. The peak of memory is that of the first run, beyond the
input. Counts and k-mers are whole processes, from file to file; but of Python only what follows the
imports is measured. pandas and NumPy work with one thread and are left out of the runs with all threads.
"""

EPILOG = """examples:
  make compare-jobs                                          # installs the engines, runs everything
  make compare-jobs OPTIONS=--quick                          # small inputs, to see that it works
  build/jobs-venv/bin/python scripts/compare-jobs.py --only join-unique --threads one
  make compare-jobs OPTIONS='--output docs/results/jobs.jsonl' && scripts/report.py tables docs/results

Exit status: 0; 1 when answers differ or something failed; 2 when the command line is wrong."""


class Failure(Exception):
    """Ends the program with its sentence and exit status 1."""


# --- The jobs ------------------------------------------------------------------------------------

# A program of bulkhash, its jobs, and the engines that they are compared with. What is in `sizes` is
# handed to the program, full and quick.
Program = collections.namedtuple("Program", "name jobs engines full quick")
PROGRAMS = (
    Program("join", ("join-unique", "join-several"), ("duckdb", "polars", "pandas"),
            (10_000_000, 30_000_000), (100_000, 300_000)),
    Program("group_by", ("group-sum", "group-sum-count-min"), ("duckdb", "polars", "pandas"),
            (30_000_000, 1_000_000), (300_000, 10_000)),
    Program("graph", ("edges",), ("duckdb", "polars", "pandas", "numpy"),
            (2_000_000, 16_000_000), (20_000, 160_000)),
    Program("count", ("count-zipf", "count-distinct"), ("numpy", "duckdb", "polars", "pandas"),
            (20_000_000,), (200_000,)),
    Program("kmers", ("kmers-genome", "kmers-reads"), ("jellyfish",), (400_000,), (2_000,)),
)
JOBS = [job for program in PROGRAMS for job in program.jobs]
ONE_THREAD_ONLY = ("pandas", "numpy")

# bulkhash's CPU time with one thread, divided by that of the engine, is at most this.
BARS = {
    ("join-unique", "duckdb"): 0.33,
    ("join-several", "duckdb"): 0.33,
    ("group-sum", "duckdb"): 0.33,
    ("group-sum-count-min", "duckdb"): 0.5,
    ("count-zipf", "numpy"): 1.0,
    ("count-distinct", "numpy"): 1.0,
    ("kmers-genome", "jellyfish"): 0.16,
    ("kmers-reads", "jellyfish"): 0.16,
}


def is_there(module):
    try:
        importlib.metadata.version(module)
        return True
    except importlib.metadata.PackageNotFoundError:
        return False


def find_engines():
    """{engine: version}; a sentence for each one that is missing."""
    found = {}
    for engine in ("duckdb", "polars", "pandas", "numpy"):
        needs = ["numpy", engine] + (["pyarrow"] if engine == "duckdb" else [])
        missing = next((module for module in needs if not is_there(module)), None)
        if missing is None:
            found[engine] = importlib.metadata.version(engine)
        else:
            print(f"compare-jobs: this Python has no {missing}: {engine} is left out", file=sys.stderr)
    if shutil.which("jellyfish"):
        said = subprocess.run(["jellyfish", "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout
        found["jellyfish"] = (said.split() or ["unknown"])[-1]
    else:
        print("compare-jobs: there is no jellyfish here (Debian: jellyfish): it is left out", file=sys.stderr)
    return found


# --- Running a process ---------------------------------------------------------------------------

# malloc asks for huge pages, where the system gives them to those who ask, as the tables of bulkhash do by
# themselves; and keeps what is freed, as the allocators of DuckDB and Polars do by themselves.
TUNABLES = "glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=1099511627776"


def run(words, threads):
    """Runs a command on so many processors. What it printed, and what the whole process cost."""
    processors = sorted(os.sched_getaffinity(0))[:threads]
    environment = {**os.environ, "GLIBC_TUNABLES": TUNABLES,
                   "POLARS_MAX_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    begun = time.monotonic()
    with tempfile.TemporaryFile("w+") as errors:
        try:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                       text=True, env=environment,
                                       preexec_fn=lambda: os.sched_setaffinity(0, processors))
        except OSError as error:
            raise Failure(f"{words[0]}: cannot be run: {error.strerror}") from None
        with process.stdout:
            printed = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = status # as it was waited for here
        if status != 0:
            errors.seek(0)
            last = (errors.read().strip().split("\n") or [""])[-1]
            raise Failure(f"{' '.join(words)}: failed: {last or 'status ' + str(status)}")
    costs = {"wall_s": time.monotonic() - begun,
             "cpu_s": used.ru_utime + used.ru_stime, "peak_mib": used.ru_maxrss / 1024}
    return printed, costs


def run_all(commands, threads):
    """Several commands, one after the other, as one."""
    costs = [run(words, threads)[1] for words in commands]
    return {"wall_s": sum(one["wall_s"] for one in costs), "cpu_s": sum(one["cpu_s"] for one in costs),
            "peak_mib": max(one["peak_mib"] for one in costs)}


def run_engine(*words, threads):
    """What compare-jobs-engines.py says."""
    printed, _ = run([sys.executable, ENGINES, *map(str, words)], threads)
    return json.loads(printed)


# --- The reads -----------------------------------------------------------------------------------

READ_LETTERS, ERRORS_PER_LETTER = 150, 0.005


def write_genome(path, genome):
    """FASTA without gzip, so that no one is timed unpacking it."""
    with gzip.open(genome, "rb") as packed, open(path + ".part", "wb") as file:
        shutil.copyfileobj(packed, file)
    os.replace(path + ".part", path)


def write_random_genome(path):
    drawn = random.Random(1)
    with open(path, "w", encoding="ascii") as file:
        file.write(">random\n" + "".join("ACGT"[int(4 * drawn.random())] for _ in range(200_000)) + "\n")


def write_reads(path, genome, count):
    """Reads from both strands, some letters of which are wrong; the same at every call."""
    with open(genome, encoding="ascii") as file:
        letters = "".join(line.strip().upper() for line in file if not line.startswith(">"))
    other = str.maketrans("ACGT", "TGCA")
    draw = random.Random(1).random

    def gap(): # to the next error
        return int(math.log(1 - draw()) / math.log(1 - ERRORS_PER_LETTER))
    wrong = gap()
    with open(path + ".part", "w", encoding="ascii") as file:
        for number in range(count):
            start = int(draw() * (len(letters) - READ_LETTERS))
            read = letters[start:start + READ_LETTERS]
            if draw() < 0.5:
                read = read.translate(other)[::-1]
            while wrong < READ_LETTERS:
                instead = "ACGT".replace(read[wrong], "")
                read = read[:wrong] + instead[int(draw() * len(instead))] + read[wrong + 1:]
                wrong += 1 + gap()
            wrong -= READ_LETTERS
            file.write(f"@{number}\n{read}\n+\n{'I' * READ_LETTERS}\n")
    os.replace(path + ".part", path)


# --- The jobs, run -------------------------------------------------------------------------------

class Runner:
    """Runs a program's jobs once. Each answers a dict: wall_s, cpu_s, peak_mib and answer, a text."""

    def __init__(self, options, engines):
        self.engines = engines
        self.build = options.build
        self.sizes = {program.name: program.quick if options.quick else program.full for program in PROGRAMS}
        self.genome = None if options.quick else options.genome
        self.quick = options.quick
        self.data = os.path.join(options.data, "quick" if options.quick else "full")
        os.makedirs(self.data, exist_ok=True)
        # Outputs go to memory if there is room, so that no disk is timed.
        shm = "/dev/shm"
        has_room = os.access(shm, os.W_OK) and shutil.disk_usage(shm).free > 4 << 30
        self.outputs = tempfile.TemporaryDirectory(dir=shm if has_room else self.data)
        self.sorted = {}

    def path(self, name):
        return os.path.join(self.data, name)

    def output(self, name):
        return os.path.join(self.outputs.name, name)

    def program(self, *words):
        return [os.path.join(self.build, "bin", "bulkhash"), *words]

    def why_not(self, program):
        """Why the program's jobs cannot be run; None where they can."""
        if program.name == "count" and not is_there("numpy"):
            return "this Python has no numpy, which makes the arrays"
        if program.name == "kmers" and not self.quick and not os.path.isfile(self.genome):
            return f"there is no {self.genome}; scripts/fetch-ecoli.sh build fetches it"
        return None

    def prepare(self, program):
        """Makes the files that the program reads."""
        if program.name == "count":
            for job in program.jobs:
                if not os.path.exists(self.numbers(job)):
                    run_engine("make", job.split("-")[1], self.sizes["count"][0], self.numbers(job), threads=1)
        elif program.name == "kmers":
            genome, reads = self.letters("kmers-genome"), self.letters("kmers-reads")
            if not os.path.exists(genome):
                write_random_genome(genome) if self.quick else write_genome(genome, self.genome)
            if not os.path.exists(reads):
                write_reads(reads, genome, self.sizes["kmers"][0])

    def bulkhash(self, program, jobs, threads):
        """{job: what it took} of all jobs of a program."""
        if program.name == "count":
            return {job: self.count_in_bulkhash(job, threads) for job in jobs}
        if program.name == "kmers":
            return {job: self.kmers("bulkhash", job, threads) for job in jobs}
        return self.example(program.name, threads)

    def engine(self, engine, program, job, threads):
        if program.name == "kmers":
            return self.kmers(engine, job, threads)
        if program.name == "count":
            out = self.output(engine)
            spent = run_engine("count", engine, threads, self.numbers(job), out, threads=threads)
            return self.with_digest(spent, out + "-keys.npy", out + "-counts.npy")
        spent = run_engine("run", job, engine, threads, self.data, *self.sizes[program.name], threads=threads)
        return {**spent, "answer": f"{spent['count']} {spent['digest']}"}

    def example(self, name, threads):
        """{job: what it took} of the lines of an example, "join-unique: wall 0.812 s, CPU 0.811 s, peak 263
        MiB", for each time, and "join-unique: 15000761 pairs, digest b041a3d922a8572c"."""
        words = [os.path.join(self.build, "examples", name), *map(str, self.sizes[name]), str(TIMES)]
        printed, _ = run(words, threads)
        found = {}
        for job, wall, cpu, peak in re.findall(r"^(\S+): wall ([\d.]+) s, CPU ([\d.]+) s(?:, peak (\d+) MiB)?$",
                                               printed, re.MULTILINE):
            one = found.setdefault(job, {"peak_mib": float(peak) if peak else None})
            one.update(wall_s=float(wall), cpu_s=float(cpu)) # the last one stays
        for job, count, digest in re.findall(r"^(\S+): (\d+) .*, digest (\w+)$", printed, re.MULTILINE):
            found[job]["answer"] = f"{count} {digest}"
        return found

    def numbers(self, job):
        return self.path(f"{job}-{self.sizes['count'][0]}.npy")

    def count_in_bulkhash(self, job, threads):
        out = self.output("bulkhash.npy")
        _, spent = run(self.program("count", self.numbers(job), "--threads", str(threads), "--output", out), threads)
        return self.with_digest(spent, out)

    def with_digest(self, spent, *files):
        found = run_engine("digest", *files, threads=1)
        for file in files:
            os.remove(file)
        return {**spent, "answer": f"{found['count']} {found['digest']}"}

    def letters(self, job):
        return self.path("genome.fna" if job == "kmers-genome" else f"reads-{self.sizes['kmers'][0]}.fastq")

    def kmers(self, engine, job, threads):
        letters, lines, hashes = self.letters(job), self.output("lines.tsv"), self.output("hashes.jf")
        if engine == "bulkhash":
            commands = [self.program("count", "--kmers", str(K), "--canonical", "--threads", str(threads), letters,
                                     "--output", lines)]
        else: # jellyfish wants to know how many k-mers there will be, and need not grow
            size = "1M" if self.quick else "10M" if job == "kmers-genome" else "32M"
            commands = [["jellyfish", "count", "-m", str(K), "-C", "-s", size, "-t", str(threads), "-o", hashes, letters],
                        ["jellyfish", "dump", "-c", "-t", "-o", lines, hashes]]
        spent = run_all(commands, threads)
        # Sorting takes longer than the job, so the lines are compared once.
        if (engine, job) not in self.sorted:
            self.sorted[engine, job] = self.digest_of_lines(lines)
        for file in (lines, hashes):
            if os.path.exists(file):
                os.remove(file)
        return {**spent, "answer": self.sorted[engine, job]}

    @staticmethod
    def digest_of_lines(path):
        """The same for the same lines in any order."""
        command = 'set -eo pipefail; LC_ALL=C sort -T "$(dirname "$1")" "$1" | sha256sum; wc -l <"$1"'
        said = subprocess.run(["bash", "-c", command, "bash", path], stdout=subprocess.PIPE, text=True, check=False)
        if said.returncode != 0:
            raise Failure(f"{path}: cannot be sorted")
        sha, _, count = said.stdout.split()
        return f"{count} {sha[:16]}"


def measure(runner, programs, jobs, threads, repetitions, say):
    """{(job, engine): [what it took]}; a round runs everything once."""
    samples = collections.defaultdict(list)
    for number in range(1, repetitions + 1):
        for program in programs:
            some = [job for job in program.jobs if job in jobs]
            say(f"{threads} thread{'s' if threads > 1 else ''}, round {number} of {repetitions}: {', '.join(some)}")
            ours = runner.bulkhash(program, some, threads)
            for job in some:
                if job not in ours:
                    raise Failure(f"{program.name} said nothing about {job}")
                samples[job, "bulkhash"].append(ours[job])
                say(f"  {job}, bulkhash: {ours[job]['cpu_s']:.2f} s of CPU")
                for engine in program.engines:
                    if engine not in runner.engines or (threads > 1 and engine in ONE_THREAD_ONLY):
                        continue
                    theirs = runner.engine(engine, program, job, threads)
                    if theirs["answer"] != ours[job]["answer"]:
                        raise Failure(f"{job}: bulkhash and {engine} DO NOT ANSWER THE SAME: "
                                      f"{ours[job]['answer']} and {theirs['answer']}")
                    samples[job, engine].append(theirs)
                    say(f"  {job}, {engine}: {theirs['cpu_s']:.2f} s of CPU")
    return samples


# --- Rows and the table --------------------------------------------------------------------------

def commit():
    """The commit of the sources, as scripts/results.sh says it."""
    def git(*words):
        return subprocess.run(["git", "-C", PROJECT, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, check=False)
    try:
        head = git("rev-parse", "--short=12", "HEAD")
        changes = git("status", "--porcelain", "--", ".", ":!docs/results", ":!README.md").stdout
    except OSError:
        return "unknown"
    return head.stdout.strip() + ("+changes" if changes else "") if head.returncode == 0 else "unknown"


def machine():
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return "unknown"


def median(samples, field):
    values = [sample[field] for sample in samples]
    return None if None in values else round(statistics.median(values), 4)


def rows_of(samples, runner, threads, has_bars):
    """A row for each job and engine, as --output writes them."""
    same = {"commit": commit(), "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "machine": machine(), "cores": len(os.sched_getaffinity(0))}
    rows = []
    for (job, engine), taken in samples.items():
        cpu = [sample["cpu_s"] for sample in taken]
        row = {**same, "job": job, "engine": engine, "threads": threads,
               "version": same["commit"] if engine == "bulkhash" else runner.engines[engine],
               "cpu_s": median(taken, "cpu_s"), "cpu_lowest": round(min(cpu), 4), "cpu_highest": round(max(cpu), 4),
               "wall_s": median(taken, "wall_s"), "peak_mib": median(taken, "peak_mib"),
               "answer": taken[0]["answer"], "repetitions": len(taken)}
        share = [None] * 3
        if engine != "bulkhash":
            shares = [ours["cpu_s"] / max(theirs, 1e-6) for ours, theirs in zip(samples[job, "bulkhash"], cpu)]
            share = [round(value, 4) for value in (statistics.median(shares), min(shares), max(shares))]
        bar = BARS.get((job, engine)) if has_bars and threads == 1 else None
        row.update(share=share[0], share_lowest=share[1], share_highest=share[2], bar=bar,
                   met=None if bar is None else share[0] <= bar)
        rows.append(row)
    return rows


def print_table(rows):
    line = "{:<20} {:>7}  {:<10} {:>8} {:>8} {:>9}   {:<22} {}"
    print(line.format("job", "threads", "engine", "CPU s", "wall s", "peak MiB", "bulkhash's CPU, of it", "bar").rstrip())
    last = None
    for row in rows:
        memory = "" if row["peak_mib"] is None else f"{row['peak_mib']:.0f}"
        share = bar = ""
        if row["share"] is not None:
            share = f"{row['share']:.2f}"
            if row["repetitions"] > 1:
                share += f" ({row['share_lowest']:.2f} to {row['share_highest']:.2f})"
        if row["bar"] is not None:
            bar = f"{row['bar']:.2f} {'met' if row['met'] else 'NOT MET'}"
        name = (row["job"], row["threads"])
        head = name if name != last else ("", "")
        print(line.format(*head, row["engine"], f"{row['cpu_s']:.2f}", f"{row['wall_s']:.2f}", memory, share, bar).rstrip())
        last = name


def write_rows(path, rows):
    """Rows of jobs that were not run now stay."""
    def key(row):
        return row["job"], row["threads"] > 1
    now, kept = {key(row) for row in rows}, []
    try:
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                kept = [row for row in map(json.loads, file) if key(row) not in now]
        ordered = sorted(kept + rows, key=lambda row: (row["threads"] > 1, JOBS.index(row["job"])))
        with open(path + ".part", "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in ordered)
        os.replace(path + ".part", path)
    except OSError as error:
        raise Failure(f"{path}: cannot be written: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise Failure(f"{path}: has other lines than this program writes; move it away") from None


# --- The command line ----------------------------------------------------------------------------

class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence."""

    def error(self, message):
        print(f"compare-jobs: {message}; see --help", file=sys.stderr)
        sys.exit(2)


def positive(text):
    if not re.fullmatch(r"[1-9][0-9]{0,3}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1 to 9999")
    return int(text)


def command_line():
    parser = Parser(prog="compare-jobs.py", description=HELP, epilog=EPILOG,
                    formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("build", metavar="BUILD", nargs="?", default=os.path.join(PROJECT, "build", "release"),
                        help="where bin/bulkhash and examples/ were built (build/release)")
    parser.add_argument("--only", metavar="JOB", action="append", choices=JOBS, help="this job; may be repeated")
    parser.add_argument("--threads", metavar="HOW", choices=("one", "all", "both"), default="both",
                        help="one, all or both (both)")
    parser.add_argument("--repetitions", metavar="N", type=positive, help="rounds (3; with --quick 1)")
    parser.add_argument("--quick", action="store_true",
                        help="inputs of a hundredth of the size, once, k-mers of random letters; no bars")
    parser.add_argument("--output", metavar="FILE", help="writes a line of JSON for each row to FILE, too; rows of other jobs that it has stay")
    parser.add_argument("--data", metavar="FOLDER", default=os.path.join(PROJECT, "build", "jobs-data"),
                        help="keeps the inputs, 1.5 GB, for the next time (build/jobs-data)")
    parser.add_argument("--genome", metavar="FILE", default=os.path.join(PROJECT, "build", "NC_008253.fna.gz"),
                        help="FASTA, gzip, as scripts/fetch-ecoli.sh leaves it (build/NC_008253.fna.gz)")
    return parser


def compare(options):
    jobs = options.only or JOBS
    for path in ("bin/bulkhash", "examples/join"):
        if not os.access(os.path.join(options.build, path), os.X_OK):
            raise Failure(f"{options.build}: has no {path}; make compare-jobs builds it")
    engines = find_engines()
    if not engines:
        raise Failure("there is nothing to compare with; make compare-jobs installs it")
    runner = Runner(options, engines)
    programs = []
    for program in PROGRAMS:
        if not any(job in jobs for job in program.jobs):
            continue
        reason = runner.why_not(program)
        if reason is not None:
            print(f"compare-jobs: {reason}: {' and '.join(program.jobs)} are left out", file=sys.stderr)
        elif not any(engine in engines for engine in program.engines):
            print(f"compare-jobs: none of {', '.join(program.engines)} is here: "
                  f"{' and '.join(program.jobs)} are left out", file=sys.stderr)
        else:
            runner.prepare(program)
            programs.append(program)
    if not programs:
        raise Failure("no job is left that could be compared")

    def say(what):
        print(f"compare-jobs: {datetime.datetime.now():%H:%M:%S} {what}", file=sys.stderr)
    all_threads = len(os.sched_getaffinity(0))
    counts = {"one": [1], "all": [all_threads], "both": sorted({1, all_threads})}[options.threads]
    rows = []
    for threads in counts:
        samples = measure(runner, programs, jobs, threads, options.repetitions or (1 if options.quick else 3), say)
        rows += rows_of(samples, runner, threads, not options.quick)
    print_table(rows)
    if options.output:
        write_rows(options.output, rows)
    return 0


def main():
    options = command_line().parse_args()
    try:
        return compare(options)
    except Failure as failure:
        print(f"compare-jobs: {failure}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"compare-jobs: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
