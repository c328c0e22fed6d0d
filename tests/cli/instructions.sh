#!/usr/bin/env bash
# `bench --experiment instructions`: that every operation is counted on each target; what it says where
# there is no valgrind. Never how many instructions there are.
. "$(dirname "$0")/common.bash"

bench=$(dirname "$BULKHASH")/bulkhash-bench
[[ -x $bench ]] || exit 77

# Without valgrind: one sentence, and the other experiments go on.
mkdir empty temporary
expect_success env PATH="$PWD/empty" "$BULKHASH" bench -n 2000 -r 1 -e instructions -e primitives
[[ $(wc -l <"$err") -eq 1 ]] || failed "without valgrind: not one sentence: $(cat "$err")"
grep -q '^gather' "$out" || failed "without valgrind: the other experiment is missing: $(cat "$out")"

if grep -qaE '__(asan|tsan)_init' "$bench"; then
    echo 'a sanitizer does not run under valgrind: nothing was counted' >&2
    [[ -s $failures ]] || exit 77
    finish
fi
# A valgrind that fails: one sentence, and nothing stays in the temporary folder.
mkdir broken
printf '#!/bin/sh\nexit 3\n' >broken/valgrind
chmod +x broken/valgrind
status=0
TMPDIR=$PWD/temporary PATH=$PWD/broken:$PATH "$BULKHASH" bench -n 2000 -e instructions >"$out" 2>"$err" || status=$?
{ ((status == 1)) && grep -q 'valgrind failed' "$err"; } || failed "a broken valgrind: exit status $status, $(cat "$err")"
[[ -z $(ls temporary) ]] || failed "a broken valgrind: files stay: $(ls temporary)"

if ! command -v valgrind >/dev/null; then
    echo 'no valgrind: nothing was counted' >&2
    [[ -s $failures ]] || exit 77
    finish
fi
targets=scalar
! grep -qw avx2 /proc/cpuinfo || targets='avx2 scalar'

expect_counts() { # expect_counts SIZE ARGUMENT...: a positive count of each operation; SIZE ends their names
    local size=$1 target name
    shift
    TMPDIR=$PWD/temporary expect_success "$BULKHASH" bench -e instructions --json "$@"
    for target in $targets; do
        for name in insert find miss assign reduce 'find one' 'assign one' erase; do
            grep -F "\"name\":\"$name, $target$size\"," "$out" |
                grep -E "\"target\":\"$target\",.*\"threads\":1,.*\"figure\":\"instructions per key\",\"value\":[1-9]" |
                grep -Fq "\"key_bytes\":$widths," || failed "bench $*: no count of $name, $target$size: $(cat "$out")"
        done
    done
    [[ -z $(ls temporary) ]] || failed "bench $*: files stay: $(ls temporary)"
}
widths=4,\"value_bytes\":4
expect_counts '' -n 2000
(($(wc -l <"$out") == 8 * $(wc -w <<<"$targets"))) || failed "other rows: $(cat "$out")"
[[ $targets == scalar ]] || (($(grep -c '"bar_is":"at most"' "$out") == 5)) || failed "not five bars: $(cat "$out")"
# No bar for these widths. The forced target is forgotten: the next experiment has the one that is asked for.
widths=4,\"value_bytes\":8
BULKHASH_TARGET=scalar expect_counts '' -n 2000 -w 4,8 -e primitives
! grep '"experiment":"instructions"' "$out" | grep -v '"bar":null' || failed "bars: $(cat "$out")"
! grep '"experiment":"primitives"' "$out" | grep -v '"target":"scalar"' || failed "targets: $(cat "$out")"
# Another design; and more pairs than a cache holds, beside those of a cache.
expect_success "$BULKHASH" bench -e instructions -n 2000 -f 0.5 --design dachash --json
(($(grep -c '"design":"dachash",.*"bar":null' "$out") == $(wc -l <"$out"))) || failed "dachash: $(cat "$out")"
widths=8,\"value_bytes\":8
expect_counts ', cached' -n 65537 -w 8,8
finish
