#!/usr/bin/env bash
# FASTQ, several files, standard input, --min-count and --histogram: what is counted, and what is refused.
. "$(dirname "$0")/common.bash"

letters() { printf '%s\t%s\n' "$@"; }
check() { # check WHAT ARGUMENTS...: standard input is the sorted result
    local what=$1
    shift
    expect_success "$BULKHASH" count --sort "$@" --output out.tsv
    expect_file "$what" out.tsv
}

# The same reads in all shapes: qualities that look like other lines, CR LF, several lines, no end.
printf '@r1 lane 3\nACGT\n+\n@>+!\n@r2\nGGNAC\n+r2\n+@>II\n' >plain.fq
printf '@r1\r\nACGT\r\n+\r\n@>+!\r\n@r2\r\nGGNAC\r\n+\r\nIIIII\r\n\r\n' >crlf.fq
printf '@r1\nAC\nGT\n+\nII\n@I\n@r2\nGGNAC\n+\nIIIII' >lines.fq
printf '\n@r1\nACGT\n+\nIIII\n@empty\n\n+\n\n@r2\nGGNAC\n+\nIIIII\n\n' >empty.fq
gzip -c plain.fq >reads.fastq.gz
printf '>r1\nACGT\n>r2\nGGNAC\n' >reads.fa
for file in plain.fq crlf.fq lines.fq empty.fq reads.fastq.gz reads.fa; do
    letters AC 2 CG 1 GG 1 GT 1 | check "$file" -k 2 "$file"
done

# Long records span the reader's buffer.
{
    for read in {1..300}; do
        printf '@read%s\n%s\n+\n%s\n' "$read" "$(random_letters 3000 "$read")" "$(head -c 3000 /dev/zero | tr '\0' I)"
    done
} >long.fq
sed -n 'N;N;N;s/^@/>/;s/\n+.*//p' long.fq >long.fa
(($(grep -c '^>' long.fa) == 300)) || failed 'the test made no FASTA'
expect_success "$BULKHASH" count -k 9 -s long.fa -o long.tsv
check 'long records' -k 9 long.fq <long.tsv

# Several files are counted together, FASTA and FASTQ, and no k-mer spans two of them.
letters AC 6 CG 3 GG 3 GT 3 | check 'three files' -k 2 plain.fq reads.fa reads.fastq.gz
expect_success bash -c '"$BULKHASH" count -k 2 -s - plain.fq -o out.tsv <reads.fastq.gz'
letters AC 4 CG 2 GG 2 GT 2 | expect_file 'standard input and a file' out.tsv
expect_success bash -c 'cat reads.fa | "$BULKHASH" count -k 2 -s - -o out.tsv'
letters AC 2 CG 1 GG 1 GT 1 | expect_file 'a pipe' out.tsv

# Counts that are too small; how many keys have a count.
letters AC 2 | check 'at least 2' -k 2 --min-count 2 plain.fq
grep -q '^4 distinct of 5 2-mers, 1 written, ' "$err" || failed "summary of what was written: $(cat "$err")"
expect_success "$BULKHASH" count -k 5 plain.fq
grep -q '^0 distinct of 0 5-mers (nowhere are there 5 letters A, C, G, T in a row), ' "$err" ||
    failed "summary of nothing: $(cat "$err")"
check 'at least 3' -k 2 -m 3 plain.fq </dev/null
letters 1 3 2 1 | check 'a histogram' -k 2 --histogram plain.fq
letters 2 1 | check 'a histogram from 2 on' -k 2 -H -m 2 plain.fq
expect_success "$BULKHASH" count -k 9 -s long.fa -m 2 -o long2.tsv
awk -F '\t' '$2 >= 2' long.tsv | expect_file 'at least 2 of many' long2.tsv
expect_success "$BULKHASH" count -k 9 long.fa -m 2 -o unsorted.tsv
sort unsorted.tsv | expect_file 'the same, not sorted' long2.tsv
cut -f 2 long.tsv | sort -n | uniq -c | awk '{ print $2 "\t" $1 }' >wanted.tsv
check 'a histogram of many' -k 9 -H long.fq <wanted.tsv
expect_success "$BULKHASH" count -k 9 long.fa -m 2 -o counts.npy
(($(wc -c <counts.npy) == 128 + 16 * $(wc -l <long2.tsv))) || failed "counts.npy has $(wc -c <counts.npy) bytes"

# What is refused: exit status 1, one sentence, and the output that was there stays.
expect_refusal() { # expect_refusal PATTERN INPUT
    printf "$2" >bad.fq
    echo before >kept.tsv
    local status=0
    "$BULKHASH" count -k 2 bad.fq -o kept.tsv >"$out" 2>"$err" || status=$?
    ((status == 1)) && (($(wc -l <"$err") == 1)) && grep -Eq -- "$1" "$err" ||
        failed "status $status for '$2': $(cat "$err")"
    [[ $(cat kept.tsv) == before ]] || failed "'$2' has changed the output"
}
expect_refusal "record 1 \('r1'\) has fewer qualities than letters, after 4 letters and 3" '@r1\nACGT\n+\nIII\n@r2\nA\n+\nI\n'
expect_refusal "record 1 \('r1'\) has more qualities than letters" '@r1\nACGT\n+\nIIIII\n'
expect_refusal "record 1 .*has more qualities than letters" '@r1\nAC\nGT\n+\nIII\nII\n'
for text in '@r1' '@r1\n' '@r1\nACGT' '@r1\nACGT\n' '@r1\nACGT\n+' '@r1\nACGT\n+\n' '@r1\nACGT\n+\nII'; do
    expect_refusal "record 1 \('r1'\) is cut short by the end of the file" "$text"
    expect_refusal "record 2 \('r1'\) is cut short by the end of the file" "@r0\nAC\n+\nII\n$text"
done
for text in '@' '@\n' '@\nAC' '@ r1\nAC'; do
    expect_refusal "record 2 \\(''\\) is cut short by the end of the file" "@r0\nAC\n+\nII\n$text"
done
expect_refusal "record 1 .*does not begin with '@'" '@r1\nACGT\n+\nIIII\n>r2\nACGT\n'
expect_refusal "record 1 .*has no line that begins with '\+'" '@r1\nACGT\n>r2\nACGT\n'
expect_refusal "record 1 .*has no line that begins with '\+'" '@r1\nACGT\n@r2\nACGT\n+\nIIII\n'
expect_refusal "is not FASTQ or is damaged, record 1 \('r1'\) holds byte 0x01" '@r1\nAC\001GT\n+\nIIIII\n'

expect_sentence() { # expect_sentence STATUS PATTERN ARGUMENTS...
    local wanted=$1 pattern=$2 status=0
    shift 2
    "$BULKHASH" count "$@" >"$out" 2>"$err" </dev/null || status=$?
    ((status == wanted)) && grep -Eq -- "$pattern" "$err" || failed "$*: status $status: $(cat "$err")"
}
expect_sentence 2 'named twice' -k 2 - -
expect_sentence 1 'standard input: is empty' -k 2 -
expect_sentence 1 'missing.fq: cannot be opened' -k 2 plain.fq missing.fq
expect_sentence 1 'reads.fa: is the input file' -k 2 plain.fq reads.fa -o reads.fa
expect_sentence 2 'min-count: .*add --output' -k 2 plain.fq --min-count 2
expect_sentence 2 'histogram: .*add --output' -k 2 plain.fq --histogram
expect_sentence 2 'sort: .*add --output' -k 2 plain.fq --sort
expect_sentence 2 "min-count: '0' is not" -k 2 plain.fq --min-count 0 -o x.tsv
expect_sentence 2 "min-count: '4294967297' is not" -k 2 plain.fq -m 4294967297 -o x.tsv
mkdir folder
expect_sentence 1 'folder: is a folder' -k 2 plain.fq folder -o x.tsv
expect_sentence 2 'one array at a time' a.npy b.npy
finish
