#!/usr/bin/env bash
# The benchmark: its options, and that every experiment runs and says what it should. Never how fast.
. "$(dirname "$0")/common.bash"

bench=$(dirname "$BULKHASH")/bulkhash-bench
[[ -x $bench ]] || exit 77
lines=lines every=all
experiments='operations growth turnover peers hashfight calls threads sizes dynamic hostile full lines instructions primitives
    stadium-fig14 stadium-fig15 stadium-fig18 stadium-fig19 stadium-table1'
if [[ ! -x $bench-lines ]]; then # as in builds with a sanitizer
    lines=
    every=${experiments/ lines/}
fi

expect_success "$BULKHASH" bench --help
for word in --experiment --keys --fill --widths --threads --repetitions --quick --json $experiments; do
    grep -q -- "$word" "$out" || failed "bench --help does not tell of $word"
done
awk 'length($0) > 100 { exit 1 }' "$out" || failed 'bench --help has a line of more than 100 letters'

expect_usage() { # expect_usage PATTERN ARGUMENT...: exit status 2, one sentence
    local pattern=$1 status=0
    shift
    "$BULKHASH" bench "$@" >"$out" 2>"$err" || status=$?
    ((status == 2)) || failed "bench $*: exit status $status: $(cat "$err")"
    [[ ! -s $out ]] || failed "bench $*: prints to standard output: $(head -n 3 "$out")"
    grep -Eq -- "$pattern" "$err" || failed "bench $*: no '$pattern' in: $(cat "$err")"
}
expect_usage '--experiment: "fast" is none.*--help' -e fast
for n in 0 -1 x '' 2147483649; do
    expect_usage "--keys: \"$n\".*--help" --keys "$n"
done
for fill in 0 0.96 x ''; do
    expect_usage "--fill: \"$fill\".*--help" --fill "$fill"
done
expect_usage '--repetitions: "100"' -r 100
for widths in 4 4,5 4,4,4 16,4 x ''; do
    expect_usage "--widths: \"$widths\".*--help" --widths "$widths"
done
expect_usage 'hostile is for --widths 4,4 alone' -w 8,8 -e hostile
expect_usage 'stadium-fig14 is for --widths 4,4 alone' -w 8,8 -e stadium-fig14
expect_usage 'stadium-fig16 is not for --device cpu' -e stadium-fig16
expect_usage '"please" is no option' please
expect_usage '--help' --frobnicate

# Text: what each experiment measures, and a bar beside what is judged.
few=(-n 6000 -r 2 -t 2)
# shellcheck disable=SC2086
expect_success "$BULKHASH" bench "${few[@]}" $(printf -- '-e %s ' $every)
while read -r pattern; do
    if [[ ! $lines && $pattern =~ ^(hit|miss),.(fresh|grown|turned.over)$ ]]; then
        continue
    fi
    grep -Eq "^ *$pattern.* bar (at most )?[0-9.]+ (met|NOT MET)" "$out" ||
        failed "bench -e all: no line '$pattern' with a bar: $(cat "$out")"
done <<'END'
find, all present .*limit.* ratio
find, all absent
insert, reserved
reduce, present
erase, present
apply, 50/25/25
reduce, Zipf 0.99 .*of uniform
reduce, all equal .*of uniform
export .*of copying
clear .*of copying
memory, fill 0.85 .*bytes per pair
memory, fill 0.97 .*bytes per pair
find, all threads .*times one thread
insert, growing .*of insert, reserved
find, grown .*of find, reserved
miss, grown .*of miss, reserved
miss, grown .*limit .*ratio [0-9.() to]+
miss, turned over .*limit .*ratio [0-9.() to]+
calls of 65,536 keys .*keys moved per key
calls of 1,000 keys .*keys moved per key
calls of 1, 6000 keys .*keys moved per key
memory in use .*peak
after every call .*lowest fill
after every call .*highest fill
hostile keys .*random keys
hostile keys, fixed seed .*random keys
hostile keys, fixed seed and the next .*random keys
8\+8 to 0.97, first call .*times the time of placing all
4\+8 to 0.95, same call again .*times the time of placing all
4\+4 to 0.85, longest hold .*ms
4\+4, after one erase .*times the time of placing all
find, calls of 1, cached .*ns a call
insert, calls of 1, cached .*ns a call
hit, fresh
miss, fresh
hit, grown
miss, grown
hit, turned over
miss, turned over
partition, 512 parts .*of copying the keys
END
for line in 'find, half present' 'lines changed .*limit.* ratio' \
    '(insert|reduce|erase), beside changes .*of changing random lines' 'find_or_insert, half present' 'find, turned over .*of find, fresh' \
    'miss, turned over .*of miss, fresh' 'find, callers .*times one thread' 'find, calls of 16 ' \
    'find, calls of 1024, cached' 'erase, 6000 keys' 'sort .*of copying the pairs' \
    'gather .*limit.* ratio' 'insert, 1.03 slots .*of sorting the pairs' \
    'as chosen, 4 KiB, .*of the better' '\(a\) all present, 6000 pairs, 8 bits .*times cuckoo' \
    'on average, \(b\) half present, .*times cuckoo .*the paper: 1\.65' \
    'on average, insert and find, cuckoo .*concurrency efficiency .*the paper: 0\.61' \
    '\(b\) find, half present, 8 bits .*times board not consulted' \
    '\(b\) insert, 8 bits, lanes +not supported' '\(c\) erase, 8\+8 bytes, 4 bits .*times 1 bit' \
    'fill 0\.95, clStash .*% of lanes busy .*the paper: 86\.1'; do
    grep -Eq "^$line" "$out" || failed "bench -e all: no line '$line': $(cat "$out")"
done
# Beside each peer that is there, or a word about those that are not.
grep -Eq '^find .*times (libcuckoo|absl|boost)|^peers that were not there' "$out" ||
    failed "bench -e all: nothing about peers: $(cat "$out")"
grep -q 'table held alone .*longest pause' "$out" || failed "growth: no pause: $(cat "$out")"
grep -Eq '^    (0\.[0-9]{2} ?){16}$' "$out" || failed "dynamic: no fill over time: $(cat "$out")"

# Other widths.
expect_success "$BULKHASH" bench "${few[@]}" -w 8,8 -e operations -e growth -e turnover --json
(($(grep -c '"key_bytes":8,"value_bytes":8,' "$out") >= 18)) ||
    failed "bench --widths 8,8: $(cat "$out")"

# What does not depend on the machine.
for met in 'keys moved per key' 'peak, of the grown table'; do
    "$BULKHASH" bench -n 100000 -r 1 -e growth | grep "$met" | grep -q 'NOT MET' &&
        failed "growth: $met is above its bar"
done

# --json: an object a line, the same fields in each, numbers or null.
fields='experiment name design device machine commit target op keys key_bytes value_bytes fill hit_rate skew batch
    threads state page_bytes mops limit_mlines ratio_to_limit bytes_per_key figure value lowest highest
    bar bar_is met'
expect_success "$BULKHASH" bench "${few[@]}" ${lines:+-e lines} -e operations -e growth -e turnover -e dynamic \
    -e threads -e calls -e primitives -e hashfight --json
awk -v fields="$fields" '
    BEGIN { count = split(fields, field) }
    {
        bad = $0 !~ /^{"experiment":"(operations|growth|turnover|dynamic|lines|threads|calls|primitives|hashfight)",/ || /nan|inf/ ||
            $0 !~ /"state":"(fresh|grown|turned over)"/ || $0 !~ /"met":(true|false|null)}$/
        rest = $0
        for (i = 1; i <= count; i++) {
            at = index(rest, "\"" field[i] "\":")
            if (!at) bad = 1
            rest = substr(rest, at + 1)
        }
        if (bad) { print "bad: " $0; exit 1 }
    }' "$out" >problem || failed "bench --json: $(cat problem)"
for experiment in operations growth dynamic $lines threads calls primitives; do
    (($(grep -c "^{\"experiment\":\"$experiment\"" "$out") >= 5)) ||
        failed "bench --json: too little of $experiment: $(cat "$out")"
done

# All of one machine and one commit. (A tree without git, or of someone else, does not know its own.)
model=$(awk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo)
(($(grep -Fc "\"device\":\"cpu\",\"machine\":\"${model:-unknown}\",\"commit\":\"" "$out") == $(wc -l <"$out"))) ||
    failed "bench --json: not all on machine '${model:-unknown}': $(cat "$out")"
grep -Evq '"commit":"(unknown|[^"]*[0-9a-f]{7,40}(-dirty)?)",' "$out" &&
    failed "bench --json: no commit: $(cat "$out")"
(($(grep -o '"commit":"[^"]*"' "$out" | sort -u | wc -l) == 1)) ||
    failed "bench --json: more than one commit: $(cat "$out")"

(($(grep -c '^{"experiment":"turnover",.*"state":"turned over"' "$out") == 3)) ||
    failed "bench --json: not all of turnover: $(cat "$out")"

# The program that counts lines is missing.
mkdir bin
cp "$bench" bin/
status=0
bin/bulkhash-bench "${few[@]}" -e lines >"$out" 2>"$err" || status=$?
{ ((status == 1)) && grep -q 'bulkhash-bench-lines cannot be started.*install' "$err"; } ||
    failed "bench -e lines without its program: exit status $status, $(cat "$out" "$err")"
finish
