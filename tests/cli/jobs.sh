#!/usr/bin/env bash
# scripts/compare-jobs.py on small inputs: with a jellyfish that is made up, and with whatever engines this
# machine has. What it says of speed is not looked at.
. "$(dirname "$0")/common.bash"

root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$(dirname "$BULKHASH")/.." && pwd)
python=$root/build/jobs-venv/bin/python
[[ -x $python ]] || python=$(command -v python3) || exit 77
python=$("$python" -c 'import sys; print(sys.executable)')
[[ -x $build/examples/join ]] || exit 77
compare=("$python" "$root/scripts/compare-jobs.py")

expect_sentence() { # expect_sentence STATUS SENTENCE COMMAND...: the last line of standard error
    local wanted=$1 sentence=$2 status=0
    shift 2
    "$@" >"$out" 2>"$err" || status=$?
    ((status == wanted)) || failed "$*: exit status $status instead of $wanted: $(cat "$err")"
    [[ $(tail -n 1 "$err") == "compare-jobs: "$sentence ]] || failed "$*: no '$sentence' in: $(cat "$err")"
}

# --- what it says --------------------------------------------------------------------------------

expect_success "${compare[@]}" --help
grep -q '^  join-unique ' "$out" || failed "--help does not tell the jobs: $(cat "$out")"
awk 'length($0) > 110 { exit 1 }' "$out" || failed '--help has a line of more than 110 letters'
while read -r words; do
    expect_sentence 2 '*; see --help' "${compare[@]}" $words
    (($(wc -l <"$err") == 1)) || failed "$words: not one line: $(cat "$err")"
done <<'END'
--only joins
--repetitions 0
--repetitions many
--threads 3
--fast
one two
END
expect_sentence 1 'nowhere: has no bin/bulkhash; make compare-jobs builds it' "${compare[@]}" nowhere
# -S: a Python without any module but its own.
expect_sentence 1 'there is nothing to compare with; make compare-jobs installs it' \
    env PATH=/nowhere "$python" -S "$root/scripts/compare-jobs.py" --quick --data none "$build"
for engine in duckdb polars pandas numpy jellyfish; do
    grep -q " $engine.* left out$" "$err" || failed "nothing about $engine, which is not there: $(cat "$err")"
done

# --- a jellyfish that is made up -----------------------------------------------------------------

# "count ... -o HASHES FILE" keeps the name of FILE, "dump ... -o LINES HASHES" has it counted. The order of
# its lines is another one.
mkdir tools
cat >tools/jellyfish <<'END'
#!/usr/bin/env bash
set -euo pipefail
[[ $1 != --version ]] || { echo jellyfish 1.2.3; exit; }
command=$1 last=${!#}
while [[ $1 != -o ]]; do shift; done
if [[ $command == count ]]; then
    echo "$last" >"$2"
else
    "$BULKHASH" count --kmers 31 --canonical "$(cat "$last")" --output - 2>/dev/null |
        sort -r | eval "${FAKE_CHANGE-cat}" >"$2"
fi
END
chmod +x tools/jellyfish
kmers=(env "PATH=$PWD/tools:$PATH" "${compare[@]}" --quick --only kmers-genome --data data)

expect_success "${kmers[@]}" --repetitions 2 --output rows.jsonl "$build"
# 200,000 random letters: no 31-mer comes twice, not even reversed.
(($(grep -c '"answer": "199970 ' rows.jsonl) == $(wc -l <rows.jsonl))) ||
    failed "another number of 31-mers: $(cat rows.jsonl)"
for field in '"job": "kmers-genome", "engine": "bulkhash", "threads": 1,' \
    '"job": "kmers-genome", "engine": "jellyfish", "threads": 1, "version": "1.2.3",'; do
    (($(grep -c -- "$field" rows.jsonl) == 1)) || failed "not one row with $field: $(cat rows.jsonl)"
done
grep -q '"engine": "jellyfish".*"repetitions": 2, "share": [0-9]' rows.jsonl || failed "$(cat rows.jsonl)"
grep -Eq '^kmers-genome +1  bulkhash ' "$out" || failed "no table: $(cat "$out")"
grep -Eq '^ +jellyfish .* \([0-9.]+ to [0-9.]+\)$' "$out" || failed "no jellyfish in the table: $(cat "$out")"

# A line less, or a count that is another one, is noticed.
for change in 'sed 5d' 'sed 5s/1\$/2/'; do
    expect_sentence 1 'kmers-genome: bulkhash and jellyfish DO NOT ANSWER THE SAME: *' \
        env "FAKE_CHANGE=$change" "${kmers[@]}" "$build"
done
expect_sentence 1 'jellyfish dump *: failed: *' env FAKE_CHANGE=false "${kmers[@]}" "$build"

# Rows of other jobs stay, those of the same job are replaced.
sed -i 's/"job": "kmers-genome"/"job": "edges"/' rows.jsonl
for round in 1 2; do
    expect_success "${kmers[@]}" --threads one --output rows.jsonl "$build"
    (($(grep -c '"job": "kmers-genome"' rows.jsonl) == 2)) || failed "time $round: $(cat rows.jsonl)"
    (($(grep -c '"job": "edges"' rows.jsonl) >= 2)) || failed "time $round: $(cat rows.jsonl)"
done
echo nothing >other.jsonl
expect_sentence 1 'other.jsonl: has other lines*' "${kmers[@]}" --output other.jsonl "$build"
[[ $(cat other.jsonl) == nothing ]] || failed 'other.jsonl was written'

# --- the engines of this machine -----------------------------------------------------------------

"$python" -c 'import numpy' 2>/dev/null || finish
all=("${compare[@]}" --quick --threads one --data data --output all.jsonl "$build")
expect_success "${all[@]}"
for job in join-unique join-several group-sum group-sum-count-min edges count-zipf count-distinct; do
    for engine in bulkhash duckdb polars pandas numpy; do
        if [[ $engine == numpy && $job != edges && $job != count-* ]] || grep -q " $engine is left out$" "$err"; then
            continue
        fi
        grep -q "\"job\": \"$job\", \"engine\": \"$engine\", \"threads\": 1," all.jsonl ||
            [[ $engine == bulkhash ]] || failed "no row of $job in $engine: $(cat "$err")"
    done
done
# What is known of the answers: half of 300,000 probes match, a group in each case; nothing comes twice.
"$python" - <<'END' || failed "answers: $(cat all.jsonl)"
import json, sys
rows = [json.loads(line) for line in open("all.jsonl")]
counts = {row["job"]: int(row["answer"].split()[0]) for row in rows}
known = {"join-unique": (149_000, 151_000), "join-several": (590_000, 610_000), "group-sum": (10_000, 10_000),
         "group-sum-count-min": (10_000, 10_000), "count-distinct": (200_000, 200_000)}
sys.exit(any(not least <= counts.get(job, least) <= most for job, (least, most) in known.items()))
END
printf '%s\n' 'CPU        Abacus' '' >data/machine.txt
cp all.jsonl data/jobs.jsonl
expect_success "$python" "$root/scripts/report.py" tables data
grep -q '^### jobs, 1 thread$' data/README.md || failed "no table of jobs: $(cat data/README.md)"

# An array that is another one makes another answer.
ls data/quick/join-unique-probe-*.npy >/dev/null 2>&1 || finish
cp data/quick/join-several-probe-*.npy "$(echo data/quick/join-unique-probe-*.npy)"
expect_sentence 1 'join-unique: bulkhash and * DO NOT ANSWER THE SAME: *' "${all[@]}" --only join-unique
finish
