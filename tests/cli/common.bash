# What the tests of the program share. Each test is a bash script that is started in an empty
# directory with the program's path in $BULKHASH, reads this file first, says what went wrong and
# goes on, and ends with `finish`. Expected values are written out by hand or computed with awk and
# coreutils, never with the program's own code.

set -u
export LC_ALL=C # sort by bytes; and error texts of the system in English
: "${BULKHASH:?set BULKHASH to the path of the program bulkhash}"

# Files beside the current directory, so that they never count as files that the program left.
out=$PWD.out           # what the program printed,
err=$PWD.err           # what it printed to standard error,
readonly failures=$PWD.failures # a line for each failure: a variable would not come out of a pipeline
: >"$failures"
trap 'rm -f "$out" "$err" "$failures"' EXIT

failed() {
    echo "FAILED: $*" >&2
    echo >>"$failures"
}

# Ends the test.
finish() {
    if [[ -s $failures ]]; then
        echo "$(wc -l <"$failures") failed" >&2
        exit 1
    fi
    exit 0
}

# expect_file WHAT FILE: standard input is what FILE should hold.
expect_file() {
    local difference
    difference=$(diff - "$2" 2>&1 | head -n 20) || true
    [[ -z $difference ]] || failed "$1: < expected, > found in $2:"$'\n'"$difference"
}

# expect_success COMMAND...: exit status 0; what it prints lands in the files $out and $err.
expect_success() {
    local status=0
    "$@" >"$out" 2>"$err" || status=$?
    ((status == 0)) || failed "$*: exit status $status, standard error: $(cat "$err")"
}

# expect_error STATUS PATTERN COMMAND...: exit status STATUS, nothing on standard output, one line on
# standard error that begins with "bulkhash: " and matches the extended regular expression PATTERN,
# and the files in this directory are the same as before.
expect_error() {
    local wanted=$1 pattern=$2 status=0 before after
    shift 2
    before=$(list_files)
    "$@" >"$out" 2>"$err" || status=$?
    after=$(list_files)
    ((status == wanted)) || failed "$*: exit status $status instead of $wanted: $(cat "$err")"
    [[ ! -s $out ]] || failed "$*: prints to standard output: $(head -n 3 "$out")"
    [[ $(wc -l <"$err") -eq 1 ]] || failed "$*: not one line: $(cat "$err")"
    grep -q '^bulkhash: ' "$err" || failed "$*: does not begin with bulkhash: $(cat "$err")"
    grep -Eq -- "$pattern" "$err" || failed "$*: no '$pattern' in: $(cat "$err")"
    [[ $before == "$after" ]] || failed "$*: changed the files from"$'\n'"$before"$'\n'to$'\n'"$after"
}

# Names, sizes and checksums of all files here.
list_files() {
    find . -type f -exec cksum {} + 2>/dev/null | sort -k3 # one may be unreadable
    find . ! -type f | sort
}

# random_letters COUNT SEED [ALPHABET]: letters without a line end; the same for the same seed.
random_letters() {
    awk -v count="$1" -v seed="$2" -v alphabet="${3:-ACGT}" 'BEGIN {
        srand(seed)
        size = length(alphabet)
        for (i = 0; i < count; i++)
            printf "%s", substr(alphabet, int(rand() * size) + 1, 1)
    }'
}

# reference K CANONICAL FILE: the counts of the k-mers of a FASTA file, sorted. Letter by letter, with
# substr() and toupper(): slow, and nothing like the program.
reference() {
    awk '/^>/ { print ""; next } { printf "%s", toupper($0) } END { print "" }' "$3" |
        awk -v k="$1" -v canonical="$2" '
            BEGIN { other["A"] = "T"; other["C"] = "G"; other["G"] = "C"; other["T"] = "A" }
            {
                for (i = 1; i + k - 1 <= length($0); i++) {
                    kmer = substr($0, i, k)
                    if (kmer ~ /[^ACGT]/)
                        continue
                    if (canonical) {
                        reverse = ""
                        for (j = k; j >= 1; j--)
                            reverse = reverse other[substr(kmer, j, 1)]
                        if (reverse < kmer)
                            kmer = reverse
                    }
                    print kmer
                }
            }' | sort | uniq -c | awk -v OFS='\t' '{ print $2, $1 }'
}
