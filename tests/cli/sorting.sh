#!/usr/bin/env bash
# Counting by sorting: the summary says which way was taken; arrays and text of which a sample decides one
# way or the other; and that both give the same counts, in every output, on any number of threads.
. "$(dirname "$0")/common.bash"

# header TYPE COUNT: of a .npy file.
header() {
    printf '\x93NUMPY\x01\x00\x76\x00'
    printf '%-117s\n' "{'descr': '$1', 'fortran_order': False, 'shape': ($2,), }"
}
# expect_way sorted|table: what the summary of the last run says.
expect_way() {
    local pattern='(table of [0-9.]+ MB|[0-9.]+ bytes per key)$'
    [[ $1 == table ]] || pattern='sorted in [0-9.]+ MB$'
    grep -Eq "$pattern" "$err" || failed "not $1: $(cat "$err")"
}
# counts_of TYPE FILE: counts of the elements in FILE as od reads them, sorted by number.
counts_of() { od -An -v -t "${1/i/d}" -w"${1:1}" "$2" | tr -d ' ' | sort | uniq -c | awk -v OFS='\t' '{ print $2, $1 }' | sort -n; }

# Bytes of all values, most keys distinct: letters, of which some become bytes above 127, also the highest of a
# key, which is the sign.
letters='ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
random_letters 800000 4 "$letters" | tr 'A-Z' '\200-\231' >distinct
# The same with two keys between them, so often that they fill several parts of the result.
{ head -c 400000 distinct; printf 'aaaaaaaa%.0s' {1..20000}; tail -c 400000 distinct; printf '\200\201\202\203\204\205\206\207%.0s' {1..40000}; } >hot
for ((i = 0; i < 20; i++)); do head -c 40000 distinct; done >repeated
# Half of them by thousands of keys that are counted on the way.
{ cat repeated; cat distinct; } >mixed

for type in '<u8' '<i8' '<i4'; do
    width=${type:2}
    for kind in distinct hot mixed repeated; do
        count=$(($(stat -c %s $kind) / width))
        { header "$type" $count; cat $kind; } >in.npy
        counts_of "${type:1:1}$width" $kind | sed 's/^+//' >wanted.tsv
        for threads in 1 3; do
            expect_success "$BULKHASH" count -t $threads in.npy -o out.tsv
            sort -n out.tsv | expect_file "$type, $kind, $threads threads" wanted.tsv
            case $kind in
            repeated) expect_way table ;;
            *) expect_way sorted ;;
            esac
            grep -q "^$(wc -l <wanted.tsv) distinct of $count values, " "$err" || failed "summary: $(cat "$err")"
            expect_success "$BULKHASH" count -s -t $threads in.npy -o out.tsv
            expect_file "$type, $kind, $threads threads, --sort" out.tsv <wanted.tsv
        done
        "$BULKHASH" count -s in.npy -o - 2>"$err" | expect_file "$type, $kind, to a pipe" wanted.tsv
        expect_success "$BULKHASH" count -s -m 2 in.npy -o out.tsv
        awk -F '\t' '$2 >= 2' wanted.tsv | expect_file "$type, $kind, at least 2" out.tsv
        expect_success "$BULKHASH" count -H in.npy -o out.tsv
        cut -f 2 wanted.tsv | sort -n | uniq -c | awk -v OFS='\t' '{ print $2, $1 }' |
            expect_file "$type, $kind, a histogram" out.tsv
        for least in 1 2; do
            expect_success "$BULKHASH" count -s -m $least in.npy -o out.npy
            (($(stat -c %s out.npy) == 128 + (width + 8) * $(awk -v n=$least '$2 >= n' wanted.tsv | wc -l))) ||
                failed "$type, $kind, .npy of at least $least: $(stat -c %s out.npy) bytes"
            tail -c +129 out.npy | od -An -v -t u1 -w$((width + 8)) | awk -v width="$width" -v least=$least '
                { count = $(width + 1) + 256 * $(width + 2) + 65536 * $(width + 3); sum += count }
                count < least { print "a count of " count }
                END { print NR " pairs, sum " sum + 0 }' >found
            awk -v least=$least '$2 >= least { pairs++; sum += $2 } END { print pairs + 0 " pairs, sum " sum + 0 }' wanted.tsv |
                expect_file "$type, $kind, .npy of at least $least" found
        done
    done
done

# A compressed array is not gone to and fro in: its first keys decide. The other byte order is converted.
{ header '<u8' 100000; cat distinct; } | gzip -c >in.npy
counts_of u8 distinct >wanted.tsv
expect_success "$BULKHASH" count -s in.npy -o out.tsv
expect_file 'compressed' out.tsv <wanted.tsv
expect_way sorted
{ header '>u8' 100000; cat distinct; } >in.npy
od -An -v -t x1 -w8 distinct | tr -d ' ' | sort | uniq -c | awk '{ print $1 }' | sort -n | uniq -c >wanted
expect_success "$BULKHASH" count in.npy -o out.tsv
cut -f 2 out.tsv | sort -n | uniq -c | expect_file 'the other byte order' wanted
expect_way sorted
# Narrow integers cannot be distinct.
{ header '<u2' 400000; cat distinct; } >in.npy
expect_success "$BULKHASH" count in.npy
expect_way table
# A file whose first keys are others than the rest: the sample is from all over it.
{ header '<u8' 200000; cat repeated distinct; } >in.npy
expect_success "$BULKHASH" count in.npy
expect_way sorted
# An array that is cut short is refused in either way.
{ header '<u8' 100001; cat distinct; } >bad.npy
expect_error 1 'bad\.npy: is cut short' "$BULKHASH" count bad.npy
mkfifo pipe.npy
{ header '<u8' 100001; cat distinct; } >pipe.npy &
expect_error 1 'pipe\.npy: is cut short, it ends before element 100001 of 100001' "$BULKHASH" count pipe.npy
wait

# Text: sorted where its size is known, and so the number of keys.
od -An -v -t d8 -w8 distinct | tr -d ' ' >in.txt
counts_of d8 distinct >wanted.tsv
for threads in 1 2 5; do
    expect_success "$BULKHASH" count -T -s -t $threads in.txt -o out.tsv
    expect_file "text, $threads threads" out.tsv <wanted.tsv
    expect_way sorted
done
gzip -c in.txt >in.gz
expect_success "$BULKHASH" count -T -s in.gz -o out.tsv
expect_file 'compressed text' out.tsv <wanted.tsv
expect_way sorted
expect_success bash -c 'cat in.txt | "$BULKHASH" count -T -s - -o out.tsv'
expect_file 'text from a pipe' out.tsv <wanted.tsv
expect_way table
seq 3 | awk '{ for (i = 0; i < 100000; i++) print $1 }' >in.txt
expect_success "$BULKHASH" count -T in.txt
expect_way table
# Sequences: most k-mers of a genome are distinct, and sorted. Reads are not, wherever they stand.
{ echo '>genome'; random_letters 200000 7 ACGT | fold -w 100; echo; } >genome.fa
{ echo '@read'; random_letters 200000 7 ACGT; echo; echo +; random_letters 200000 8 I; echo; } >reads.fq
expect_success "$BULKHASH" count -k 31 genome.fa -s -o genome.tsv
expect_way sorted
expect_success "$BULKHASH" count -k 31 genome.fa reads.fq -s -o both.tsv
expect_way table
awk -v OFS='\t' '{ print $1, 2 * $2 }' genome.tsv | expect_file 'genome and reads' both.tsv

finish
