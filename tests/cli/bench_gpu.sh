#!/usr/bin/env bash
# The benchmark on a GPU: what it says where there is none, and on the one that is made of host
# memory, that every experiment runs and says what it should.
. "$(dirname "$0")/common.bash"

bench=$(dirname "$BULKHASH")/bulkhash-bench
[[ -x $bench ]] || exit 77

expect_one_sentence() { # expect_one_sentence STATUS PATTERN ARGUMENT...
    local wanted=$1 pattern=$2 status=0
    shift 2
    "$BULKHASH" bench "$@" >"$out" 2>"$err" || status=$?
    ((status == wanted)) || failed "bench $*: exit status $status: $(cat "$err")"
    [[ ! -s $out ]] || failed "bench $*: prints to standard output: $(head -n 3 "$out")"
    [[ $(wc -l <"$err") -eq 1 ]] || failed "bench $*: not one line: $(cat "$err")"
    grep -Eq -- "$pattern" "$err" || failed "bench $*: no '$pattern' in: $(cat "$err")"
}

expect_success "$BULKHASH" bench --help
for word in --device --design 'Experiments with --device cuda' limits host BULKHASH_CUCO; do
    grep -q -- "$word" "$out" || failed "bench --help does not tell of $word"
done
for device in '' gpu cuda: cuda:x cuda:12345 cudax; do
    expect_one_sentence 2 "--device: \"$device\".*--help" --device "$device"
done
expect_one_sentence 2 '--design: "fast" is none.*--help' --device cuda --design fast
expect_one_sentence 2 '--design is for --device cuda and for the experiment instructions' --design dycuckoo
expect_one_sentence 2 'turnover is not for --device cuda' --device cuda -e turnover
expect_one_sentence 2 'host is not for --device cpu' -e host

# The machine may well have a GPU; this module it has not.
BULKHASH_CUDA_MODULE=./no-such-module.so expect_one_sentence 1 \
    '^bulkhash-bench: (this build has no benchmark for GPUs|the module for GPUs is not there)' \
    --device cuda --quick
# Where there is no GPU either, the reason is another one.
if "$BULKHASH" devices 2>"$err" | grep -q '^cuda .*not available'; then
    expect_one_sentence 1 '^bulkhash-bench: .*(no benchmark for GPUs|no GPU|module for GPUs)' \
        --device cuda:1 --quick
fi

# $BULKHASH_BENCH_FAKE is the benchmark on a GPU that is host memory.
[[ -x ${BULKHASH_BENCH_FAKE:-} ]] || finish
BULKHASH=$BULKHASH_BENCH_FAKE
export BULKHASH_CUDA_MODULE=$BULKHASH_FAKE_MODULE
few=(--device cuda -n 6000 -r 2 -t 2)
expect_success "$BULKHASH" "${few[@]}"
while read -r pattern; do
    grep -Eq "^$pattern" "$out" || failed "bench --device cuda: no line '$pattern': $(cat "$out")"
done <<'END'
dycuckoo, pairs u32->u32 in .* limits: 64-byte reads
random 64-byte reads .*G/s
random 32-byte reads .*G/s
random additions .*G/s
zero-copy 32-byte reads .*G/s
zero-copy 8-byte writes .*G/s
zero-copy 16-byte writes .*G/s
copy on the device .*GB/s
copy in and out .*GB/s
insert, reserved .*G/s .*limit .*G additions/s .*ratio
find, all present .*G/s .*limit .*G 64-byte reads/s .*ratio
find, all absent .*G 64-byte reads/s .*ratio
find, half present .*G 64-byte reads/s .*ratio
insert_new, all there .*G additions/s .*ratio
find_or_insert, all there .*G additions/s .*ratio
insert, all there .*G additions/s .*ratio
reduce, all there .*G additions/s .*ratio
reduce, Zipf 0.99 .*G additions/s .*ratio
erase, all there .*G additions/s .*ratio
apply, 50/25/25 .*G additions/s .*ratio
export .*of copying the pairs
clear .*of copying the table
insert, Zipf 0.99 .*G additions/s .*ratio
insert, all equal .*milliseconds a call
insert, ordered .*G additions/s .*of insert, reserved
insert, ordered, Zipf 0.99 .*G additions/s .*of insert, reserved
find, one key .*microseconds a call
insert, one key there .*microseconds a call
insert, growing, one call .*of insert, reserved
insert, growing, calls of 2\^20 .*reserved
find, grown .*of find, reserved
miss, grown .*of miss, reserved
growing in one call .*keys moved per key
find, pinned .*G keys copied/s .*ratio
find, pinned, half .*G keys copied/s .*ratio
find, pageable .*ratio
find, pageable, half .*ratio
insert, pinned .*ratio
8\+8 to 0.97, first call .*times the time of placing all
4\+4 to 0.85, longest hold .*ms
END

expect_success "$BULKHASH" "${few[@]}" -w 8,4 -e operations -e growth -e host -e limits --json
fields='"device":"cuda","machine":"no GPU","commit":"[^"]+",.*"clock":"(events|wall)",.*"limit_is":"'
grep -Evq "^{\"experiment\":\"(operations|growth|host|limits)\",.*$fields.*\"met\":null}$" "$out" &&
    failed "bench --device cuda --json: $(cat "$out")"
grep -Eq 'nan|inf' "$out" && failed "bench --device cuda --json: no number: $(cat "$out")"
for experiment in operations growth host limits; do
    (($(grep -c "^{\"experiment\":\"$experiment\"" "$out") >= 5)) ||
        failed "bench --device cuda --json: too little of $experiment: $(cat "$out")"
done

# The experiments of the Stadium hashing paper. The fake GPU has no schedules to compare.
stadium=$(printf -- '-e stadium-%s ' fig13 fig14 fig15 fig16 fig17 fig18 fig19 table1)
# shellcheck disable=SC2086
expect_success "$BULKHASH" "${few[@]}" $stadium
while read -r pattern; do
    grep -Eq "^$pattern" "$out" || failed "bench --device cuda, stadium: no line '$pattern': $(cat "$out")"
done <<'END'
8-bit tickets, lanes +not supported
\(a\) all present, 6000 pairs, cuckoo .*G/s
\(b\) half present, 375 pairs, 8 bits, by bucket .*times cuckoo
on average, insert and find, 8 bits .*concurrency efficiency .*the paper: 0.97
on average, \(a\) all present, .*times cuckoo .*the paper: 1.75
on average, \(a\) insert, 8 bits .*bar 2.00 .*the paper: 2.00
on average, \(b\) find, 2 bits .*bar 1.14 .*the paper: 1.14
on average, \(c\) find, half present, 8 bits .*bar 3.99 .*the paper: 3.99
\(a\) find, slots in the host's memory, 8 bits .*times board not consulted
\(b\) insert, 8 bits, a thread each +not supported
\(d\) erase, 8\+4 bytes, 2 bits .*times 1 bit
fill 0.8, Stash .*% of lanes busy .*the paper: 49.5
END
# shellcheck disable=SC2086
expect_success "$BULKHASH" "${few[@]}" -n 1 $stadium --json
grep -Evq '^{"experiment":"stadium-(fig1[3-9]|table1)",.*"met":(true|false|null)}$' "$out" &&
    failed "bench --device cuda, stadium --json: $(cat "$out")"
grep -Eq 'nan|inf' "$out" && failed "bench --device cuda, stadium --json: no number: $(cat "$out")"

# Which of the tables have their slots where, the experiment checks.
expect_success "$BULKHASH" "${few[@]}" -e stadium
while read -r pattern; do
    grep -Eq "^$pattern" "$out" || failed "bench -e stadium: no line '$pattern': $(cat "$out")"
done <<'END'
stadium, pairs u32->u32 in .* limits: 64-byte reads
insert, reserved .*G additions/s .*times DyCuckoo's rate .*bar 0.70
find, all present .*G 32-byte reads/s .*ratio .*bar 0.45
find, all absent .*G 32-byte reads/s .*ratio .*bar 1.60
insert and find .*concurrency efficiency .*bar 0.95
.* MB of the host's memory, over the bus; limits: 32-byte reads
insert, slots on host .*G zero-copy 8-byte writes/s .*ratio .*bar 0.40
find, slots on host .*G zero-copy 32-byte reads/s .*ratio .*bar 0.70
miss, slots on host .*of the mixed limit .*bar 0
insert, 4 x the budget .*bar 0.40
find, 4 x the budget .*bar 0.70
miss, 4 x the budget .*of the mixed limit .*bar 0
END
expect_success "$BULKHASH" "${few[@]}" -e stadium -n 70 -w 8,8 --json
(($(grep -c '"experiment":"stadium",.*"design":"stadium",.*"key_bytes":8,.*"bar_is":"at least"' "$out") == 10)) ||
    failed "bench -e stadium -w 8,8 --json: $(cat "$out")"
grep -Eq 'nan|inf' "$out" && failed "bench -e stadium --json: no number: $(cat "$out")"
grep -q 'zero-copy 16-byte writes' "$out" ||
    failed "bench -e stadium -w 8,8: not slots of 16 bytes: $(cat "$out")"

# A design that this GPU does not have says so in every line and goes on.
expect_success "$BULKHASH" "${few[@]}" --design workingset
(($(grep -c 'not supported$' "$out") >= 25)) ||
    failed "bench --design workingset: $(cat "$out")"
expect_success "$BULKHASH" "${few[@]}" --design workingset --json
fields='"design":"workingset",.*"mops":null,.*"figure":"not supported","value":null'
grep '"experiment":"host"' "$out" | grep -v "$fields" &&
    failed "bench --design workingset --json: $(cat "$out")"

# Without peers: how to have them, in one sentence, which is between no objects.
expect_success "$BULKHASH" "${few[@]}" -e peers
[[ $(cat "$out") == *'-DBULKHASH_CUCO='* && $(wc -l <"$out") -eq 1 ]] ||
    failed "bench -e peers: not how to have them: $(cat "$out")"
expect_success "$BULKHASH" "${few[@]}" -e peers --json
[[ ! -s $out && $(cat "$err") == *'-DBULKHASH_CUCO='* ]] ||
    failed "bench -e peers --json: not how to have them, beside the output: $(cat "$out" "$err")"

# With one. Both widths and all fills, if not told otherwise.
BULKHASH=$BULKHASH_BENCH_FAKE_PEER
expect_success "$BULKHASH" "${few[@]}" -e peers
rate='[0-9.]+ G/s   fake, (one|other) +[0-9.]+ G/s   times fake [0-9.]+ '
for fill in 0.50 0.84 0.90; do
    for operation in insert 'find, present' 'find, absent' 'add, present' 'assign, present' 'erase half'; do
        [[ $(grep -Ec "^$operation, $fill full +$rate" "$out") -eq 2 ]] ||
            failed "bench -e peers: not twice '$operation, $fill full': $(cat "$out")"
    done
done
rate='[0-9.]+ G/s [0-9.]+ us a call   fake, (one|other) +[0-9.]+ G/s [0-9.]+ us a call   times fake [0-9.]+ '
for operation in find assign 'insert new' erase; do
    [[ $(grep -Ec "^$operation, calls of 6000 +$rate" "$out") -eq 2 ]] ||
        failed "bench -e peers: not twice '$operation, calls of 6000': $(cat "$out")"
done
for heading in 'u32->u32' 'u64->u64'; do
    grep -Eq "^dycuckoo, 6000 pairs $heading .*beside commit 0123456789ab of fake" "$out" ||
        failed "bench -e peers: no heading of $heading: $(cat "$out")"
done

# One of them.
expect_success "$BULKHASH" "${few[@]}" -e peers -w 8,8 -f 0.7 --json
fields='"key_bytes":8,.*"clock":"wall","mops":[0-9].*"figure":"times fake","value":[0-9].*"peer":"fake, one","peer_commit":"0123456789ab","peer_fill":0\.[0-9]+,"peer_mops":[0-9]'
grep -Evq "^{\"experiment\":\"peers\",.*$fields.*\"met\":null}$" "$out" &&
    failed "bench -e peers --json: $(cat "$out")"
[[ $(grep -c '0.70 full' "$out") -eq 6 && $(grep -Ec '"call_us":[0-9.]+,"peer_call_us":[0-9]' "$out") -eq 4 ]] ||
    failed "bench -e peers --json: not 6 and 4 lines: $(cat "$out")"
grep -Eq 'nan|inf' "$out" && failed "bench -e peers --json: no number: $(cat "$out")"

# What there is no memory for, what is not compared, and what our design cannot do.
expect_success "$BULKHASH" "${few[@]}" -e peers -n 100000 -f 0.5 --json
[[ ! -s $out && $(grep -c '100000 pairs .* left out' "$err") -eq 4 ]] ||
    failed "bench -e peers of 100000: $(cat "$out" "$err")"
expect_success "$BULKHASH" "${few[@]}" -e peers -w 4,8
[[ $(cat "$out") == *'--widths 4,4 and 8,8 alone' ]] || failed "bench -e peers -w 4,8: $(cat "$out")"
expect_success "$BULKHASH" "${few[@]}" -e peers -w 4,4 -f 0.5 --design workingset
[[ $(grep -c 'not supported   fake, ' "$out") -eq 10 ]] ||
    failed "bench -e peers --design workingset: $(cat "$out")"
finish
