#!/usr/bin/env bash
# scripts/results.sh and the tables of scripts/report.py, on results that are made up: which files there
# are, what the tables say. Nothing is measured. The rest of scripts/report.py: report.sh.
. "$(dirname "$0")/common.bash"

scripts=$(cd "$(dirname "$0")/../../scripts" && pwd)
report=$scripts/report.py
command -v lscpu >/dev/null && command -v python3 >/dev/null || exit 77

line() { # line EXPERIMENT NAME KEYS MOPS LIMIT RATIO FIGURE VALUE LOWEST HIGHEST BAR BAR_IS MET
    printf '{"experiment":"%s","name":"%s","design":"dycuckoo","device":"cpu","target":"avx2",' "$1" "$2"
    printf '"op":"find","keys":%s,"key_bytes":4,"value_bytes":4,"fill":0.7972,"hit_rate":1,' "$3"
    printf '"skew":"uniform","batch":%s,"threads":2,"state":"fresh","page_bytes":2097152,' "$3"
    printf '"mops":%s,"limit_mlines":%s,"ratio_to_limit":%s,"bytes_per_key":11.4688,' "$4" "$5" "$6"
    printf '"figure":"%s","value":%s,"lowest":%s,"highest":%s,"bar":%s,"bar_is":%s,"met":%s}\n' "${@:7}"
}

# A machine and results of every shape: null, one sample, a bar that is met and one that is not, fills.
mkdir made
cat >made/machine.txt <<'END'
CPU        Abacus
cores      2 (threads per core: 1, sockets: 1)
caches     L3 1 MiB
           and more

growth          2025-01-02 03:04 UTC   commit 0123456789ab   bench -e growth -r 9
operations-4-4  2025-01-02 03:05 UTC   commit abcdef012345   bench -e operations -w 4,4
peers-8-8       2025-01-02 03:06 UTC   commit 0123456789ab   bench -e peers -w 8,8
peers-4-4       2025-01-02 03:06 UTC   commit 0123456789ab   bench -e peers -w 4,4
dynamic         2025-01-02 03:07 UTC   commit 0123456789ab   bench -e dynamic
END
limit='ratio to the limit'
{
    line operations 'find, all present' 33554432 104.46 185.5 0.5631 "$limit" 0.5631 0.53 0.59 0.62 '"at least"' false
    line operations 'find, half present' 33554432 99.96 205.4 0.4866 "$limit" 0.4866 0.4 0.5 null null null
    line operations 'memory, fill 0.85' 33554432 9.996 null null 'bytes per pair' 10.812 10.812 10.812 10.9 '"at most"' true
} >made/operations-4-4.jsonl
{
    line growth 'insert, growing' 33554432 17 170 0.1 'of insert, reserved' 0.404 0.3 0.5 0.35 '"at least"' true
    line growth 'table held alone' 33554432 null null null 'longest pause, ms' 123.4 120.6 130 null null null
    line growth 'calls of 1, 4096 keys' 4096 8 null null 'keys moved per key' 2 2 2 2 '"at most"' true
} >made/growth.jsonl
line peers find 33554432 88 null null 'times absl' 4 3 5 null null null |
    sed 's/"key_bytes":4,"value_bytes":4/"key_bytes":8,"value_bytes":8/' >made/peers-8-8.jsonl
{
    line peers insert 1000 40 null null 'times boost' 0.5 0.5 0.5 null null null
    line peers insert 1000 44 null null 'times libcuckoo' 6.25 3 7 12 '"at least"' false
    line peers insert 1000 42 null null 'times sort + search' 9 9 9 null null null
    line peers 'find, in cache' 10 80 null null 'times libcuckoo' 12 11 13 null null null
} >made/peers-4-4.jsonl
{
    line dynamic fill 1000 null null null 'fill after a batch' 0.551 0.551 0.551 null null null
    line dynamic fill 1000 null null null 'fill after a batch' 0.7 0.7 0.7 null null null
    line dynamic 'mixed operations' 1000 36 null null "$limit" null null null null null null
} >made/dynamic.jsonl
for target in avx2 scalar; do # the heading names no target where there are several
    line instructions "find, $target" 1000 null null null 'instructions per key' 53.25 53.25 53.25 55 '"at most"' true |
        sed "s/avx2/$target/"
done >made/instructions-4-4.jsonl

expect_success "$report" tables made
[[ ! -s $out ]] || failed "report.py tables prints: $(cat "$out")"
expect_file 'the tables' made/README.md <<'END'
# Results

`make results` writes this file (scripts/results.sh); `bulkhash bench --help` explains the experiments.
Figures are medians over the repetitions, with the lowest and highest in brackets. A limit is the rate of
memory accesses or copies alone, measured in the same run; a bar is the value that a figure should reach.

```
CPU        Abacus
cores      2 (threads per core: 1, sockets: 1)
caches     L3 1 MiB
           and more
```

## operations, u32->u32

33,554,432 pairs u32->u32, fill 0.80, 11.5 bytes per pair, 2 threads, avx2, pages of 2 MiB. 2025-01-02 03:05 UTC, commit abcdef012345, bench -e operations -w 4,4

| operation | M keys/s | limit, M lines/s | figure | measured | bar |
|---|--:|--:|---|---|---|
| find, all present | 104 | 186 | ratio to the limit | 0.56 (0.53 to 0.59) | 0.62, **not met** |
| find, half present | 100.0 | 205 | ratio to the limit | 0.49 (0.40 to 0.50) | |
| memory, fill 0.85 | 10.00 | | bytes per pair | 10.8 | at most 10.9, met |

## growth, u32->u32

Pairs u32->u32, 2 threads, avx2, pages of 2 MiB. 2025-01-02 03:04 UTC, commit 0123456789ab, bench -e growth -r 9

| operation | keys | M keys/s | limit, M lines/s | ratio to the limit | figure | measured | bar |
|---|--:|--:|--:|--:|---|---|---|
| insert, growing | 33,554,432 | 17.0 | 170 | 0.10 | of insert, reserved | 0.40 (0.30 to 0.50) | 0.35, met |
| table held alone | 33,554,432 | | | | longest pause, ms | 123 (121 to 130) | |
| calls of 1, 4096 keys | 4,096 | 8.00 | | | keys moved per key | 2.00 | at most 2.00, met |

## peers, u32->u32

Pairs u32->u32, 2 threads, avx2, pages of 2 MiB. 2025-01-02 03:06 UTC, commit 0123456789ab, bench -e peers -w 4,4

| operation | keys | M keys/s | figure | measured | bar |
|---|--:|--:|---|---|---|
| insert | 1,000 | 40.0 | times boost | 0.50 | |
| insert | 1,000 | 44.0 | times libcuckoo | 6.25 (3.00 to 7.00) | 12.0, **not met** |
| insert | 1,000 | 42.0 | times sort + search | 9.00 | |
| find, in cache | 10 | 80.0 | times libcuckoo | 12.0 (11.0 to 13.0) | |

## peers, u64->u64

33,554,432 pairs u64->u64, fill 0.80, 11.5 bytes per pair, 2 threads, avx2, pages of 2 MiB. 2025-01-02 03:06 UTC, commit 0123456789ab, bench -e peers -w 8,8

| operation | M keys/s | figure | measured |
|---|--:|---|---|
| find | 88.0 | times absl | 4.00 (3.00 to 5.00) |

## dynamic, u32->u32

1,000 pairs u32->u32, fill 0.80, 11.5 bytes per pair, 2 threads, avx2, pages of 2 MiB. 2025-01-02 03:07 UTC, commit 0123456789ab, bench -e dynamic

| operation | M keys/s |
|---|--:|
| mixed operations | 36.0 |

Fill after each batch of the first run: 0.55 0.70

## instructions, u32->u32

1,000 pairs u32->u32, fill 0.80, 11.5 bytes per pair, 2 threads, pages of 2 MiB. Commit unknown

| operation | figure | measured | bar |
|---|---|---|---|
| find, avx2 | instructions per key | 53.2 | at most 55.0, met |
| find, scalar | instructions per key | 53.2 | at most 55.0, met |
END

printf '%s\n' before '<!-- results: begin -->' old '<!-- results: end -->' after >page.md
for round in 1 2; do
    expect_success "$report" tables --into page.md made
    expect_file "the short table, time $round" page.md <<'END'
before
<!-- results: begin -->

u32->u32, fill 0.80, 2 threads. CPU: Abacus; cores: 2 (threads per core: 1, sockets: 1);
caches: L3 1 MiB. Commit 0123456789ab. All results: [docs/results](docs/results/README.md).

| pairs | operation | bulkhash, M keys/s | times libcuckoo | times boost |
|--:|---|--:|--:|--:|
| 1,000 | insert | 42.0 | 6.25 | **0.50** |
| 10 | find | 80.0 | 12.0 | |

<!-- results: end -->
after
END
done

expect_sentence() { # expect_sentence STATUS PATTERN COMMAND...
    local wanted=$1 pattern=$2 status=0
    shift 2
    "$@" >"$out" 2>"$err" || status=$?
    ((status == wanted)) || failed "$*: exit status $status instead of $wanted: $(cat "$err")"
    grep -Eq -- "$pattern" "$err" || failed "$*: no '$pattern' in: $(cat "$err")"
}
echo none >plain.md
expect_sentence 1 'plain.md: needs one line' "$report" tables --into plain.md made
[[ $(cat plain.md) == none ]] || failed "plain.md was written: $(cat plain.md)"
expect_sentence 1 'missing.md: there is no such file' "$report" tables --into missing.md made
expect_sentence 1 'no machine.txt' "$report" tables .
expect_sentence 2 'DIRECTORY.*--help' "$report" tables

# A file of a GPU has several experiments and says itself where it comes from.
mkdir gpu
cp made/machine.txt gpu/
gpu_row() { # gpu_row EXPERIMENT NAME KEYS MOPS LIMIT FIGURE VALUE
    line "$1" "$2" "$3" "$4" "$5" null "$6" "$7" "$7" "$7" null null null |
        sed 's/"device":"cpu"/"device":"cuda","machine":"Some GPU","commit":"0a1b2c3d4e5f","limit_is":"additions"/'
}
{
    gpu_row limits 'random additions' 50000 17106.5 null "$limit" null | sed 's/"dycuckoo"/"none"/'
    gpu_row operations 'insert, reserved' 50000 14124.2 17107 "$limit" 0.83
    gpu_row operations 'insert, reserved, lanes' 0 null null 'not supported' null
} >gpu/gpu-dycuckoo.jsonl
expect_success "$report" tables gpu
sed '1,/^```$/d;1,/^```$/d' gpu/README.md >gpu.md
expect_file 'tables of a GPU' gpu.md <<'END'

## limits, u32->u32, on a GPU

50,000 pairs u32->u32, fill 0.80, 11.5 bytes per pair, on Some GPU. Commit 0a1b2c3d4e5f

| operation | G/s |
|---|--:|
| random additions | 17.1 |

## operations, u32->u32, dycuckoo on a GPU

Pairs u32->u32, dycuckoo on Some GPU. Commit 0a1b2c3d4e5f

| operation | keys | G/s | limit | figure | measured |
|---|--:|--:|---|---|---|
| insert, reserved | 50,000 | 14.1 | 17.1 G additions/s | ratio to the limit | 0.83 |
| insert, reserved, lanes | | | | not supported | |
END

# A program that says what it was asked and writes down how. Asked for lines it fails.
mkdir -p fake/bin
line growth 'insert, growing' 4096 17 170 0.1 'of insert, reserved' 0.4 0.3 0.5 0.35 '"at least"' true >line
cat >fake/bin/bulkhash <<END
#!/usr/bin/env bash
if [[ \$1 == devices ]]; then
    cat "$PWD/devices"
    exit 0
fi
echo "\$*\${GLIBC_TUNABLES:+ \$GLIBC_TUNABLES}" >>"$PWD/asked"
[[ \$* != *lines* ]] || exit 1
sed "s/growth/\$4/" "$PWD/line"
END
chmod +x fake/bin/bulkhash
echo 'cuda   not available: no GPU' >devices
results=$scripts/results.sh

unset GLIBC_TUNABLES
expect_success "$results" --quick --to measured --only operations --only peers-8-8 --only growth fake
expect_file 'what the program was asked' asked <<'END'
bench --json -e operations -w 4,4 --quick -r 2
bench --json -e operations -w 4,8 --quick -r 2
bench --json -e operations -w 8,4 --quick -r 2
bench --json -e operations -w 8,8 --quick -r 2
bench --json -e growth -r 9 --quick -r 2
bench --json -e peers -w 8,8 -r 3 --quick -r 2 glibc.malloc.hugetlb=1
END
ls measured >files
expect_file 'the files' files <<'END'
README.md
growth.jsonl
machine.txt
operations-4-4.jsonl
operations-4-8.jsonl
operations-8-4.jsonl
operations-8-8.jsonl
peers-8-8.jsonl
END
grep -q '^CPU  ' measured/machine.txt || failed "no CPU in machine.txt: $(cat measured/machine.txt)"
grep -q '^| insert, growing |.*0.35, met |$' measured/README.md || failed "no table: $(cat measured/README.md)"

# One experiment again: its line alone changes places. One that fails leaves no file.
expect_success "$results" --to measured --only growth fake
(($(grep -c '^growth  .* commit .* bench -e growth -r 9$' measured/machine.txt) == 1)) ||
    failed "not one line of growth: $(cat measured/machine.txt)"
(($(sed '1,/^$/d' measured/machine.txt | wc -l) == 6)) || failed "lines: $(cat measured/machine.txt)"
expect_sentence 1 'left out: lines$' "$results" --to measured --only lines fake
[[ ! -e measured/lines.jsonl && ! -e measured/part ]] || failed "files of what failed: $(ls measured)"

# The operations at several fills are one file.
expect_success "$results" --quick --to measured --only fills fake
(($(wc -l <measured/fills.jsonl) == 6)) || failed "not a row for each fill: $(cat measured/fills.jsonl)"
tail -n 1 asked >last
expect_file 'the last fill' last <<<'bench --json -e operations -f 0.95 --quick -r 2'
grep -q '^fills  .* bench -e operations -f 0.5,0.6,0.7,0.8,0.9,0.95 --quick -r 2$' measured/machine.txt ||
    failed "what is noted of fills: $(cat measured/machine.txt)"

# Without a GPU its files are left out, and what is there of them stays.
expect_success "$results" --quick --to measured --only gpu-dycuckoo fake
grep -q 'no GPU here: gpu-dycuckoo' "$err" || failed "nothing about the GPU: $(cat "$err")"
[[ ! -e measured/gpu-dycuckoo.jsonl ]] || failed 'a file of a GPU that is not there'

sed -i 's/^CPU .*/CPU        Abacus/' measured/machine.txt
expect_sentence 1 'another machine' "$results" --to measured --only growth fake
# A GPU's file may come from another machine. It outlives a whole run where there is no GPU.
echo 'cuda   target cuda' >devices
expect_success "$results" --quick --to measured --only gpu-dycuckoo fake
tail -n 1 asked >last
expect_file 'the GPU' last <<<'bench --json --device cuda --design dycuckoo --quick -r 2'
echo 'cuda   not available: no GPU' >devices
# (A whole run counts k-mers of a genome that it fetches, if there are programs to compare with.)
mkdir tools
IFS=: read -ra folders <<<"$PATH"
for folder in "${folders[@]}"; do
    ln -s "$folder"/* tools/ 2>/dev/null # the first of a name stays
done
rm -f tools/jellyfish tools/kmc
expect_sentence 1 'left out: lines$' env PATH="$PWD/tools" "$results" --quick --to measured fake
[[ -s measured/gpu-dycuckoo.jsonl ]] || failed "the GPU's file is gone: $(ls measured)"
grep -q '^gpu-dycuckoo  .* bench --device cuda --design dycuckoo --quick -r 2$' measured/machine.txt ||
    failed "what is noted of the GPU: $(cat measured/machine.txt)"

expect_sentence 2 '--quick.*--to' "$results" --quick fake
expect_sentence 2 "'fast' is none" "$results" --only fast fake
expect_sentence 2 'no program' "$results" nowhere
expect_sentence 2 'BUILD_DIRECTORY is missing' "$results"
finish
