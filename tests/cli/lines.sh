#!/usr/bin/env bash
# Line ends of FASTA: LF, CR LF and CR give the same counts, wherever in a buffer they stand, plain
# and gzip; and a file is searched for them a constant number of times, however short its lines are.
. "$(dirname "$0")/common.bash"

# with_ends END <LINES: the same lines, each ended by END.
with_ends() { awk -v ORS="$1" '{ print }'; }
ends=($'\n' $'\r\n' $'\r')
names=(LF 'CR LF' CR)

# expect_counts WHAT: in.fa, plain and gzip, from a file and from a pipe, has the counts of wanted.tsv.
expect_counts() {
    gzip -1 -c in.fa >in.gz
    for file in in.fa in.gz; do
        expect_success "$BULKHASH" count -k 5 -s $file -o found.tsv
        expect_file "$1, $file" found.tsv <wanted.tsv
        expect_success "$BULKHASH" count -k 5 -s <(cat $file) -o found.tsv
        expect_file "$1, $file from a pipe" found.tsv <wanted.tsv
    done
}

# Some buffers of 131,072 bytes; records, empty lines, lines of every length from 1 to 60.
random_letters 400000 21 ACGTACGTACGTACGTN | fold -w 1830 | awk '{
    if (NR % 50 == 1) print ">record", NR, "of a file\n"
    for (i = 1; length($0) > 0; i++) { print substr($0, 1, i); $0 = substr($0, i + 1) }
}' >lines
with_ends $'\n' <lines >in.fa
expect_success "$BULKHASH" count -k 5 -s in.fa -o wanted.tsv
for i in 0 1 2; do
    with_ends "${ends[i]}" <lines >in.fa
    expect_counts "${names[i]}"
done
awk '{ printf "%s%s", $0, NR % 3 == 0 ? "\n" : NR % 3 == 1 ? "\r" : "\r\n" }' lines >in.fa
expect_counts 'all three in one file'

# The end of a header and of a line of letters around the end of a buffer. The first letters after
# it must join those before it, and '>' must begin a record.
printf '%s\t1\n' AACCG ACCGT CCGTA | sort >wanted.tsv
for ((length = 131066; length <= 131074; length++)); do
    for i in 0 1 2; do
        end=${ends[i]}
        for head in ">$(head -c "$length" /dev/zero | tr '\0' x)$end" ">a$end$(head -c "$length" /dev/zero | tr '\0' N)$end"; do
            printf '%s' "${head}AACCG${end}TA$end>b${end}AAAA$end" >in.fa
            expect_success "$BULKHASH" count -k 5 -s in.fa -o found.tsv
            expect_file "${names[i]} around $length" found.tsv <wanted.tsv
        done
        printf '%s' ">a${end}AACCGTA$end$(head -c $((length - 16)) /dev/zero | tr '\0' N)$end>AACCG${end}C" >in.fa
        expect_success "$BULKHASH" count -k 5 -s in.fa -o found.tsv
        expect_file "${names[i]}, a header around $length" found.tsv <wanted.tsv
    done
done

# A memchr() of our own counts the bytes that it looks at. The program calls memchr() for nothing
# but line ends, twice at most for each byte.
if ! command -v "${CC:-cc}" >/dev/null || grep -qaE '__(asan|tsan)_init' "$BULKHASH"; then
    echo 'no compiler, or a sanitizer with a memchr() of its own: the work was not counted' >&2
    finish
fi
cat >memchr.c <<'END'
#include <stdio.h>
#include <stdlib.h>

static unsigned long looked_at;

void *memchr(const void *memory, int byte, size_t count)
{
    const unsigned char *bytes = memory;
    for (size_t i = 0; i < count; i++) {
        looked_at++;
        if (bytes[i] == (unsigned char)byte)
            return (void *)(bytes + i);
    }
    return NULL;
}

__attribute__((destructor)) static void tell(void)
{
    FILE *file = fopen(getenv("LOOKED_AT"), "w");
    fprintf(file, "%lu\n", looked_at);
    fclose(file);
}
END
"${CC:-cc}" -O1 -fno-builtin -shared -fPIC memchr.c -o memchr.so || failed 'memchr.c does not compile'
for i in 0 1 2; do
    { echo '>a'; random_letters 300000 22 | fold -w 3; } | with_ends "${ends[i]}" >in.fa
    size=$(stat -c %s in.fa)
    LOOKED_AT=looked_at LD_PRELOAD=./memchr.so expect_success "$BULKHASH" count -t 1 -k 5 in.fa
    work=$(<looked_at)
    ((work >= size / 2)) || failed "${names[i]}: $work bytes looked at is too few to be the search"
    ((work <= 3 * size)) || failed "${names[i]}: $work bytes looked at in a file of $size"
done
finish
