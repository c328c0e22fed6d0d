#!/usr/bin/env bash
# A disk that fills up, a file size limit, a signal: no half-written file, nothing left behind, an
# existing file as it was.
. "$(dirname "$0")/common.bash"
tab=$'\t'

{ printf '>a\n'; random_letters 300000 5; echo; } >in.fa
echo precious >kept.tsv

expect_error 1 '/dev/full: cannot be written: No space left on device' \
    "$BULKHASH" count -k 20 in.fa --output /dev/full
[[ -c /dev/full ]] || failed '/dev/full was replaced'

limited() { (ulimit -f 100 && "$BULKHASH" count -k 20 in.fa --output kept.tsv); }
expect_error 1 'kept\.tsv: cannot be written: File too large' limited

# A small disk of our own, where that is allowed.
mkdir disk
if mount -t tmpfs -o size=1m bulkhash-test disk 2>/dev/null; then
    echo precious >disk/kept.tsv
    for flags in '' --sort; do
        # shellcheck disable=SC2086 # a list of words
        expect_error 1 'disk/kept\.tsv: cannot be written: No space left on device; make room' \
            "$BULKHASH" count -k 20 $flags in.fa --output disk/kept.tsv
    done
    expect_error 1 'disk/new\.npy: cannot be written: No space left' \
        "$BULKHASH" count -k 20 in.fa --output disk/new.npy
    umount disk
else
    echo 'no tmpfs may be mounted here: the full disk was not tried' >&2
fi

# Signals, while it waits for a pipe and so has made its temporary file.
mkfifo endless
for signal in HUP INT TERM QUIT; do
    exec 3<>endless
    printf '>a\nACGT' >&3
    # A command in the background ignores INT and QUIT; env gives them back their effect.
    env --default-signal=INT,QUIT "$BULKHASH" count -k 3 endless --output kept.tsv 2>"$err" &
    child=$!
    for ((i = 0; i < 200; i++)); do
        compgen -G '.bulkhash-*' >/dev/null && break
        sleep 0.05
    done
    compgen -G '.bulkhash-*' >/dev/null || failed "SIG$signal: no temporary file appeared"
    kill -s "$signal" "$child"
    status=0
    { wait "$child"; } 2>/dev/null || status=$? # the shell would tell of the signal too
    ((status == 128 + $(kill -l "$signal"))) || failed "SIG$signal: exit status $status"
    if compgen -G '.bulkhash-*' >/dev/null; then
        failed "SIG$signal: temporary file left: $(ls -A)"
        rm -f .bulkhash-* # or the next round would take it for its own
    fi
    exec 3>&-
done
[[ $(cat kept.tsv) == precious ]] || failed 'a signal changed the output'

# A reader of the results who goes away.
"$BULKHASH" count -k 20 in.fa --output /dev/stdout 2>"$err" | head -n 1 >"$out"
grep -Eq "^[ACGT]{20}${tab}[0-9]+$" "$out" || failed "to head: $(cat "$out")"

# Standard output that cannot take the text.
for arguments in --help --version 'count --help' devices; do
    # shellcheck disable=SC2086 # a list of words
    "$BULKHASH" $arguments >/dev/full 2>"$err"
    status=$?
    { ((status == 1)) && grep -q '^bulkhash: standard output: ' "$err"; } ||
        failed "$arguments to a full disk: exit status $status, $(cat "$err")"
done

# Closed standard descriptors, whose numbers the files that are opened get: nothing that is said
# may end up in the output.
"$BULKHASH" count -k 8 in.fa --output closed.tsv <&- >&- 2>&- || failed 'closed descriptors: it fails'
"$BULKHASH" count -k 8 in.fa --output closed.tsv <&- 2>&- || failed 'closed descriptors: it fails'
if grep -Eqv "^[ACGT]{8}${tab}[0-9]+$" closed.tsv; then
    failed "closed descriptors: other text in the output: $(grep -Ev "^[ACGT]{8}$tab" closed.tsv)"
fi
finish
