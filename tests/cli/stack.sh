#!/usr/bin/env bash
# Small stacks (`ulimit -s`): the program does its job, and where it cannot have the threads for that
# it says so and leaves no file.
. "$(dirname "$0")/common.bash"

# A program built with sanitizers needs terabytes of address space, and has larger frames.
(ulimit -v 400000 && exec "$BULKHASH" --version) >"$out" 2>&1 || exit 77

limited() { # limited KIB COMMAND...: with a stack of so much
    (ulimit -s "$1" && shift && exec "$@")
}

{ printf '>a\n'; random_letters 400000 12; echo; } >in.fa
gzip -k in.fa
expect_success "$BULKHASH" count -k 31 -s in.fa -o wanted.tsv
expect_success "$BULKHASH" count -k 31 -s in.fa -o wanted.npy

for kib in 64 128 512 unlimited; do
    limited $kib true 2>"$err" || continue # as the limit cannot be raised here
    for threads in 1 2 8; do
        for input in in.fa in.fa.gz; do
            expect_success limited $kib "$BULKHASH" count -k 31 -s -t $threads $input -o found.tsv
            expect_file "$kib KiB, $threads threads, $input" found.tsv <wanted.tsv
        done
        expect_success limited $kib "$BULKHASH" count -k 31 -s -t $threads in.fa -o found.npy
        cmp -s wanted.npy found.npy || failed "$kib KiB, $threads threads: another array"
    done
    expect_success limited $kib "$BULKHASH" --version
    expect_success limited $kib "$BULKHASH" devices
    expect_error 2 'no such command' limited $kib "$BULKHASH" no-such-command
    expect_error 1 'No such file' limited $kib "$BULKHASH" count -k 31 none.fa -o found.tsv
done

# With a small stack and so little address space that the system refuses a thread.
for ((kib = 3000; kib <= 30000; kib += 100)); do
    (ulimit -v $kib && exec "$BULKHASH" --version) >"$out" 2>&1 || continue
    ended=0
    (ulimit -v $kib && limited 64 "$BULKHASH" --version) >"$out" 2>"$err" || ended=$?
    ((ended == 0)) && break
    [[ $(<"$err") == *'the stack is limited to 64 KiB'* ]] ||
        failed "$kib KiB of address space: status $ended, $(<"$err")"
    ((ended == 1)) || failed "$kib KiB of address space: status $ended"
done
finish
