#!/usr/bin/env python3
"""Turns results of the benchmark into tables and plots, and compares two sets of them.

scripts/results.sh measures: it leaves a directory with NAME.jsonl files, one JSON object (a "row")
a line, as `bulkhash bench --json` prints them, and machine.txt, which says what they were measured
on and when. This program reads such directories. Each of its four commands is a part of this file:

  tables   DIRECTORY/README.md, and the short tables inside the project's README.md
  plots    DIRECTORY/plots/*.svg; the only part that needs matplotlib
  compare  two sets of rows, one by one: did anything get slower?
  kernels  two listings of GPU kernels: registers, spills, shared memory

The chapters before them, "Reading" and "Numbers", are shared. A row is a dict with the fields that
bench/bench.c prints; GPU rows have the same fields, and "device" begins with "cuda". The rows of
jobs.jsonl are those of scripts/compare-jobs.py and have fields of their own ("Jobs").

Exit status: 0, or 1 when something is slower, spills more, or could not be read or written, or 2 for
a command line that makes no sense. Errors are one sentence on standard error.
"""

import argparse
import collections
import json
import os
import re
import shutil
import statistics
import subprocess
import sys

PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The order of the sections. A file belongs to an experiment when its name is the experiment's, or
# begins with it and a hyphen: operations-4-4.jsonl. Files of GPUs hold several experiments each.
EXPERIMENTS = ("operations growth turnover peers designs hashfight dachash stadium calls threads sizes fills dynamic hostile "
               "full lines instructions primitives gpu").split()

# What the project's README.md shows: a file of other tables, and which of them, with their headings.
SHORT = "peers-4-4"
SHORT_PEERS = (("libcuckoo", "libcuckoo"), ("absl prefetch", "absl, look-ahead"), ("boost", "boost"),
               ("tbb hash_map", "oneTBB"))

# And of jobs.jsonl: which jobs, in words, and which engines.
SHORT_JOBS = (("join-unique", "join 10 M rows with 30 M, unique keys"),
              ("group-sum-count-min", "sum, count and minimum of 30 M rows by 1 M keys"),
              ("count-zipf", "count 20 M numbers in a file, Zipf's law"),
              ("count-distinct", "count 20 M numbers in a file, all different"),
              ("kmers-reads", "count the 31-mers of 400,000 reads"))
ENGINES = (("duckdb", "DuckDB"), ("polars", "Polars"), ("pandas", "pandas"), ("numpy", "NumPy"),
           ("jellyfish", "jellyfish"))

LIMIT_FIGURE = "ratio to the limit"


class Failure(Exception):
    """Ends the program with its sentence and exit status 1."""


# --- Reading -------------------------------------------------------------------------------------

# The fields of a row. "machine", "commit", "clock" and "limit_is" came later, so they may be missing.
WORDS = "experiment name design device target op skew state figure".split()
COUNTS = "keys key_bytes value_bytes batch threads page_bytes".split()
NUMBERS_OR_NULL = ("fill hit_rate mops limit_mlines ratio_to_limit bytes_per_key value lowest highest "
                   "bar").split()


def read_lines(path):
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{path}: cannot be read: {getattr(error, 'strerror', None) or 'not text'}") from None
    lines = text.split("\n") # splitlines() would also split at what JSON and Markdown take for letters
    return lines[:-1] if lines[-1] == "" else lines


def check_fields(row, where, words, numbers, or_null, others=()):
    for field in [*words, *numbers, *or_null, *others]:
        if field not in row:
            raise Failure(f'{where}: a row without "{field}"')
    for field in words:
        if not isinstance(row[field], str):
            raise Failure(f'{where}: "{field}" is not a text')
    for field in [*numbers, *or_null]:
        is_null = row[field] is None and field in or_null
        if not is_null and not isinstance(row[field], (int, float)):
            raise Failure(f'{where}: "{field}" is not a number')


def check_row(row, where):
    check_fields(row, where, WORDS, COUNTS, NUMBERS_OR_NULL, ("bar_is", "met"))


def check_job(row, where):
    """A row of jobs.jsonl."""
    check_fields(row, where, "job engine version commit machine date".split(),
                 "threads cores cpu_s cpu_lowest cpu_highest wall_s repetitions".split(),
                 "peak_mib share share_lowest share_highest bar".split(), ("met",))


def read_rows(path, check=check_row):
    """The rows of a .jsonl file."""
    rows = []
    for number, line in enumerate(read_lines(path), 1):
        try:
            row = json.loads(line)
        except ValueError:
            raise Failure(f"{path}:{number}: not a JSON object") from None
        if not isinstance(row, dict):
            raise Failure(f"{path}:{number}: not a JSON object")
        check(row, f"{path}:{number}")
        rows.append(row)
    return rows


def stem_of(path):
    return os.path.basename(path)[:-len(".jsonl")]


def result_files(directory):
    """The .jsonl files of a directory in the order of their sections."""
    try:
        names = sorted((name for name in os.listdir(directory) if name.endswith(".jsonl")), key=stem_of)
    except OSError as error:
        raise Failure(f"{directory}: cannot be read: {error.strerror}") from None
    ordered = [name for experiment in EXPERIMENTS for name in names
               if re.fullmatch(experiment + r"(-.*)?\.jsonl", name)]
    return [os.path.join(directory, name) for name in ordered]


class Machine:
    """machine.txt: facts about the machine; an empty line; a note for each file of results."""

    def __init__(self, directory):
        path = os.path.join(directory, "machine.txt")
        if not os.path.isfile(path):
            raise Failure(f"{directory}: there is no machine.txt; scripts/results.sh writes it")
        lines = read_lines(path)
        end = lines.index("") if "" in lines else len(lines)
        self.text = lines[:end]
        # "CPU        Abacus": names have up to 9 letters, values begin in column 11.
        self.facts = {line[:9].rstrip(): line[11:] for line in self.text if line[:9].strip()}
        self.notes = {line.split()[0]: line for line in lines[end:] if line.strip()}

    def note(self, stem):
        """When, of which commit and by which command a file was measured, as one phrase."""
        note = re.sub(r"^\S+ +", "", self.notes.get(stem, ""))
        return re.sub(r" {3,}", ", ", note)

    def commit(self, stem, rows=()):
        """The commit of a file: machine.txt's, or what the rows say themselves."""
        words = self.notes.get(stem, "").split()
        if "commit" in words[:-1]:
            return words[words.index("commit") + 1]
        return next((row["commit"] for row in rows if row.get("commit")), "unknown")


def write_file(path, text):
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise Failure(f"{path}: cannot be written: {error.strerror}") from None


# --- Numbers -------------------------------------------------------------------------------------

def digits(value):
    """Digits behind the point, as bench/bench.c prints them: three or so that count."""
    return 2 if value < 10 else 1 if value < 100 else 0


def number(value):
    return "" if value is None else f"{value:.{digits(value)}f}"


def thousand(value):
    """A rate of a GPU, in thousands of millions."""
    return None if value is None else value / 1000


def with_range(value, lowest, highest):
    """A median with its lowest and highest, where these differ."""
    if value is None:
        return ""
    if lowest is None or highest is None or lowest == highest:
        return number(value)
    d = digits(value)
    return f"{value:.{d}f} ({lowest:.{d}f} to {highest:.{d}f})"


def measured(row):
    return with_range(row["value"], row["lowest"], row["highest"])


def judged(row):
    """The bar, and whether it is met."""
    if row["bar"] is None:
        return ""
    most = "at most " if row["bar_is"] == "at most" else ""
    met = {True: ", met", False: ", **not met**"}.get(row["met"], "")
    return most + number(row["bar"]) + met


def pages(count):
    return f"{count / 1024:g} KiB" if count < 1 << 20 else f"{count / (1 << 20):g} MiB"


def widths_of(row):
    return f"u{8 * row['key_bytes']}->u{8 * row['value_bytes']}"


def is_on_gpu(row):
    return row["device"].startswith("cuda")


def threads_of(row):
    return f"{row['threads']} thread{'' if row['threads'] == 1 else 's'}"


def design_of(row):
    """To stand before other words; limits are of no design."""
    return "" if row["design"] == "none" else row["design"] + " "


def is_alike(rows, field):
    return all(row[field] == rows[0][field] for row in rows)


# --- Tables --------------------------------------------------------------------------------------

INTRODUCTION = """# Results

`make results` writes this file (scripts/results.sh); `bulkhash bench --help` explains the experiments.
Figures are medians over the repetitions, with the lowest and highest in brackets. A limit is the rate of
memory accesses or copies alone, measured in the same run; a bar is the value that a figure should reach.
"""

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
JOBS_BEGIN, JOBS_END = "<!-- jobs: begin -->", "<!-- jobs: end -->"


def markdown(columns):
    """A table of (heading, rule, cells); a column in which nothing stands is left out."""
    columns = [column for column in columns if any(column[2])]
    lines = ["| " + " | ".join(heading for heading, _, _ in columns) + " |",
             "|" + "|".join(rule for _, rule, _ in columns) + "|"]
    for cells in zip(*(cells for _, _, cells in columns)):
        lines.append(re.sub(r" +\|", " |", "| " + " | ".join(cells) + " |"))
    return "\n".join(lines) + "\n"


def common(rows):
    """What all rows have in common, as a phrase. Fill and bytes are those of the first row: where
    others differ, their names say so."""
    first, last = rows[0], rows[-1]
    alike = is_alike(rows, "keys")
    text = f"{first['keys']:,} pairs " if alike else "Pairs "
    text += widths_of(last)
    if alike and first["fill"] is not None:
        text += f", fill {first['fill']:.2f}"
    if alike and first["bytes_per_key"] is not None:
        text += f", {first['bytes_per_key']:.1f} bytes per pair"
    if is_alike(rows, "batch") and first["batch"] != first["keys"]:
        text += f", calls of {first['batch']:,} keys"
    if is_on_gpu(last):
        return text + f", {design_of(last)}on {last.get('machine', 'a GPU')}"
    text += f", {threads_of(last)}"
    if last["target"] != "lines":
        if is_alike(rows, "target"): # where they differ, the rows' names say so
            text += f", {last['target']}"
        if is_alike(rows, "page_bytes"):
            text += f", pages of {pages(first['page_bytes'])}"
    return text


def limit_on_gpu(row):
    if row["limit_mlines"] is None:
        return ""
    return f"{number(thousand(row['limit_mlines']))} G {row.get('limit_is', 'lines')}/s"


def figure_of(row):
    return row["figure"] if row["value"] is not None or row["figure"] == "not supported" else ""


def commits_of(rows):
    """The commit of each row, where they are of several runs: schedules for comparison need a build of their own."""
    commits = [(row.get("commit") or "")[:12] for row in rows]
    return commits if len(set(commits)) > 1 else []


def table(rows):
    """All rows of an experiment. A GPU's rates are in thousands of millions, and its limits are of
    several kinds."""
    gpu = is_on_gpu(rows[0])
    # What a GPU cannot do has no keys.
    keys = ["" if gpu and not row["keys"] else f"{row['keys']:,}" for row in rows]
    ratios = [number(row["ratio_to_limit"]) if row["figure"] != LIMIT_FIGURE else "" for row in rows]
    if gpu:
        rates = ("G/s", "--:", [number(thousand(row["mops"])) for row in rows])
        limits = ("limit", "---", [limit_on_gpu(row) for row in rows])
    else:
        rates = ("M keys/s", "--:", [number(row["mops"]) for row in rows])
        limits = ("limit, M lines/s", "--:", [number(row["limit_mlines"]) for row in rows])
    return markdown([
        ("operation", "---", [row["name"] for row in rows]),
        ("keys", "--:", [] if is_alike(rows, "keys") else keys),
        rates,
        limits,
        (LIMIT_FIGURE, "--:", ratios),
        ("figure", "---", [figure_of(row) for row in rows]),
        ("measured", "---", [measured(row) for row in rows]),
        ("bar", "---", [judged(row) for row in rows]),
        ("commit", "---", commits_of(rows)),
    ])


def table_of_fills(rows):
    """fills.jsonl is the experiment `operations` at several fills: a column for each."""
    rate = {(row["name"], f"{row['fill'] or 0:.2f}"): number(row["mops"]) for row in rows if row["mops"]}
    names = list(dict.fromkeys(name for name, _ in rate))
    fills = sorted({fill for _, fill in rate})
    columns = [(f"fill {fill}", "--:", [rate.get((name, fill), "") for name in names]) for fill in fills]
    return "M keys/s by fill:\n\n" + markdown([("operation", "---", names)] + columns)


def section(stem, rows, machine):
    """The section of one experiment of one file."""
    batches = [row["value"] for row in rows if row["figure"] == "fill after a batch"]
    rows = [row for row in rows if row["figure"] != "fill after a batch"]
    if not rows:
        return ""
    title = "fills" if stem == "fills" else rows[-1]["experiment"]
    of = f", {design_of(rows[-1])}on a GPU" if is_on_gpu(rows[-1]) else ""
    note = machine.note(stem) or f"Commit {machine.commit(stem, rows)}"
    if commits_of(rows):
        note = "Commits: the last column"
    # The columns of fills say which.
    alike = [{**row, "fill": None, "bytes_per_key": None} for row in rows] if stem == "fills" else rows
    text = f"\n## {title}, {widths_of(rows[-1])}{of}\n\n{common(alike)}. {note}\n\n"
    text += table_of_fills(rows) if stem == "fills" else table(rows)
    if batches:
        fills = "".join(f" {fill:.2f}" for fill in batches)
        text += f"\nFill after each batch of the first run:{fills}\n"
    return text


def sections(path, machine):
    """A section for each experiment of a file: one, but for files of GPUs."""
    by_experiment = collections.defaultdict(list)
    for row in read_rows(path):
        by_experiment[row["experiment"]].append(row)
    return "".join(section(stem_of(path), rows, machine) for rows in by_experiment.values())


def long_text(directory, machine, files):
    """DIRECTORY/README.md."""
    text = INTRODUCTION + "\n```\n" + "".join(line + "\n" for line in machine.text) + "```\n"
    text += "".join(sections(path, machine) for path in files)
    kmers = os.path.join(directory, "kmers.txt")
    if os.path.isfile(kmers):
        lines = "".join(line + "\n" for line in read_lines(kmers))
        text += f"\n## k-mers\n\n{machine.note('kmers')}\n\n```\n{lines}```\n"
    text += jobs_section(read_jobs(directory))
    drawn = [name for name in PLOTS if os.path.isfile(os.path.join(directory, "plots", name + ".svg"))]
    if drawn:
        text += "\n## Plots\n\n" + "".join(f"![{PLOTS[name][0]}](plots/{name}.svg)\n" for name in drawn)
    return text


def short_text(directory, machine, files):
    """The table of SHORT for the project's README.md: how many times as fast as each peer, operation by operation."""
    path = os.path.join(directory, SHORT + ".jsonl")
    if path not in files:
        raise Failure(f"{path}: there is no such file, and the short table is about it")
    rows = read_rows(path)
    shown = [(peer, heading) for peer, heading in SHORT_PEERS
             if any(row["figure"] == "times " + peer for row in rows)]
    text = "| pairs | operation | bulkhash, M keys/s | " + "".join(f"times {head} | " for _, head in shown)
    text = text.rstrip() + "\n|--:|---|--:|" + "--:|" * len(shown) + "\n"
    for name in dict.fromkeys(row["name"] for row in rows):
        ours = [row for row in rows if row["name"] == name]
        values = {row["figure"]: row["value"] for row in ours}
        cells = [values.get("times " + peer) for peer, _ in shown]
        # A peer that is faster is set in bold.
        times = ["" if v is None else f"**{number(v)}**" if v < 1 else number(v) for v in cells]
        median = statistics.median(row["mops"] for row in ours)
        text += f"| {ours[0]['keys']:,} | {name.split(',')[0]} | {number(median)} |"
        text += "".join(f" {t} |" if t else " |" for t in times) + "\n"
    head = f"{widths_of(rows[-1])}, fill {rows[-1]['fill']:.2f}, {rows[-1]['threads']} threads. "
    head += "CPU: {CPU}; cores: {cores};\ncaches: {caches}. ".format_map(
        collections.defaultdict(str, machine.facts))
    return head + f"Commit {machine.commit(SHORT)}. All results: [docs/results](docs/results/README.md).\n\n" + text


def with_table(path, lines, text, begin, end):
    """The lines of a file with `text` between these two."""
    if lines.count(begin) != 1 or lines.count(end) != 1 or lines.index(begin) > lines.index(end):
        raise Failure(f"{path}: needs one line '{begin}' and after it one line '{end}'")
    before, after = lines[:lines.index(begin) + 1], lines[lines.index(end):]
    return before + ["", *text.rstrip("\n").split("\n"), ""] + after


# Jobs: jobs.jsonl has a row for each job, engine and number of threads. "cpu_s" and the like are medians;
# "share" is bulkhash's CPU time divided by that of the row's engine in the same round, and null in the
# rows of bulkhash itself.

def read_jobs(directory):
    """The rows of jobs.jsonl; none where there is no such file."""
    path = os.path.join(directory, "jobs.jsonl")
    return read_rows(path, check_job) if os.path.isfile(path) else []


def listed(values):
    return ", ".join(dict.fromkeys(values))


def jobs_table(rows):
    names = ["" if i and rows[i - 1]["job"] == row["job"] else row["job"] for i, row in enumerate(rows)]
    return markdown([
        ("job", "---", names),
        ("engine", "---", [row["engine"] for row in rows]),
        ("CPU, s", "---", [with_range(row["cpu_s"], row["cpu_lowest"], row["cpu_highest"]) for row in rows]),
        ("wall, s", "--:", [number(row["wall_s"]) for row in rows]),
        ("peak, MiB", "--:", ["" if row["peak_mib"] is None else f"{row['peak_mib']:,.0f}" for row in rows]),
        ("bulkhash's CPU time, of it", "---",
         [with_range(row["share"], row["share_lowest"], row["share_highest"]) for row in rows]),
        ("bar", "---", [judged({**row, "bar_is": "at most"}) for row in rows]),
    ])


def jobs_section(rows):
    """The section of jobs.jsonl: a table for one thread, one for all."""
    if not rows:
        return ""
    first = rows[0]
    versions = listed(f"{row['engine']} {row['version']}" for row in rows if row["engine"] != "bulkhash")
    text = (f"\n## jobs\n\n{listed(row['date'] for row in rows)}, commit {listed(row['commit'] for row in rows)}, "
            f"compare-jobs.py: its --help tells what the jobs are. {first['machine']}, {first['cores']} cores. {versions}.\n"
            "The CPU time is that of all threads, user and system. The peak of memory is what a job needed beyond its\n"
            "input, and of counts and k-mers that of the whole process.\n")
    for threads in sorted({row["threads"] for row in rows}):
        some = [row for row in rows if row["threads"] == threads]
        text += f"\n### jobs, {threads_of(some[0])}\n\n" + jobs_table(some)
    return text


def short_jobs_text(rows):
    """The table of SHORT_JOBS for the project's README.md: the seconds of bulkhash, and how many times as
    long the others take."""
    rows = [row for row in rows if row["threads"] == 1]
    at = {(row["job"], row["engine"]): row for row in rows}
    jobs = [(job, words) for job, words in SHORT_JOBS if (job, "bulkhash") in at]
    if not jobs:
        raise Failure("jobs.jsonl has none of the jobs of the short table with one thread")
    columns = [("job", "---", [words for _, words in jobs]),
               ("bulkhash, s of CPU", "--:", [number(at[job, "bulkhash"]["cpu_s"]) for job, _ in jobs])]
    for engine, heading in ENGINES:
        shares = [at[job, engine]["share"] if (job, engine) in at else None for job, _ in jobs]
        # An engine that takes less time is set in bold.
        columns.append((f"times {heading}", "--:", ["" if share is None else f"**{number(1 / share)}**" if share > 1
                                                    else number(1 / share) for share in shares]))
    used = [row for row in rows if row["job"] in dict(jobs) and row["engine"] != "bulkhash"]
    versions = listed(f"{dict(ENGINES).get(row['engine'], row['engine'])} {row['version']}" for row in used)
    return ("Whole jobs: seconds of CPU time by one thread, and how many times as long the others take. "
            f"{versions}.\nCPU: {rows[0]['machine']}. Commit {listed(row['commit'] for row in used)}. "
            "All jobs: [docs/results](docs/results/README.md#jobs).\n\n" + markdown(columns))


def run_tables(arguments):
    directory, into = arguments.directory, arguments.into
    if not into and os.path.realpath(directory) == os.path.join(os.path.realpath(PROJECT), "docs", "results"):
        into = os.path.join(PROJECT, "README.md")
    machine = Machine(directory)
    files = result_files(directory)
    jobs = read_jobs(directory)
    if not files and not jobs and not os.path.isfile(os.path.join(directory, "kmers.txt")):
        raise Failure(f"{directory}: there are no results; scripts/results.sh writes them")
    # All texts before the first file: an error leaves both files as they were.
    whole = long_text(directory, machine, files)
    if into:
        if not os.path.isfile(into):
            raise Failure(f"{into}: there is no such file")
        lines = with_table(into, read_lines(into), short_text(directory, machine, files), BEGIN, END)
        if jobs:
            lines = with_table(into, lines, short_jobs_text(jobs), JOBS_BEGIN, JOBS_END)
    write_file(os.path.join(directory, "README.md"), whole)
    if into:
        write_file(into, "\n".join(lines) + "\n")
    return 0


# --- Plots ---------------------------------------------------------------------------------------

# What is drawn of the operations, a panel each: title, and which rows these are.
PANELS = (
    ("find, all present", lambda row: row["op"] == "find" and row["hit_rate"] == 1),
    ("find, all absent", lambda row: row["op"] == "find" and row["hit_rate"] == 0),
    ("insert", lambda row: row["op"] == "insert"),
    ("erase", lambda row: row["op"] == "erase"),
)
# As bench/peers.c has them write; both plots of PANELS say so where peers are drawn.
ONE_WRITER = "\nboost, absl and sort + search insert and erase with one thread"
PEERS = ("boost", "absl", "absl prefetch", "libcuckoo", "tbb hash_map", "tbb unordered_map",
         "sort + search")
OURS = "bulkhash"
OUR_COLOR = "black"


def rows_of(directory, stem, beside=()):
    """The rows of a file; none where it is missing, or was measured on another machine than the rows
    that it would stand beside."""
    path = os.path.join(directory, stem + ".jsonl")
    rows = read_rows(path) if os.path.isfile(path) else []
    if beside and rows and rows[0].get("machine") != beside[0].get("machine"):
        return []
    return rows


def peer_rates(rows, is_wanted):
    """{peer: [(keys, M keys/s)]} of the experiment `peers`. A row has our rate and how many times the
    peer's that is; the peer's is the quotient."""
    rates = collections.defaultdict(list)
    for row in rows:
        peer = row["figure"][len("times "):]
        if row["figure"].startswith("times ") and row["value"] and row["mops"] and is_wanted(row):
            rates[peer].append((row["keys"], row["mops"] / row["value"]))
    return {peer: sorted(rates[peer]) for peer in PEERS if peer in rates}


def style_of(peer):
    """The same colour and mark for a peer in every panel."""
    place = PEERS.index(peer)
    return {"color": f"C{place}", "marker": "sD^v<>P"[place], "linestyle": ":", "linewidth": 1,
            "markersize": 4, "label": peer}


OUR_STYLE = {"color": OUR_COLOR, "marker": "o", "linewidth": 2, "markersize": 5, "label": OURS}


def panels(plt, title):
    """A figure with a panel for each operation, and room for a title above and a legend below."""
    figure, axes = plt.subplots(2, 2, figsize=(9, 8), sharex=True)
    for (name, _), axis in zip(PANELS, axes.flat):
        axis.set_title(name, fontsize=10)
        axis.set_ylabel("million keys per second")
        axis.grid(True, linewidth=0.3)
    figure.suptitle(title, fontsize=11)
    return figure, axes


def finish(figure, axes, columns=4):
    """Axes of rates from 0; one legend for all panels, each name once."""
    names = {}
    for axis in axes.flat:
        if axis.get_yscale() == "linear":
            axis.set_ylim(0, 1.05 * axis.get_ylim()[1])
        for handle, label in zip(*axis.get_legend_handles_labels()):
            names.setdefault(label, handle)
    figure.legend(names.values(), names.keys(), loc="lower center", ncol=columns, fontsize=9, frameon=False,
                  handlelength=4)
    rows = -(-len(names) // columns)
    figure.tight_layout(rect=(0, 0.01 + 0.03 * rows, 1, 1))
    return figure


def label_of_count(count, _=None):
    for power, suffix in ((20, " M"), (10, " K")):
        if count >= 1 << power:
            return f"{count / (1 << power):.3g}{suffix}"
    return f"{count:g}"


def plot_sizes(plt, directory, heading):
    """Rate by the number of pairs in the table. Peers are measured at two sizes."""
    rows = rows_of(directory, "sizes")
    if not rows:
        return None
    peers = rows_of(directory, "peers-4-4", rows)
    figure, axes = panels(plt, heading(rows, "sizes", peers))
    ticks = sorted({row["keys"] for row in rows})
    for (_, is_wanted), axis in zip(PANELS, axes.flat):
        ours = sorted((row["keys"], row["mops"]) for row in rows if is_wanted(row))
        axis.plot(*zip(*ours), **OUR_STYLE)
        for peer, rates in peer_rates(peers, is_wanted).items():
            axis.plot(*zip(*rates), **style_of(peer))
        axis.set_xscale("log", base=2)
        axis.set_xticks(ticks)
        axis.xaxis.set_major_formatter(plt.FuncFormatter(label_of_count))
    for axis in axes[-1]:
        axis.set_xlabel("pairs in the table (K, M: 2^10, 2^20)")
    return finish(figure, axes)


def plot_calls(plt, directory, heading):
    """Rate by the number of keys of one call, by one thread, beside a loop over absl."""
    rows = rows_of(directory, "calls")
    if not rows:
        return None
    figure, axes = plt.subplots(1, 2, figsize=(9, 5), sharey=True, squeeze=False)
    figure.suptitle(heading(rows, "calls"), fontsize=11)
    for op, axis in zip(("find", "insert"), axes.flat):
        for keys in sorted({row["keys"] for row in rows}, reverse=True):
            some = sorted((row["batch"], row) for row in rows if row["op"] == op and row["keys"] == keys)
            where = f"table of {label_of_count(keys)} pairs"
            line = {"linestyle": "-" if keys == max(row["keys"] for row in rows) else "--", "markersize": 5}
            axis.plot([batch for batch, _ in some], [row["mops"] for _, row in some], color=OUR_COLOR,
                      marker="o", linewidth=2, label=f"{OURS}, {where}", **line)
            # The figure is our time by theirs.
            loops = [(batch, row["mops"] * row["value"]) for batch, row in some
                     if row["figure"].endswith("a loop over absl") and row["value"]]
            if loops:
                axis.plot(*zip(*loops), color="C1", marker="D", linewidth=1,
                          label=f"loop over absl, {where}", **line)
        axis.set_title(op, fontsize=10)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xticks(sorted({row["batch"] for row in rows}))
        axis.xaxis.set_major_formatter(plt.FuncFormatter(lambda count, _: f"{count:g}"))
        axis.yaxis.set_major_formatter(plt.FuncFormatter(lambda rate, _: f"{rate:g}"))
        axis.set_xlabel("keys of one call")
        axis.set_ylabel("million keys per second")
        axis.grid(True, linewidth=0.3)
    return finish(figure, axes, 2)


def plot_fills(plt, directory, heading):
    """Rate by fill. Peers choose their fill themselves: theirs is a level line."""
    rows = rows_of(directory, "fills")
    if not rows:
        return None
    names = ("find, all present", "find, all absent", "insert, reserved", "erase, present")
    ours_of = [row for row in rows if row["name"] in names]
    peers = rows_of(directory, "peers-4-4", rows)
    figure, axes = panels(plt, heading(rows, "fills", peers, False))
    for (_, is_wanted), axis in zip(PANELS, axes.flat):
        ours = sorted((row["fill"], row["mops"]) for row in ours_of if is_wanted(row))
        if ours:
            axis.plot(*zip(*ours), **OUR_STYLE)
        for peer, rates in peer_rates(peers, is_wanted).items():
            style = dict(style_of(peer), marker="", linewidth=1.5, label=f"{peer}, at its own fill")
            axis.axhline(rates[-1][1], **style) # of the largest table
    for axis in axes[-1]:
        axis.set_xlabel("fill: slots in use, as a fraction of all")
    return finish(figure, axes, 3)


PLOTS = {
    "sizes": ("Rate by table size", plot_sizes),
    "calls": ("Rate by call size", plot_calls),
    "fills": ("Rate by fill", plot_fills),
}


def heading_for(title, directory):
    """Answers the function that makes a plot's title: what, on which machine, of which commits."""
    machine = Machine(directory)

    def heading(rows, stem, peers=(), with_fill=True):
        commits = [machine.commit(stem, rows)]
        if peers:
            commits.append(machine.commit("peers-4-4", peers))
        fill = f", fill {rows[0]['fill']:.2f}" if with_fill and rows[0]["fill"] else ""
        where = rows[0].get("machine") or machine.facts.get("CPU", "unknown machine")
        return (f"{title}: {widths_of(rows[0])}{fill}, {threads_of(rows[0])}\n"
                f"{where}, {rows[0]['target']}; commit {' and '.join(dict.fromkeys(commits))}"
                + (ONE_WRITER if peers else ""))
    return heading


def import_pyplot():
    try:
        import matplotlib
    except ImportError:
        raise Failure("plots need matplotlib, which is not there (Debian: python3-matplotlib)") from None
    matplotlib.use("svg")
    # With a salt of ours the names of an SVG's parts are the same each time.
    matplotlib.rcParams["svg.hashsalt"] = "bulkhash"
    # Text as text, not as outlines: smaller, and `git diff` shows what changed.
    matplotlib.rcParams["svg.fonttype"] = "none"
    import matplotlib.pyplot
    return matplotlib.pyplot


def run_plots(arguments):
    directory = arguments.directory
    Machine(directory)
    if not any(os.path.isfile(os.path.join(directory, name + ".jsonl")) for name in PLOTS):
        files = ", ".join(name + ".jsonl" for name in PLOTS)
        raise Failure(f"{directory}: there is nothing to draw: none of {files}")
    plt = import_pyplot()
    folder = os.path.join(directory, "plots")
    os.makedirs(folder, exist_ok=True)
    for name, (title, plot) in PLOTS.items():
        path = os.path.join(folder, name + ".svg")
        figure = plot(plt, directory, heading_for(title, directory))
        if figure:
            # Neither date nor version: the same results make the same file.
            figure.savefig(path, metadata={"Date": None, "Creator": None})
            plt.close(figure)
        elif os.path.exists(path):
            os.remove(path) # it would show results that are no longer there
    return 0


# --- Compare -------------------------------------------------------------------------------------

# What makes two rows the same measurement. Fill is a measurement too where tables grow, so it is
# rounded to two digits.
IDENTITY = ("experiment", "name", "design", "device", "target", "op", "key_bytes", "value_bytes", "fill",
            "hit_rate", "skew", "keys", "batch", "threads", "state", "figure")

# Of these neither more nor less is better.
NEITHER = ("fill after a batch", "subtables doubled", "subtables halved", "not supported")

# Of these less is better.
COSTS = re.compile(r"^times the time|^times per million|^(ns|bytes|lines|instructions|keys moved|peak|highest|longest|milliseconds|"
                   r"microseconds)\b|\bms$")

LEAST_ALLOWED = 0.03


def identity(row):
    return tuple(row[field] if field != "fill" or row[field] is None else round(row[field], 2)
                 for field in IDENTITY)


def read_set(path):
    """{(file, identity, which): row} of a directory or of one .jsonl file. Rows with one identity are
    told apart by their order."""
    directory = os.path.isdir(path)
    if not directory and not path.endswith(".jsonl"):
        raise Failure(f"{path}: is neither a directory nor a .jsonl file")
    files = sorted(os.path.join(path, name) for name in os.listdir(path)
                   if name.endswith(".jsonl")) if directory else [path]
    rows, seen = {}, collections.Counter()
    for file in files:
        for row in read_rows(file):
            if row["figure"] in NEITHER and row["mops"] is None:
                continue
            key = (stem_of(file) if directory else "", identity(row))
            rows[key + (seen[key],)] = row
            seen[key] += 1
    if not rows:
        raise Failure(f"{path}: there are no rows to compare")
    return rows


def machines(rows):
    return {row["machine"] for row in rows.values() if row.get("machine")}


def is_by_rate(row):
    """Rows with a bar are compared by what the bar judges, others by their rate if they have one."""
    has_own_figure = row["figure"] != LIMIT_FIGURE and row["bar"] is not None
    return row["mops"] is not None and not has_own_figure


def is_cost(row):
    return not is_by_rate(row) and (row["bar_is"] == "at most" or bool(COSTS.search(row["figure"])))


def median_of(row, by_rate):
    return row["mops"] if by_rate else row["value"]


def spread(row):
    """From lowest to highest as a fraction of the median. It is that of the figure, and stands for
    that of the rate too, which is printed without one."""
    if not row["value"] or row["lowest"] is None or row["highest"] is None:
        return 0
    return (row["highest"] - row["lowest"]) / row["value"]


Comparison = collections.namedtuple("Comparison", "before after change allowed is_slower is_faster beside")


def change_beside(before, after, by_rate):
    """How the other of the two changed that a row has: its rate, or the ratio of that to the limit."""
    field, name = ("ratio_to_limit", "of the limit") if by_rate else ("mops", "rate")
    if not before.get(field) or after.get(field) is None:
        return ""
    return f"   {name} {after[field] / before[field] - 1:+.1%}"


def compare_rows(before, after):
    """None where one of the two has no number."""
    by_rate = is_by_rate(before) and is_by_rate(after)
    x, y = median_of(before, by_rate), median_of(after, by_rate)
    if x is None or y is None:
        return None
    change = 0 if x == y else y / x - 1 if x else float("inf")
    allowed = max(LEAST_ALLOWED, spread(before), spread(after))
    better = -change if not by_rate and is_cost(before) else change
    return Comparison(x, y, change, allowed, better < -allowed, better > allowed,
                      change_beside(before, after, by_rate))


def describe(key, row):
    """The row in words: enough to find it again."""
    stem, _, which = key
    text = f"{stem or row['experiment']}: {row['name']}, {widths_of(row)}, {row['design']} on {row['device']}"
    if row["keys"]:
        text += f", {row['keys']:,} keys"
    if row["fill"]:
        text += f", fill {row['fill']:.2f}"
    if row["threads"]:
        text += f", {threads_of(row)}"
    text += f" [{'M keys/s' if is_by_rate(row) else row['figure']}]"
    return text + (f" ({which + 1})" if which else "")


def print_comparison(c, text):
    verdict = "SLOWER" if c.is_slower else "faster" if c.is_faster else ""
    numbers = f"{c.before:>10.5g} {c.after:>10.5g} {1 + c.change:>7.3f} {c.allowed:>8.1%}"
    print(f"{numbers} {verdict:>7}  {text}{c.beside}")


def check_machines(before, after):
    one, other = machines(before), machines(after)
    if one and other and one != other:
        raise Failure(f"the two were measured on different machines, {' and '.join(sorted(one))} before, "
                      f"{' and '.join(sorted(other))} after: measure both on one")


def run_compare(arguments):
    if os.path.isdir(arguments.before) != os.path.isdir(arguments.after):
        raise Failure("BEFORE and AFTER must be two directories or two .jsonl files, not one of each")
    before, after = read_set(arguments.before), read_set(arguments.after)
    check_machines(before, after)
    both = [key for key in before if key in after]
    if not both:
        raise Failure("no row of the one is in the other: nothing was compared")
    count = collections.Counter()
    print(f"{'before':>10} {'after':>10} {'ratio':>7} {'allowed':>8}")
    for key in both:
        comparison = compare_rows(before[key], after[key])
        if not comparison:
            count["without"] += 1
            continue
        print_comparison(comparison, describe(key, before[key]))
        count["compared"] += 1
        count["slower"] += comparison.is_slower
        count["faster"] += comparison.is_faster
        count["wide"] += comparison.allowed > 0.1
    for where, rows, others in (("before", before, after), ("after", after, before)):
        for key in rows:
            if key not in others:
                print(f"only {where}: {describe(key, rows[key])}")
                count["only " + where] += 1
    if count["without"]:
        print(f"{count['without']} rows have no number in one of the two")
    print(f"{count['compared']} rows compared: {count['slower']} slower, {count['faster']} faster; "
          f"{count['wide']} with a spread above 10%; "
          f"only before: {count['only before']}, only after: {count['only after']}")
    return 1 if count["slower"] else 0


# --- Kernels -------------------------------------------------------------------------------------

RESOURCES = ("registers", "stack", "local", "shared")


def bytes_of(text):
    """A stack whose size the compiler cannot tell is called UNKNOWN; it may be of any size."""
    return int(text) if text.isdigit() else float("inf")


def without_hashes(name):
    """Names of what is private to a file contain a hash of it, which changes with every change."""
    if "_INTERNAL_" in name or "_GLOBAL__N_" in name:
        return re.sub(r"_[0-9a-f]{8}(?![A-Za-z])", "", name)
    return name


def demangle(names):
    tool = shutil.which("c++filt")
    if not tool or not names:
        return names
    done = subprocess.run([tool], input="\n".join(names) + "\n", capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    return lines if done.returncode == 0 and len(lines) == len(names) else names


def read_compiled(lines):
    """[(architecture, name, {resource: number})] of what ptxas -v printed while it compiled."""
    found, stack = [], 0
    architecture = name = ""
    for line in lines:
        function = re.search(r"Compiling entry function '(\S+)' for '(\w+)'", line)
        frame = re.search(r"(\d+) bytes stack frame", line)
        used = re.search(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?", line)
        if function:
            name, architecture = function.groups()
            stack = 0
        elif frame:
            stack = int(frame.group(1))
        elif used and name:
            values = (int(used.group(1)), stack, 0, int(used.group(2) or 0))
            found.append((architecture, name, dict(zip(RESOURCES, values))))
            name = ""
    return found


def read_kernels(path):
    """{(architecture, name, which): {resource: number}} of what cuobjdump, or ptxas -v, printed."""
    found, architecture, name = read_compiled(read_lines(path)), "", None
    for number_of_line, line in enumerate(read_lines(path), 1):
        if line.startswith("arch = "):
            architecture = line[len("arch = "):].strip()
        function = re.match(r"\s*Function (\S+):\s*$", line)
        if function:
            name = function.group(1)
            continue
        use = dict(re.findall(r"\b(REG|STACK|LOCAL|SHARED):(\w+)", line))
        if name and use:
            if len(use) != 4:
                raise Failure(f"{path}:{number_of_line}: not all of REG, STACK, SHARED and LOCAL are there")
            values = [bytes_of(use[word]) for word in ("REG", "STACK", "LOCAL", "SHARED")]
            found.append((architecture, name, dict(zip(RESOURCES, values))))
            name = None
    if not found:
        raise Failure(f"{path}: has no kernel; it should hold the output of cuobjdump --dump-resource-usage, or of ptxas -v")
    kernels, seen = {}, collections.Counter()
    for (architecture, _, use), plain in zip(found, demangle([name for _, name, _ in found])):
        key = (architecture, without_hashes(plain))
        kernels[key + (seen[key],)] = use
        seen[key] += 1
    return kernels


def spilled(use):
    """Bytes that a thread has in memory instead of registers: cuobjdump counts them as stack, or as
    local memory."""
    return use["stack"] + use["local"]


def shown(value):
    return "unknown" if value == float("inf") else str(value)


def changes(before, after):
    """"registers 40 -> 42, stack 0, ...": one number where nothing changed."""
    return ", ".join(f"{what} {shown(before[what])}" + ("" if before[what] == after[what]
                     else f" -> {shown(after[what])}") for what in RESOURCES)


def run_kernels(arguments):
    before, after = read_kernels(arguments.before), read_kernels(arguments.after)
    both = [key for key in before if key in after]
    if not both:
        raise Failure("no kernel of the one is in the other: nothing was compared")
    changed = spills = 0
    for key in both:
        old, new = before[key], after[key]
        verdict = "same"
        if old != new:
            changed += 1
            verdict = "changed"
        if spilled(new) > spilled(old):
            spills += 1
            verdict = "SPILLS"
        print(f"{verdict:<8} {changes(old, new)}   {key[0]} {key[1]}".rstrip())
    for where, kernels, others in (("before", before, after), ("after", after, before)):
        for key in kernels:
            if key not in others:
                print(f"only {where}: {changes(kernels[key], kernels[key])}   {key[0]} {key[1]}")
    print(f"{len(both)} kernels compared: {changed} changed, {spills} spill more; "
          f"only before: {len(before) - len(both)}, only after: {len(after) - len(both)}")
    return 1 if spills else 0


# --- The command line ----------------------------------------------------------------------------

class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence."""

    def error(self, message):
        print(f"report: {message}; see {self.prog} --help", file=sys.stderr)
        sys.exit(2)


HELP = {
    "": """Turns results of the benchmark into tables and plots, and compares two sets of them.

A set of results is a directory as scripts/results.sh writes it: .jsonl files with one JSON object
(a row) a line, and machine.txt.""",
    "examples": """examples:
  scripts/report.py tables docs/results          write the tables anew, measure nothing
  scripts/report.py plots docs/results           draw docs/results/plots/*.svg
  scripts/report.py compare before after         did anything get slower?
  bulkhash bench --json >after.jsonl
  scripts/report.py compare before.jsonl after.jsonl

`scripts/report.py COMMAND --help` tells more. Exit status: 0; 1 when something is slower, spills more
or cannot be read; 2 when the command line is wrong.""",
    "tables": f"""Writes DIRECTORY/README.md: machine.txt, a table in Markdown of each .jsonl file, the k-mers, the
jobs, and the plots that are there. Two short tables, of peers-4-4.jsonl and, where it is there, of
jobs.jsonl, go into FILE between its lines

    {BEGIN}
    {END}
    {JOBS_BEGIN}
    {JOBS_END}

FILE is the project's README.md when DIRECTORY is the project's docs/results. Elsewhere nothing but
DIRECTORY/README.md is written, unless FILE is named.""",
    "plots": """Draws DIRECTORY/plots/NAME.svg, rates of ours beside those of peers, from the files that are there:

  sizes  by pairs in the table  sizes.jsonl; peers from peers-4-4.jsonl
  calls  by keys of one call    calls.jsonl, beside a loop over absl
  fills  by fill                fills.jsonl; peers from peers-4-4.jsonl, at their own fill

Peers are drawn if they were measured on the same machine.

Needs matplotlib (Debian: python3-matplotlib). The same results and the same matplotlib make the
same files.""",
    "compare": """Compares rows that were measured before a change with those after it, each with the row that has
the same experiment, name, design, device, target, operation, widths, fill, hit rate, keys, keys of
a call, threads, state and figure. BEFORE and AFTER are two directories of results, where a row's
file counts too, or two .jsonl files. Both must be of the same machine.

A row with a bar is compared by the figure that the bar judges, any other by its rate (M keys/s), or
by its figure when it has no rate. For times, bytes and counts less is better. A line shows both
medians, their ratio (after by before), the change that is allowed, and "SLOWER" or "faster" when it
is more. Allowed are 3%, or if that is more, the distance from lowest to highest of the row, before
or after, as a fraction of its median.

The end of a line shows how the other number of the row changed. "of the limit" is the rate divided
by the rate at which the machine read random lines just then: when the rate fell and this did not,
the machine was slower. "rate" stands behind figures. A figure such as "of insert, reserved" is
divided by another rate of ours, and gets worse when that one gets better.

Exit status 1: a row is slower. Rows that are in one of the two only are listed.""",
    "kernels": """Compares the resources of GPU kernels before and after a change. BEFORE and AFTER hold what

    cuobjdump --dump-resource-usage libbulkhash_cuda.so

printed, or a build of the module with -DCMAKE_CUDA_FLAGS=-Xptxas=-v. For each kernel: registers
of a thread; bytes of stack and local memory, which is where registers are spilled to; bytes of
shared memory. Names are readable where c++filt is installed.

Exit status 1: a kernel spills more than before.""",
}


def command_line():
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog="report.py", description=HELP[""], epilog=HELP["examples"], formatter_class=raw)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name, run, summary):
        one = commands.add_parser(name, help=summary, description=HELP[name], formatter_class=raw)
        one.set_defaults(run=run)
        return one

    tables = command("tables", run_tables, "write README.md with tables")
    tables.add_argument("directory", metavar="DIRECTORY")
    tables.add_argument("--into", metavar="FILE", help="the file that receives the short table")
    plots = command("plots", run_plots, "draw SVG plots")
    plots.add_argument("directory", metavar="DIRECTORY")
    for name, run, summary in (("compare", run_compare, "compare two sets of results, row by row"),
                               ("kernels", run_kernels, "compare registers and spills of GPU kernels")):
        two = command(name, run, summary)
        two.add_argument("before", metavar="BEFORE")
        two.add_argument("after", metavar="AFTER")
    return parser


def main():
    arguments = command_line().parse_args()
    try:
        return arguments.run(arguments)
    except Failure as failure:
        print(f"report: {failure}", file=sys.stderr)
        return 1
    except BrokenPipeError: # such as `report.py compare ... | head`
        sys.stdout = None
        return 1
    except OSError as error:
        print(f"report: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
