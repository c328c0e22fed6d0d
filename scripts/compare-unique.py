#!/usr/bin/env python3
"""Counts the numbers of arrays with bulkhash and with numpy.unique(), from .npy to .npy on one thread,
and says how many times as long bulkhash takes, in CPU time (see --help)."""

import os
import statistics
import subprocess
import sys
import tempfile

USAGE = """usage: scripts/compare-unique.py PROGRAM [REPETITIONS [MILLIONS]]

Makes arrays of MILLIONS (20) million u64: all distinct, and by Zipf's law with exponent 1.0 from as many
different ones. Each is counted by PROGRAM (bulkhash) and by numpy.load(), numpy.unique(return_counts=True)
and numpy.save() of keys and counts, in turn, each time in a process of its own, REPETITIONS times (7).
A first round is not timed; there both must have the same counts. Prints the median (lowest to highest)
of user and system seconds, without Python's start, and the ratio of the medians beside the bar for it.
"""
BAR = 1.00

MAKE = """
import numpy, sys
name, kind, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
random = numpy.random.default_rng(1)
if kind == "distinct":
    ranks = numpy.arange(n, dtype=numpy.uint64)
else:
    share = numpy.cumsum(1 / numpy.arange(1, n + 1))
    ranks = numpy.searchsorted(share, random.random(n) * share[-1]).astype(numpy.uint64)
    del share
# Each rank becomes another number of 64 bits (splitmix64).
ranks += numpy.uint64(0x9E3779B97F4A7C15)
ranks = (ranks ^ (ranks >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
ranks = (ranks ^ (ranks >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
numpy.save(name, ranks ^ (ranks >> numpy.uint64(31)))
"""

UNIQUE = """
import numpy, os, sys
source, keys, counts = sys.argv[1:]
start = os.times()
found = numpy.unique(numpy.load(source), return_counts=True)
numpy.save(keys, found[0])
numpy.save(counts, found[1])
end = os.times()
print(end.user - start.user + end.system - start.system)
"""

SAME = """
import numpy, sys
pairs = numpy.sort(numpy.load(sys.argv[1]), order="key")
same = numpy.array_equal(pairs["key"], numpy.load(sys.argv[2]))
sys.exit(0 if same and numpy.array_equal(pairs["count"], numpy.load(sys.argv[3])) else 1)
"""


def fail(status, sentence):
    print("compare-unique:", sentence, file=sys.stderr)
    sys.exit(status)


def python(text, *arguments):
    return subprocess.run([sys.executable, "-c", text, *arguments], check=True,
                          stdout=subprocess.PIPE, universal_newlines=True).stdout


def count_by_numpy(source, folder):
    for name in ("keys.npy", "counts.npy"):
        if os.path.exists(os.path.join(folder, name)):
            os.unlink(os.path.join(folder, name))
    return float(python(UNIQUE, source, os.path.join(folder, "keys.npy"),
                        os.path.join(folder, "counts.npy")))


def count_by_program(program, source, folder):
    output = os.path.join(folder, "pairs.npy")
    if os.path.exists(output):
        os.unlink(output)
    process = subprocess.Popen([program, "count", source, "--threads", "1", "--output", output],
                               stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        fail(1, "%s has failed; run it on %s" % (program, source))
    return used.ru_utime + used.ru_stime


def text_of(seconds):
    return "%.3f s (%.3f to %.3f)" % (statistics.median(seconds), min(seconds), max(seconds))


def main():
    arguments = sys.argv[1:]
    if "--help" in arguments or "-h" in arguments:
        print(USAGE, end="")
        return
    if not 1 <= len(arguments) <= 3 or not all(word.isdigit() and int(word) > 0 for word in arguments[1:]):
        fail(2, "takes PROGRAM and perhaps REPETITIONS and MILLIONS, whole numbers; see --help")
    program = arguments[0]
    repetitions = int(arguments[1]) if len(arguments) > 1 else 7
    millions = int(arguments[2]) if len(arguments) > 2 else 20
    if not os.access(program, os.X_OK):
        fail(2, "%s: is no program; build it with make build" % program)
    try:
        version = python("import numpy; print(numpy.__version__)").strip()
    except subprocess.CalledProcessError:
        fail(1, "there is no numpy for %s; install it with pip" % sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("distinct", "Zipf 1.0"):
            source = os.path.join(folder, "in.npy")
            python(MAKE, source, kind, str(millions * 1000000))
            numpy_seconds, program_seconds = [], []
            for repetition in range(repetitions + 1):
                one, other = count_by_numpy(source, folder), count_by_program(program, source, folder)
                if repetition == 0:
                    try:
                        python(SAME, *[os.path.join(folder, name + ".npy")
                                       for name in ("pairs", "keys", "counts")])
                    except subprocess.CalledProcessError:
                        fail(1, "%s: other counts than those of numpy.unique()" % kind)
                    continue
                numpy_seconds.append(one)
                program_seconds.append(other)
            ratio = statistics.median(program_seconds) / statistics.median(numpy_seconds)
            print("%d M u64, %s: bulkhash %s, numpy %s %s: %.2f times as long, bar %.2f, %s" % (
                millions, kind, text_of(program_seconds), version, text_of(numpy_seconds), ratio, BAR,
                "met" if ratio <= BAR else "not met"))


main()
