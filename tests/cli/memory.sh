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
# Integers that would be sorted, and for which a table takes less memory.
awk 'BEGIN { srand(8); for (i = 0; i < 800000; i++) print int(rand() * 60000) }' >in.txt
sort in.txt | uniq -c | awk -v OFS='\t' '{ print $2, $1 }' | sort >wanted-text.tsv
# What a failed run has said, for expect_error: where memory just about suffices, a second run might
# not fail.
said_again() {
    printf '%s' "$said"
    printf '%s\n' "$complained" >&2
    return "$ended"
}

failed_runs=0
for ((kib = 10000; kib <= 150000; kib += kib / 4)); do
    limited $kib "$BULKHASH" --version >"$out" 2>&1 || continue
    for flags in '-k 31 -t 1 in.fa' '-k 31 -t 2 --sort in.fa' '-T -t 1 in.txt' '-T -t 2 --sort in.txt'; do
        wanted=wanted.tsv
        [[ $flags != *in.txt ]] || wanted=wanted-text.tsv
        echo precious >found.tsv
        before=$(list_files)
        ended=0
        # shellcheck disable=SC2086 # a list of words
        limited $kib "$BULKHASH" count $flags -o found.tsv >"$out" 2>"$err" ||
            ended=$?
        if ((ended == 0)); then
            sort found.tsv | expect_file "$kib KiB, $flags" $wanted
        else
            failed_runs=$((failed_runs + 1))
            [[ $before == "$(list_files)" ]] || failed "$kib KiB, $flags: a failed run changed files"
            said=$(<"$out")
            complained=$(<"$err")
            expect_error 1 'memory' said_again
        fi
    done
done
((failed_runs > 0)) || failed 'no limit was too small'
finish
