#!/usr/bin/env bash
# scripts/report.py, on rows and kernels that are made up: what it compares, plots, and refuses; its
# tables of jobs. Its other tables: results.sh.
. "$(dirname "$0")/common.bash"

scripts=$(cd "$(dirname "$0")/../../scripts" && pwd)
report=$scripts/report.py
command -v python3 >/dev/null || exit 77

# expect STATUS COMMAND...: the exit status; what it prints lands in $out and $err.
expect() {
    local wanted=$1 status=0
    shift
    "$@" >"$out" 2>"$err" || status=$?
    ((status == wanted)) || failed "$*: exit status $status instead of $wanted: $(cat "$out" "$err")"
}
expect_line() { # expect_line PATTERN: a line of standard output
    grep -Eq -- "$1" "$out" || failed "no line '$1': $(cat "$out")"
}
expect_sentence() { # expect_sentence STATUS SENTENCE COMMAND...: it, and nothing else
    local sentence=$2
    expect "$1" "${@:3}"
    expect_file "what ${*:4} says" "$err" <<<"report: $sentence"
    [[ ! -s $out ]] || failed "${*:3} prints: $(cat "$out")"
}

# --- compare -----------------------------------------------------------------------------------

row() { # row EXPERIMENT NAME KEYS FILL MOPS FIGURE VALUE LOWEST HIGHEST BAR BAR_IS
    printf '{"experiment":"%s","name":"%s","design":"dycuckoo","device":"cpu","machine":"Abacus",' "$1" "$2"
    printf '"target":"avx2","op":"find","keys":%s,"key_bytes":4,"value_bytes":4,"fill":%s,' "$3" "$4"
    printf '"hit_rate":1,"skew":"uniform","batch":%s,"threads":2,"state":"fresh","mops":%s,' "$3" "$5"
    printf '"page_bytes":4096,"limit_mlines":null,"ratio_to_limit":null,"bytes_per_key":11.5,"figure":"%s","value":%s,"lowest":%s,"highest":%s,' "${@:6:4}"
    printf '"bar":%s,"bar_is":%s,"met":null}\n' "${@:10}"
}
limit='ratio to the limit'
{
    row operations find 1000 0.8 100 "$limit" 0.5 0.499 0.501 null null
    row operations find 2000 0.8 100 "$limit" 0.5 0.45 0.55 null null # a spread of 20%
    row growth find 1000 0.6512 100 'of find, reserved' 0.9 0.9 0.9 0.8 '"at least"'
    row calls find 1000 0.8 100 'times the time of a loop' 2 2 2 3 '"at most"'
    row growth pause 1000 0.8 null 'longest pause, ms' 20 20 20 null null
    row peers find 1000 0.8 100 'times absl' 2 2 2 null null
    row dynamic fill 1000 0.8 null 'fill after a batch' 0.5 0.5 0.5 null null
} >before.jsonl

expect 0 "$report" compare before.jsonl before.jsonl
expect_line '^6 rows compared: 0 slower, 0 faster; 1 with .* only before: 0, only after: 0$'

change() { # change PROGRAM_OF_SED: after.jsonl, before.jsonl with that change
    sed "$1" before.jsonl >after.jsonl
    cmp -s before.jsonl after.jsonl && failed "'$1' changes nothing"
}
expect_slower() { # expect_slower PATTERN: one row is, and the exit status says so
    expect 1 "$report" compare before.jsonl after.jsonl
    expect_line "SLOWER .*$1"
    expect_line '^6 rows compared: 1 slower, 0 faster;'
}
expect_as_fast() {
    expect 0 "$report" compare before.jsonl after.jsonl
    expect_line '^6 rows compared: 0 slower, 0 faster;'
}
# Rates: 3%, or the spread.
change '1s/"mops":100/"mops":97.1/'
expect_as_fast
change '1s/"mops":100/"mops":96.9/'
expect_slower 'operations: find,.* 1,000 keys.*\[M keys/s\]'
expect_line ' 100 +96.9 +0.969 +3.0% +SLOWER '
change '2s/"mops":100/"mops":81/'
expect_as_fast
change '2s/"mops":100/"mops":79/'
expect_slower 'operations: find,.* 2,000 keys'
# The spread after the change counts as that before.
change '1s/"mops":100/"mops":81/; 1s/"lowest":0.499,"highest":0.501/"lowest":0.45,"highest":0.55/'
expect_as_fast
# What has a bar is judged by its figure, what has none by its rate.
change '3s/"mops":100/"mops":50/'
expect_as_fast
expect_line '\[of find, reserved\]   rate -50.0%$'
change '3s/"value":0.9/"value":0.87/'
expect_slower '\[of find, reserved\]'
change '6s/"value":2/"value":1/'
expect_as_fast
change '6s/"mops":100/"mops":90/'
expect_slower 'peers: find.*\[M keys/s\]'
# Where there was nothing, anything is more.
sed '4s/"value":2/"value":0/' before.jsonl >zero.jsonl
expect 0 "$report" compare zero.jsonl zero.jsonl
expect 1 "$report" compare zero.jsonl before.jsonl
# Of times less is better, with and without a bar.
change '4s/"value":2/"value":2.1/'
expect_slower '\[times the time of a loop\]'
change '5s/"value":20/"value":21/'
expect_slower '\[longest pause, ms\]'
change '4s/"value":2/"value":1.9/; 5s/"value":20/"value":19/; 1s/"mops":100/"mops":104/'
expect 0 "$report" compare before.jsonl after.jsonl
expect_line '^6 rows compared: 0 slower, 3 faster;'
# The third digit of a fill does not tell rows apart; the second does.
change '3s/0.6512/0.6488/'
expect_as_fast
change '3s/0.6512/0.6612/'
expect 0 "$report" compare before.jsonl after.jsonl
expect_line '^only before: growth: find,.* fill 0.65'
expect_line '^only after: growth: find,.* fill 0.66'
expect_line '^5 rows compared: .* only before: 1, only after: 1$'

# Each of these makes another measurement of it.
while read -r old new; do
    change "1s/$old/$new/"
    expect 0 "$report" compare before.jsonl after.jsonl
    expect_line '^5 rows compared: .* only before: 1, only after: 1$'
done <<'END'
"experiment":"operations" "experiment":"turnover"
"name":"find" "name":"miss"
"design":"dycuckoo" "design":"hashfight"
"device":"cpu" "device":"cuda"
"target":"avx2" "target":"scalar"
"op":"find" "op":"erase"
"keys":1000 "keys":1001
"key_bytes":4 "key_bytes":8
"value_bytes":4 "value_bytes":8
"fill":0.8 "fill":0.9
"hit_rate":1 "hit_rate":0
"skew":"uniform" "skew":"equal"
"batch":1000 "batch":1
"threads":2 "threads":1
"state":"fresh" "state":"grown"
"figure":"ratio "figure":"inverse
END

# Two rows that are the same measurement are told apart by their order.
cat before.jsonl before.jsonl >twice.jsonl
change '1s/"mops":100/"mops":50/'
cat before.jsonl after.jsonl >after2.jsonl
expect 1 "$report" compare twice.jsonl after2.jsonl
expect_line 'SLOWER .*\(2\)'
expect_line '^12 rows compared: 1 slower'

# Directories: the file is a part of what a row is.
mkdir old new
cp before.jsonl old/one.jsonl
cp before.jsonl old/two.jsonl
cp before.jsonl new/one.jsonl
cp after.jsonl new/two.jsonl
expect 1 "$report" compare old new
expect_line 'SLOWER +two: find'
expect_line '^12 rows compared: 1 slower'
rm new/two.jsonl
expect 0 "$report" compare old new
expect_line '^6 rows compared: .* only before: 6, only after: 0$'

expect_sentence 1 'BEFORE and AFTER must be two directories or two .jsonl files, not one of each' \
    "$report" compare old before.jsonl
head -n 2 before.jsonl >broken.jsonl
echo '{"experiment":"oper' >>broken.jsonl
expect_sentence 1 'broken.jsonl:3: not a JSON object' "$report" compare before.jsonl broken.jsonl
echo '[1]' >broken.jsonl
expect_sentence 1 'broken.jsonl:1: not a JSON object' "$report" compare broken.jsonl before.jsonl
sed '2s/"name":/"title":/' before.jsonl >broken.jsonl
expect_sentence 1 'broken.jsonl:2: a row without "name"' "$report" compare before.jsonl broken.jsonl
sed '2s/"mops":100/"mops":"100"/' before.jsonl >broken.jsonl
expect_sentence 1 'broken.jsonl:2: "mops" is not a number' "$report" compare before.jsonl broken.jsonl
expect_sentence 1 'missing.jsonl: cannot be read: No such file or directory' \
    "$report" compare before.jsonl missing.jsonl
: >empty.jsonl
expect_sentence 1 'empty.jsonl: there are no rows to compare' "$report" compare before.jsonl empty.jsonl
sed 's/"find"/"miss"/' before.jsonl | grep -v pause >other.jsonl
expect_sentence 1 'no row of the one is in the other: nothing was compared' \
    "$report" compare before.jsonl other.jsonl
sed 's/Abacus/Slide rule/' before.jsonl >other.jsonl
expect_sentence 1 'the two were measured on different machines, Abacus before, Slide rule after: measure both on one' \
    "$report" compare before.jsonl other.jsonl
expect_sentence 2 'the following arguments are required: AFTER; see report.py compare --help' \
    "$report" compare before.jsonl
expect_sentence 2 'the following arguments are required: COMMAND; see report.py --help' "$report"
for command in tables plots compare kernels; do
    expect 0 "$report" "$command" --help
    (($(wc -l <"$out") >= 8)) || failed "$command --help teaches nothing: $(cat "$out")"
    awk 'length($0) > 100 { exit 1 }' "$out" || failed "$command --help has a line of more than 100 letters"
done

# --- kernels -----------------------------------------------------------------------------------

kernels() { # kernels REGISTERS STACK LOCAL SHARED: of the second kernel
    cat <<END
Fatbin elf code:
================
arch = sm_90
code version = [1,8]

Resource usage:
 Common:
  GLOBAL:0 CONSTANT[3]:40
 Function _Z6lookupPfi:
  REG:24 STACK:0 SHARED:4096 LOCAL:0 CONSTANT[0]:360 TEXTURE:0 SURFACE:0 SAMPLER:0
 Function _Z6updatePfi:
  REG:$1 STACK:$2 SHARED:$4 LOCAL:$3 CONSTANT[0]:360 TEXTURE:0 SURFACE:0 SAMPLER:0
END
}
kernels 40 0 0 1024 >before.txt
kernels 40 0 0 1024 >after.txt
expect 0 "$report" kernels before.txt after.txt
expect_line '^same +registers 24, stack 0, local 0, shared 4096   sm_90 '
expect_line '^2 kernels compared: 0 changed, 0 spill more; only before: 0, only after: 0$'
if command -v c++filt >/dev/null; then
    expect_line 'sm_90 lookup\(float\*, int\)$'
fi
# The same from a build that prints what the compiler used.
compiled() { # compiled REGISTERS STACK
    cat <<END
ptxas info    : Compiling entry function '_Z4movePm' for 'sm_90'
ptxas info    : Function properties for _Z4movePm
    $2 bytes stack frame, $2 bytes spill stores, 0 bytes spill loads
ptxas info    : Used $1 registers, used 1 barriers, 2376 bytes smem
END
}
compiled 40 0 >before.txt
compiled 48 0 >after.txt
expect 0 "$report" kernels before.txt after.txt
expect_line '^changed  registers 40 -> 48, stack 0, local 0, shared 2376 .*move'
compiled 40 16 >after.txt
expect 1 "$report" kernels before.txt after.txt
expect_line '^SPILLS   registers 40, stack 0 -> 16, '
kernels 40 0 0 1024 >before.txt

kernels 48 0 0 2048 >after.txt
expect 0 "$report" kernels before.txt after.txt
expect_line '^changed +registers 40 -> 48, stack 0, local 0, shared 1024 -> 2048   sm_90 .*update'
kernels 32 16 0 1024 >after.txt
expect 1 "$report" kernels before.txt after.txt
expect_line '^SPILLS +registers 40 -> 32, stack 0 -> 16, local 0, shared 1024   sm_90 .*update'
expect_line '^2 kernels compared: 1 changed, 1 spill more;'
expect 0 "$report" kernels after.txt before.txt # fewer spills are no fault
kernels 40 0 8 1024 >after.txt
expect 1 "$report" kernels before.txt after.txt
kernels 40 UNKNOWN 0 1024 >after.txt
expect 1 "$report" kernels before.txt after.txt
expect_line 'stack 0 -> unknown'
kernels 40 0 0 1024 | sed 's/_Z6update/_Z6insert/' >after.txt
expect 0 "$report" kernels before.txt after.txt
expect_line '^only before: registers 40.*update'
expect_line '^only after: registers 40.*insert'
# A hash in the name of what is private to a file is no part of it.
for hash in 0a1b2c3d 4e5f6a7b; do
    kernels 40 0 0 1024 | sed "s/_Z6updatePfi/_ZN39_INTERNAL_${hash}_9_update_cu_${hash}6updateEPfi/" >"$hash.txt"
done
expect 0 "$report" kernels 0a1b2c3d.txt 4e5f6a7b.txt
expect_line '^2 kernels compared: 0 changed'
echo nothing >after.txt
expect_sentence 1 'after.txt: has no kernel; it should hold the output of cuobjdump --dump-resource-usage, or of ptxas -v' \
    "$report" kernels before.txt after.txt
expect_sentence 1 'missing.txt: cannot be read: No such file or directory' \
    "$report" kernels before.txt missing.txt

# --- jobs --------------------------------------------------------------------------------------

job() { # job JOB THREADS ENGINE VERSION CPU LOWEST HIGHEST WALL PEAK SHARE SHARE_LOWEST SHARE_HIGHEST BAR MET
    printf '{"commit":"0123456789ab","date":"2025-01-02 03:04 UTC","machine":"Abacus","cores":2,"job":"%s",' "$1"
    printf '"threads":%s,"engine":"%s","version":"%s","cpu_s":%s,"cpu_lowest":%s,"cpu_highest":%s,' "${@:2:6}"
    printf '"wall_s":%s,"peak_mib":%s,"answer":"1 f","repetitions":3,"share":%s,"share_lowest":%s,' "${@:8:4}"
    printf '"share_highest":%s,"bar":%s,"met":%s}\n' "${@:12}"
}
mkdir jobs
printf '%s\n' 'CPU        Abacus' '' >jobs/machine.txt
row peers find 1024 0.8 100 'times boost' 4 4 4 null null >jobs/peers-4-4.jsonl
{
    job join-unique 1 bulkhash 0123456789ab 0.5 0.4 0.6 0.52 263.4 null null null null null
    job join-unique 1 duckdb 2.0.0 2 1.9 2.1 2.04 1263.4 0.25 0.2 0.3 0.33 true
    job join-unique 1 pandas 3.1 4 4 4 4 null 0.125 0.125 0.125 null null
    job kmers-reads 1 bulkhash 0123456789ab 2 2 2 2 90 null null null null null
    job kmers-reads 1 jellyfish 2.3.0 1.6 1.6 1.6 1.6 80 1.25 1.2 1.3 0.16 false
    job join-unique 2 bulkhash 0123456789ab 0.6 0.6 0.6 0.3 270 null null null null null
    job join-unique 2 duckdb 2.0.0 2.4 2.4 2.4 1.2 1300 0.25 0.25 0.25 null null
} >jobs/jobs.jsonl
expect 0 "$report" tables jobs
sed '1,/^## jobs$/d' jobs/README.md >jobs.md
expect_file 'tables of jobs' jobs.md <<'END'

2025-01-02 03:04 UTC, commit 0123456789ab, compare-jobs.py: its --help tells what the jobs are. Abacus, 2 cores. duckdb 2.0.0, pandas 3.1, jellyfish 2.3.0.
The CPU time is that of all threads, user and system. The peak of memory is what a job needed beyond its
input, and of counts and k-mers that of the whole process.

### jobs, 1 thread

| job | engine | CPU, s | wall, s | peak, MiB | bulkhash's CPU time, of it | bar |
|---|---|---|--:|--:|---|---|
| join-unique | bulkhash | 0.50 (0.40 to 0.60) | 0.52 | 263 | | |
| | duckdb | 2.00 (1.90 to 2.10) | 2.04 | 1,263 | 0.25 (0.20 to 0.30) | at most 0.33, met |
| | pandas | 4.00 | 4.00 | | 0.12 | |
| kmers-reads | bulkhash | 2.00 | 2.00 | 90 | | |
| | jellyfish | 1.60 | 1.60 | 80 | 1.25 (1.20 to 1.30) | at most 0.16, **not met** |

### jobs, 2 threads

| job | engine | CPU, s | wall, s | peak, MiB | bulkhash's CPU time, of it |
|---|---|---|--:|--:|---|
| join-unique | bulkhash | 0.60 | 0.30 | 270 | |
| | duckdb | 2.40 | 1.20 | 1,300 | 0.25 |
END
printf '%s\n' a '<!-- jobs: begin -->' old '<!-- jobs: end -->' '<!-- results: begin -->' '<!-- results: end -->' >page.md
for round in 1 2; do
    expect 0 "$report" tables --into page.md jobs
    sed '/results: begin/,$d' page.md >begin.md
    expect_file "the short table of jobs, time $round" begin.md <<'END'
a
<!-- jobs: begin -->

Whole jobs: seconds of CPU time by one thread, and how many times as long the others take. DuckDB 2.0.0, pandas 3.1, jellyfish 2.3.0.
CPU: Abacus. Commit 0123456789ab. All jobs: [docs/results](docs/results/README.md#jobs).

| job | bulkhash, s of CPU | times DuckDB | times pandas | times jellyfish |
|---|--:|--:|--:|--:|
| join 10 M rows with 30 M, unique keys | 0.50 | 4.00 | 8.00 | |
| count the 31-mers of 400,000 reads | 2.00 | | | **0.80** |

<!-- jobs: end -->
END
    grep -q '^| 1,024 | find |' page.md || failed "the other table is not there: $(cat page.md)"
done
# Nothing is written where either has no place, or a row is broken.
printf '%s\n' '<!-- results: begin -->' '<!-- results: end -->' >plain.md
cp plain.md before.md
expect_sentence 1 "plain.md: needs one line '<!-- jobs: begin -->' and after it one line '<!-- jobs: end -->'" \
    "$report" tables --into plain.md jobs
cmp -s plain.md before.md || failed "plain.md was written: $(cat plain.md)"
sed -i '2s/"cpu_s":2/"cpu_s":"2"/' jobs/jobs.jsonl
expect_sentence 1 'jobs/jobs.jsonl:2: "cpu_s" is not a number' "$report" tables jobs
sed -i '1s/"engine"/"program"/' jobs/jobs.jsonl
expect_sentence 1 'jobs/jobs.jsonl:1: a row without "engine"' "$report" tables jobs

# --- plots -------------------------------------------------------------------------------------

mkdir drawn
printf '%s\n' 'CPU        Abacus' '' \
    'sizes  2025-01-02 03:04 UTC   commit 0123456789ab   bench -e sizes' >drawn/machine.txt
expect_sentence 1 'drawn: there is nothing to draw: none of sizes.jsonl, calls.jsonl, fills.jsonl' \
    "$report" plots drawn
for keys in 1024 65536; do
    row sizes "find, $keys keys" $keys 0.8 100 "$limit" 0.5 0.4 0.6 null null
    row sizes "miss, $keys keys" $keys 0.8 90 "$limit" 0.5 0.4 0.6 null null | sed 's/"hit_rate":1/"hit_rate":0/'
    row sizes "insert, $keys keys" $keys 0.8 80 "$limit" 0.5 0.4 0.6 null null | sed 's/"op":"find"/"op":"insert"/'
    row sizes "erase, $keys keys" $keys 0.8 70 "$limit" 0.5 0.4 0.6 null null | sed 's/"op":"find"/"op":"erase"/'
done >drawn/sizes.jsonl
row peers find 1024 0.8 100 'times absl' 4 4 4 null null >drawn/peers-4-4.jsonl
# A matplotlib that cannot be had, whether or not there is one.
mkdir none
echo 'raise ImportError' >none/matplotlib.py
expect_sentence 1 'plots need matplotlib, which is not there (Debian: python3-matplotlib)' \
    env PYTHONPATH=none "$report" plots drawn
[[ ! -e drawn/plots ]] || failed 'plots without matplotlib'

python3 -c 'import matplotlib' 2>/dev/null || finish
mkdir -p drawn/plots
echo old >drawn/plots/calls.svg
for round in 1 2; do
    expect 0 "$report" plots drawn
    ls drawn/plots >files
    expect_file 'the plots' files <<<sizes.svg # no calls: what was drawn of them is gone
    cp drawn/plots/sizes.svg "$round.svg"
done
cmp 1.svg 2.svg || failed 'the same results make another plot'
for text in 'Abacus' '0123456789ab' 'million keys per second' 'pairs in the table' bulkhash absl '64 K'; do
    grep -q -- "$text" 1.svg || failed "no '$text' in the plot"
done
grep -Eq '>(boost|libcuckoo)<' 1.svg && failed 'peers in the plot that are not in the results'
# Peers of another machine do not stand beside.
sed -i 's/Abacus/Slide rule/' drawn/peers-4-4.jsonl
expect 0 "$report" plots drawn
grep -q '>absl<' drawn/plots/sizes.svg && failed 'peers of another machine are drawn'
expect 0 "$report" tables drawn
grep -q '^!\[Rate by table size\](plots/sizes.svg)$' drawn/README.md || failed 'the plot is not in README.md'
finish
