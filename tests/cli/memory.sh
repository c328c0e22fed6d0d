#!/usr/bin/env bash
# Too little memory: with every limit the program either does its job or says in one sentence that
# it cannot, and leaves no file.
. "$(dirname "$0")/common.bash"

limited() { # limited KIB COMMAND...: with so much address space
    (ulimit -v "$1" && shift && exec "$@")
}

# A program built with sanitizers needs terabytes of address space to start.
limited 400000 "$BULKHASH" --version >"$out" 2>&1 || exit 77

{ printf '>a\n'; random_letters 400000 11; echo; } >in.fa
expect_success "$BULKHASH" count -k 31 -s in.fa -o wanted.tsv
echo precious >kept.tsv

failed_runs=0
for ((kib = 10000; kib <= 150000; kib += kib / 4)); do
    limited $kib "$BULKHASH" --version >"$out" 2>&1 || continue
    for flags in '-t 1' '-t 2 --sort'; do
        # shellcheck disable=SC2086 # a list of words
        if limited $kib "$BULKHASH" count -k 31 $flags in.fa -o found.tsv >"$out" 2>&1; then
            sort found.tsv | expect_file "$kib KiB, $flags" wanted.tsv
            rm found.tsv
        else
            failed_runs=$((failed_runs + 1))
            # shellcheck disable=SC2086 # a list of words
            expect_error 1 'memory' limited $kib "$BULKHASH" count -k 31 $flags in.fa -o kept.tsv
        fi
    done
done
((failed_runs > 0)) || failed 'no limit was too small'
[[ ! -e found.tsv ]] || failed 'a failed run left found.tsv'
finish
