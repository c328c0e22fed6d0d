#!/usr/bin/env python3
"""The other engines of scripts/compare-jobs.py: one process for each measurement.

  compare-jobs-engines.py run JOB ENGINE THREADS DATA SIZE...   a job of examples/, in memory
  compare-jobs-engines.py count ENGINE THREADS IN.npy OUT       from .npy to OUT-keys.npy, OUT-counts.npy
  compare-jobs-engines.py digest FILE...                        what such files, or one of bulkhash, hold
  compare-jobs-engines.py make zipf|distinct N OUT.npy          what is counted

Each prints one line of JSON. DATA is a folder in which the arrays of a job are kept, because making them
takes longer than many of the jobs.

`run` does the job twice: the time is that of the second run, which finds memory that the process has
already touched, the peak of memory that of the first. What is measured of `run` begins when the arrays are in the engine's own form (a table of DuckDB, a
DataFrame of Polars or pandas, an array of NumPy) and ends when its result is, too: columns that a next
step could read. What is measured of `count` begins behind the imports, with np.load().
"""

import json
import os
import resource
import sys
import time

import numpy as np

TIMES = 2


# --- The data: as examples/ makes it -------------------------------------------------------------

def u64(number):
    return np.uint64(number)


def random_at(i):
    """splitmix64, as in examples/example.h; all of it wraps."""
    x = (i + u64(1)) * u64(0x9e3779b97f4a7c15)
    x = (x ^ x >> u64(30)) * u64(0xbf58476d1ce4e5b9)
    x = (x ^ x >> u64(27)) * u64(0x94d049bb133111eb)
    return x ^ x >> u64(31)


def mixed(a, b):
    return random_at(random_at(a.astype(np.uint64)) + b.astype(np.uint64))


def numbers(n):
    return np.arange(n, dtype=np.uint64)


def rows(n):
    return np.arange(n, dtype=np.uint32)


def kept(folder, name, make):
    """The array of that name in the folder; made where it is not there yet."""
    path = os.path.join(folder, name + ".npy")
    if not os.path.exists(path):
        save(path, make())
    return np.load(path)


def save(path, array):
    """A file that is there is whole."""
    with open(path + ".part", "wb") as file:
        np.save(file, array)
    os.replace(path + ".part", path)


def join_tables(folder, distinct, builds, probes, name):
    build = kept(folder, f"{name}-build-{builds}", lambda: random_at(numbers(builds) % u64(distinct)))
    probe = kept(folder, f"{name}-probe-{builds}-{probes}",
                 lambda: random_at(random_at(~numbers(probes)) % u64(2 * distinct)))
    return {"build": {"key": build, "build_row": rows(builds)},
            "probe": {"key": probe, "probe_row": rows(probes)}}


def name_of(vertex):
    return vertex * u64(2654435761) & u64(0xffffffff)


def tables_of(job, folder, sizes):
    """{table: {column: array}}"""
    first, second = sizes
    if job == "join-unique":
        return join_tables(folder, first, first, second, job)
    if job == "join-several":
        return join_tables(folder, first // 4 + 1, first, second, job)
    if job == "edges":
        def drawn(numbers_of_edges):
            return name_of(random_at(numbers_of_edges) % u64(first))
        return {"edges": {"edge": kept(folder, f"edges-{first}-{second}", lambda:
                                       drawn(numbers(second)) << u64(32) | drawn(~numbers(second)))}}
    key = kept(folder, f"group-key-{first}-{second}", lambda: random_at(random_at(numbers(first)) % u64(second)))
    value = kept(folder, f"group-value-{first}", lambda: random_at(~numbers(first)) % u64(1000))
    return {"facts": {"key": key, "value": value}}


def zipf(n):
    """Zipf's law with exponent 1.0 over n ranks, which are scrambled to 64 bits."""
    below = np.cumsum(1 / np.arange(1, n + 1))
    drawn = (random_at(numbers(n)) >> u64(11)) * 2.0 ** -53 * below[-1]
    return random_at(np.searchsorted(below, drawn, side="right").astype(np.uint64))


# --- The engines ---------------------------------------------------------------------------------

# Each takes a job, its tables and a number of threads, and answers functions: one that does the job, to be
# measured; one that makes arrays of NumPy of what the first one returned; and where the result is more
# than a Python object, one that drops it.

def in_duckdb(job, tables, threads):
    import duckdb
    import pyarrow
    db = duckdb.connect(config={"threads": threads})
    # It is free to store the rows of a result in any order, which is faster.
    db.execute("SET preserve_insertion_order = " + ("true" if job == "edges" else "false"))
    for table, columns in tables.items():
        db.register("given", pyarrow.table(columns))
        db.execute(f"CREATE TABLE {table} AS SELECT * FROM given")
        db.unregister("given")
    query = {
        "join-unique": "SELECT build_row, probe_row FROM probe JOIN build USING (key)",
        "join-several": "SELECT build_row, probe_row FROM probe JOIN build USING (key)",
        "group-sum": "SELECT key, sum(value) AS sum FROM facts GROUP BY key",
        "group-sum-count-min":
            "SELECT key, sum(value) AS sum, count(*) AS count, min(value) AS least FROM facts GROUP BY key",
        "edges": "SELECT DISTINCT edge FROM edges ORDER BY edge",
    }[job]
    return (lambda: db.execute(f"CREATE TEMP TABLE result AS {query}"),
            lambda _: list(db.table("result").fetchnumpy().values()),
            lambda: db.execute("DROP TABLE IF EXISTS result"))


def in_polars(job, tables, threads):
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    import polars as pl
    frame = {table: pl.DataFrame(columns) for table, columns in tables.items()}
    lazy = {table: one.lazy() for table, one in frame.items()}
    value = pl.col("value")

    def query():
        if job.startswith("join"):
            return lazy["probe"].join(lazy["build"], on="key").select("build_row", "probe_row")
        if job == "group-sum":
            return lazy["facts"].group_by("key").agg(value.sum())
        if job == "group-sum-count-min":
            return lazy["facts"].group_by("key").agg(
                value.sum().alias("sum"), pl.len().alias("count"), value.min().alias("least"))
        return lazy["edges"].unique().sort("edge")
    return lambda: query().collect(), lambda result: [column.to_numpy() for column in result.get_columns()]


def in_pandas(job, tables, _):
    import pandas as pd
    frame = {table: pd.DataFrame(columns, copy=False) for table, columns in tables.items()}

    def run():
        if job.startswith("join"):
            return frame["probe"].merge(frame["build"], on="key")[["build_row", "probe_row"]]
        if job == "edges":
            return frame["edges"].drop_duplicates().sort_values("edge")
        by_key = frame["facts"].groupby("key", sort=False)["value"]
        return (by_key.sum() if job == "group-sum" else by_key.agg(["sum", "count", "min"])).reset_index()
    return run, lambda result: [result[column].to_numpy() for column in result]


def in_numpy(job, tables, _):
    assert job == "edges"
    edges = tables["edges"]["edge"]
    return lambda: np.unique(edges), lambda result: [result]


ENGINES = {"duckdb": in_duckdb, "polars": in_polars, "pandas": in_pandas, "numpy": in_numpy}


def count_in(engine, threads, keys):
    """The distinct keys and their counts, two arrays of NumPy."""
    if engine == "numpy":
        return np.unique(keys, return_counts=True)
    if engine == "pandas":
        counts = pandas.Series(keys, copy=False).value_counts(sort=False)
        return counts.index.to_numpy(), counts.to_numpy()
    if engine == "polars":
        counts = polars.Series("key", keys).value_counts()
        return counts["key"].to_numpy(), counts["count"].to_numpy()
    db = duckdb.connect(config={"threads": threads})
    db.register("given", pyarrow.table({"key": keys}))
    found = db.execute("SELECT key, count(*) AS count FROM given GROUP BY key").fetchnumpy()
    return found["key"], found["count"]


def digest_of(job, columns):
    """As examples/ computes it, whatever the order of the rows."""
    one, *more = (np.asarray(column).astype(np.uint64) for column in columns)
    if job == "edges":
        if not np.all(one[:-1] < one[1:]):
            sys.exit("the edges are not sorted")
        one = random_at(one)
    for column in more:
        one = mixed(one, column)
    return {"count": len(one), "digest": f"{int(one.sum(dtype=np.uint64)):016x}"}


# --- Measuring -----------------------------------------------------------------------------------

def status_mib(field):
    with open("/proc/self/status", encoding="ascii") as status:
        return next((int(line.split()[1]) / 1024 for line in status if line.startswith(field)), None)


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Costs:
    """Begins to measure; spent() is what it took since: seconds, and memory beyond what was there."""

    def __init__(self):
        try:
            with open("/proc/self/clear_refs", "w", encoding="ascii") as refs:
                refs.write("5") # the peak so far is forgotten
            self.memory = status_mib("VmRSS:")
        except OSError:
            self.memory = None
        self.wall, self.cpu = time.monotonic(), cpu_seconds()

    def spent(self):
        wall, cpu = time.monotonic() - self.wall, cpu_seconds() - self.cpu
        memory = None if self.memory is None else status_mib("VmHWM:") - self.memory
        return {"wall_s": wall, "cpu_s": cpu, "peak_mib": memory}


def run(job, engine, threads, folder, *sizes):
    tables = tables_of(job, folder, [int(size) for size in sizes])
    work, to_numpy, *cleaning = ENGINES[engine](job, tables, int(threads))
    clean = cleaning[0] if cleaning else lambda: None
    if engine in ("duckdb", "polars"):
        tables.clear() # they have made their own of it
    peak = []
    for _ in range(TIMES):
        result = None # so that it is not there twice
        clean()
        costs = Costs()
        result = work()
        spent = costs.spent()
        peak.append(spent["peak_mib"])
    return {**spent, "peak_mib": peak[0], **digest_of(job, to_numpy(result))}


def count(engine, threads, given, out):
    os.environ["POLARS_MAX_THREADS"] = threads
    for module in {"duckdb": ["duckdb", "pyarrow"], "numpy": []}.get(engine, [engine]):
        globals()[module] = __import__(module)
    count_in(engine, int(threads), numbers(8)) # some import more when they are first used
    costs = Costs()
    keys, counts = count_in(engine, int(threads), np.load(given))
    np.save(out + "-keys.npy", keys)
    np.save(out + "-counts.npy", counts)
    spent = costs.spent()
    # Of a whole process, as that of bulkhash is.
    spent["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return spent


def digest(*paths):
    columns = [np.load(path) for path in paths]
    if columns[0].dtype.names: # pairs, by bulkhash
        columns = [columns[0][name] for name in columns[0].dtype.names]
    return digest_of("count", columns)


def make(kind, n, out):
    save(out, zipf(int(n)) if kind == "zipf" else random_at(numbers(int(n))))
    return {}


if __name__ == "__main__":
    command = {"run": run, "count": count, "digest": digest, "make": make}[sys.argv[1]]
    print(json.dumps(command(*sys.argv[2:])))
