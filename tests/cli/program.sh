#!/usr/bin/env bash
# The program around its main job: help, version, devices, bench, and the progress line.
. "$(dirname "$0")/common.bash"

# expect_help WORDS COMMAND...: the help of --help and -h, which tells of all WORDS.
expect_help() {
    local words=$1 word
    shift
    expect_success "$@" --help
    for word in $words; do
        grep -q -- "$word" "$out" || failed "$* --help does not tell of $word"
    done
    awk 'length($0) > 100 { exit 1 }' "$out" || failed "$* --help has a line of more than 100 letters"
    [[ ! -s $err ]] || failed "$* --help prints to standard error: $(cat "$err")"
    cp "$out" help.txt
    expect_success "$@" -h
    expect_file "$* -h" "$out" <help.txt
}
expect_help 'count devices bench --version BULKHASH_TARGET --kmers COMMAND' "$BULKHASH"
expect_help '--kmers --canonical --text --output --sort --min-count --histogram --threads --device .npy FASTA' "$BULKHASH" count
expect_help 'usage available' "$BULKHASH" devices

expect_success "$BULKHASH" --version
grep -Eqx 'bulkhash [0-9]+\.[0-9]+\.[0-9]+' "$out" || failed "--version: $(cat "$out")"

expect_success "$BULKHASH" devices
[[ $(wc -l <"$out") -eq 2 ]] || failed "devices: not two lines: $(cat "$out")"
grep -Eq '^cpu +target [a-z0-9]+, [0-9]+ threads?, .*pages' "$out" || failed "devices, cpu: $(cat "$out")"
grep -Eq '^cuda +(target |not available: ..)' "$out" || failed "devices, cuda: $(cat "$out")"
for target in scalar avx2 avx512; do
    BULKHASH_TARGET=$target "$BULKHASH" devices >"$out" 2>"$err"
    grep -Eq "^cpu +(target $target,|not available: )" "$out" || failed "devices, $target: $(cat "$out")"
done
BULKHASH_TARGET=scalar "$BULKHASH" devices 2>"$err" | grep -q 'target scalar' ||
    failed 'the scalar target is not there'
status=0
BULKHASH_TARGET=nonsense "$BULKHASH" devices >"$out" 2>"$err" || status=$?
{ ((status == 1)) && grep -q '^cpu  *not available: .*BULKHASH_TARGET' "$out"; } ||
    failed "devices without a CPU: exit status $status, $(cat "$out" "$err")"

# bench starts its neighbour: in a folder of our own, first with none, then with one that prints how
# it was called.
mkdir bin
cp "$BULKHASH" bin/bulkhash
libraries=$(ldd "$BULKHASH" | awk '$1 ~ /^libbulkhash/ { print $3 }' | head -n 1)
LD_LIBRARY_PATH=$(dirname "${libraries:-/}")
export LD_LIBRARY_PATH
expect_error 1 'bin/bulkhash-bench: is not there; .*install' ./bin/bulkhash bench --quick
expect_help 'usage bulkhash-bench install' ./bin/bulkhash bench
# shellcheck disable=SC2016 # $* is for the script that is written
printf '#!/bin/sh\necho "bench called with $*"\nexit 7\n' >bin/bulkhash-bench
chmod +x bin/bulkhash-bench
status=0
(cd / && "$OLDPWD"/bin/bulkhash bench --keys '1 2' -x >"$out" 2>"$err") || status=$?
{ ((status == 7)) && grep -qx 'bench called with --keys 1 2 -x' "$out"; } ||
    failed "bench: exit status $status, $(cat "$out" "$err")"
status=0
./bin/bulkhash bench --help >"$out" 2>"$err" || status=$?
{ ((status == 7)) && grep -qx 'bench called with --help' "$out"; } ||
    failed "bench --help is not that of bulkhash-bench: exit status $status, $(cat "$out" "$err")"
chmod -x bin/bulkhash-bench
if ((EUID != 0)) || ! ./bin/bulkhash bench >"$out" 2>&1; then
    expect_error 1 'bin/bulkhash-bench: cannot be started: Permission denied' ./bin/bulkhash bench
fi
unset LD_LIBRARY_PATH

# The progress line: on a terminal, which `script` provides, and nowhere else. The input comes
# slowly, so that there is progress to show.
slow() { # prints 12 x 300,000 letters in more than a second
    printf '>a\n'
    random_letters 300000 9 >block
    for _ in {1..12}; do cat block; sleep 0.1; done
    echo
}
mkfifo pipe
slow >pipe &
expect_success "$BULKHASH" count -k 12 pipe
wait
grep -q $'[\r\033]' "$err" && failed "progress without a terminal: $(od -c "$err" | head)"
if script -qec true typescript >/dev/null 2>&1 </dev/null; then
    slow >pipe &
    TERM=xterm script -qec "'$BULKHASH' count -k 12 pipe" typescript >/dev/null </dev/null
    wait
    grep -Eqa $'\r[0-9]+ MB, [0-9.]+ M k-mers/s, [0-9]+ distinct\033\\[K' typescript ||
        failed "no progress on a terminal: $(od -c typescript | head -n 20)"
    grep -Eqa $'\r\033\\[K[0-9]+ distinct of [0-9]+ 12-mers' typescript ||
        failed "the progress line is not cleared: $(od -c typescript | tail -n 20)"
    slow >pipe &
    TERM=dumb script -qec "'$BULKHASH' count -k 12 pipe" typescript >/dev/null </dev/null
    wait
    grep -qa $'\033' typescript && failed 'control sequences on a dumb terminal'

    # From a file, whose size is known, the part done is shown.
    # Large enough to take some seconds; a program built with ThreadSanitizer needs much less for that.
    blocks=250
    ! grep -qa __tsan_init "$BULKHASH" || blocks=15
    for ((i = 0; i < blocks; i++)); do cat block; done | fold -w 80 | sed '1s/^/>a\n/' >in.fa
    TERM=xterm BULKHASH_TARGET=scalar script -qec "'$BULKHASH' count -k 12 -t 1 in.fa" typescript \
        >/dev/null </dev/null
    grep -Eqa $'\r *[0-9]+%, [0-9.]+ M k-mers/s' typescript ||
        failed "no percentage: $(od -c typescript | head -n 20)"
    last=$(tr '\r' '\n' <typescript | grep -Eoa '^ *[0-9]+%' | tail -n 1 | tr -d ' %')
    ((${last:-0} >= 20 && ${last:-0} <= 100)) || failed "the last percentage is ${last:-missing}"
else
    echo 'script(1) gives no terminal here: the progress line was not tried' >&2
fi
finish
