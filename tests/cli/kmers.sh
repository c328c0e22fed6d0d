#!/usr/bin/env bash
# Counts of small FASTA files that were worked out by hand: every length at an edge of the number
# format, lower case, other letters, records, all ways to end and break lines, canonical k-mers.
. "$(dirname "$0")/common.bash"

# check WHAT K FLAGS: counts k-mers of in.fa; standard input is the sorted result.
check() {
    # shellcheck disable=SC2086 # FLAGS is a list of words
    expect_success "$BULKHASH" count --kmers "$2" $3 --sort in.fa --output out.tsv
    expect_file "$1" out.tsv
}
letters() { printf '%s\t%s\n' "$@"; }

printf '>one\nACGTACGT\n' >in.fa
letters A 2 C 2 G 2 T 2 | check 'k 1' 1 ''
letters AC 2 CG 2 GT 2 TA 1 | check 'k 2' 2 ''
letters ACG 2 CGT 2 GTA 1 TAC 1 | check 'k 3' 3 ''
letters ACGTACGT 1 | check 'k as long as the record' 8 ''
check 'k longer than the record' 9 '' </dev/null
[[ -f out.tsv && ! -s out.tsv ]] || failed 'no k-mers: an empty output is expected'

# Reverse complements: A-T, C-G; of two letters AC-GT, CG and TA are their own (palindromes).
letters A 4 C 4 | check 'canonical 1' 1 --canonical
letters AC 4 CG 2 TA 1 | check 'canonical 2, palindromes count once' 2 --canonical
letters ACG 4 GTA 2 | check 'canonical 3' 3 --canonical
letters ACGT 2 CGTA 2 GTAC 1 | check 'canonical 4, palindromes' 4 --canonical

printf '>strands\nTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT\n>other\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n' >in.fa
letters AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA 2 TTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT 3 | check 'k 31' 31 ''
letters AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA 1 TTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT 2 | check 'k 32' 32 ''
letters AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA 3 | check 'canonical 32' 32 -c
letters AAAAAAAAAAAAAAAA 17 TTTTTTTTTTTTTTTT 18 | check 'k 16' 16 ''
letters AAAAAAAAAAAAAAAAA 16 TTTTTTTTTTTTTTTTT 17 | check 'k 17' 17 ''

# All 64 bits, by hand: a 32-mer of every letter, and its reverse complement in a second record.
printf '>a\nGATTACAGATTACAGATTACAGATTACACCGT\n>b\nACGGTGTAATCTGTAATCTGTAATCTGTAATC\n' >in.fa
letters ACGGTGTAATCTGTAATCTGTAATCTGTAATC 1 GATTACAGATTACAGATTACAGATTACACCGT 1 | check '32 letters' 32 ''
letters ACGGTGTAATCTGTAATCTGTAATCTGTAATC 2 | check '32 letters, canonical' 32 --canonical
letters ACGGTGTAATCTGTAATCTGTAATCTGTAAT 1 CGGTGTAATCTGTAATCTGTAATCTGTAATC 1 \
    ATTACAGATTACAGATTACAGATTACACCGT 1 GATTACAGATTACAGATTACAGATTACACCG 1 | sort | check '31 letters' 31 ''

printf '>lower case and mixed\nacgtACgt\n' >in.fa
letters AC 2 CG 2 GT 2 TA 1 | check 'lower case' 2 ''

# N and any other symbol end a run; U is another letter too.
printf '>n\nACNGTnA-C*GURY.AC\n' >in.fa
letters AC 2 GT 1 | check 'other letters' 2 ''
letters A 3 C 3 G 2 T 1 | check 'other letters, k 1' 1 ''

# No k-mer spans two records, but one spans line breaks, of any kind, and blanks.
printf '>a x\nAC\nG\n\nT\n>b\n>c\nAC' >in.fa
letters AC 2 CG 1 GT 1 | check 'records and line breaks' 2 ''
printf '\r\n>a x\r\nAC\r\nG\r\n\r\nT\r\n>b\r\n>c\r\nAC\r\n' >in.fa
letters AC 2 CG 1 GT 1 | check 'CR LF' 2 ''
printf '>a x\rAC\rG\r\rT\r>b\r>c\rAC\r' >in.fa
letters AC 2 CG 1 GT 1 | check 'CR' 2 ''
printf '\n \t\n>a\nA C\tG \n T\n' >in.fa
letters AC 1 CG 1 GT 1 | check 'blanks' 2 ''
printf '>a >b ACGT @ \351\001\nAC>A\n+AC\n@AC\n;AC\n' >in.fa
letters AC 4 | check 'headers hold anything; symbols that other formats know are just symbols' 2 ''
{ printf '>a\nAC'; printf '>%.0s' {1..300000}; printf 'GT\n'; } >in.fa
letters AC 1 GT 1 | check 'no header inside a line, wherever a buffer ends' 2 ''
printf '>only a header' >in.fa
check 'only a header' 2 '' </dev/null

# Pieces: records and lines longer than any buffer, and a header across one.
{ printf '>a\n'; printf 'AC%.0s' {1..300000}; printf '\n>'; printf 'AC%.0s' {1..100000}; printf '\nGG\n'; } >in.fa
letters AC 300000 CA 299999 GG 1 | check 'long lines' 2 ''

# The options in short, the options behind the file, a relative output in another folder.
mkdir folder
printf '>a\nACGT\n' >in.fa
expect_success "$BULKHASH" count in.fa -k2 -cs -o folder/out.tsv -t 1
letters AC 2 CG 1 | expect_file 'short options' folder/out.tsv
expect_success "$BULKHASH" count -k 2 --threads=2 -- in.fa
grep -Eq '^3 distinct of 3 2-mers, [0-9.]+ M k-mers/s, [0-9.]+ s, table of [0-9.]+ MB$' "$err" ||
    failed "summary: $(cat "$err")"
[[ $(wc -l <"$err") -eq 1 && ! -s $out ]] || failed "without --output, more than the summary"

# Two threads, and every instruction set that runs here, say the same.
{ printf '>r\n'; random_letters 20000 7 ACGTN; echo; } >in.fa
expect_success "$BULKHASH" count -k 9 -s in.fa -o wanted.tsv
for target in scalar avx2 avx512; do
    if BULKHASH_TARGET=$target "$BULKHASH" count -k 9 -s -t 2 in.fa -o found.tsv 2>"$err"; then
        expect_file "target $target" found.tsv <wanted.tsv
    fi
done
finish
