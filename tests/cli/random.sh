#!/usr/bin/env bash
# A random genome with everything in it, against the same job done with awk, sort and uniq: letters
# of both cases, other letters, several records, lines of odd lengths; plain and canonical.
. "$(dirname "$0")/common.bash"

random_letters 60000 1 ACGTACGTACGTACGTACGTacgtN | fold -w 61 |
    awk 'NR % 97 == 1 { print ">record", NR } { print }' >in.fa

for k in 1 2 3 4 5 7 8 11 12 15 16 17 20 21 29 30 31 32; do
    reference $k '' in.fa >wanted.tsv
    expect_success "$BULKHASH" count --kmers $k --sort in.fa --output found.tsv
    expect_file "sorted, k $k" found.tsv <wanted.tsv
    expect_success "$BULKHASH" count --kmers $k in.fa --output found.tsv
    sort found.tsv | expect_file "unsorted, k $k" wanted.tsv
    total=$(awk '{ sum += $2 } END { print sum + 0 }' wanted.tsv)
    grep -q "^$(wc -l <wanted.tsv) distinct of $total $k-mers," "$err" ||
        failed "summary of k $k: $(cat "$err")"
done
for k in 1 2 3 6 16 17 31 32; do
    reference $k 1 in.fa >wanted.tsv
    expect_success "$BULKHASH" count --kmers $k --canonical --sort in.fa --output found.tsv
    expect_file "canonical, k $k" found.tsv <wanted.tsv
done

# gzip: the same counts, in one member, in many, with zero bytes behind it.
reference 13 '' in.fa >wanted.tsv
gzip -c in.fa >one.fa.gz
split -b 9999 in.fa piece.
for piece in piece.*; do gzip -c "$piece"; done >many.fa.gz
{ cat one.fa.gz; head -c 1000 /dev/zero; } >padded.fa.gz
gzip -c </dev/null | cat - one.fa.gz >empty-first.fa.gz
cp one.fa.gz named-otherwise.txt
for file in one.fa.gz many.fa.gz padded.fa.gz empty-first.fa.gz named-otherwise.txt; do
    expect_success "$BULKHASH" count -k 13 -s "$file" -o found.tsv
    expect_file "$file" found.tsv <wanted.tsv
done
expect_success "$BULKHASH" count -k 13 -s <(cat one.fa.gz) -o found.tsv
expect_file 'gzip from a pipe' found.tsv <wanted.tsv
expect_success "$BULKHASH" count -k 13 -s <(cat in.fa) -o found.tsv
expect_file 'plain from a pipe' found.tsv <wanted.tsv

# Results go to pipes too.
"$BULKHASH" count -k 13 -s in.fa -o /dev/stdout 2>"$err" | expect_file 'to a pipe' wanted.tsv

# More than the sample from which the size of the table is guessed, so that several threads count
# and write: once with new k-mers all over, once where the sample says that there are none.
random_letters 300000 2 ACGTACGTACGTACGTACGTACGTACGTN >letters
{ echo '>new'; fold -w 60 letters; } >in.fa
reference 31 '' in.fa >wanted.tsv
distinct=$(wc -l <wanted.tsv)
expect_success "$BULKHASH" count -k 31 in.fa
grep -Eq "^$distinct distinct of $distinct 31-mers, [0-9.]+ M k-mers/s, [0-9.]+ s, sorted in [0-9.]+ MB\$" "$err" ||
    failed "summary of many keys: $(cat "$err")"
reference 3 1 in.fa >short.tsv
{ echo '>same'; printf '%070000d\n' 0 | tr 0 A; cat in.fa; } >same.fa
printf '%s\t%d\n' AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA 69970 | sort - wanted.tsv >same-wanted.tsv
gzip -c same.fa >same.fa.gz
for threads in 1 2 5; do
    expect_success "$BULKHASH" count -k 3 -c -t $threads in.fa -s -o found.tsv
    expect_file "$threads threads, k 3" found.tsv <short.tsv
    for sort in '' --sort; do
        # shellcheck disable=SC2086 # a word or none
        expect_success "$BULKHASH" count -k 31 -t $threads in.fa $sort -o found.tsv
        # shellcheck disable=SC2086 # a word or none
        "$BULKHASH" count -k 31 -t $threads in.fa $sort -o /dev/stdout 2>"$err" | cat >piped.tsv
        # From a pipe, of which nobody knows how much it brings, they go to a table.
        # shellcheck disable=SC2002,SC2086 # a pipe; a word or none
        cat in.fa | expect_success "$BULKHASH" count -k 31 -t $threads - $sort -o table.tsv
        grep -q 'bytes per key$' "$err" || failed "$threads threads: no table: $(cat "$err")"
        for file in found.tsv piped.tsv table.tsv; do
            [[ $sort == '' ]] || sort -c $file || failed "$threads threads, $file: not sorted"
            sort $file | expect_file "$threads threads $sort, $file" wanted.tsv
        done
        # shellcheck disable=SC2086 # a word or none
        expect_success "$BULKHASH" count -k 31 -t $threads same.fa.gz $sort -o found.tsv
        sort found.tsv | expect_file "$threads threads $sort, a wrong guess" same-wanted.tsv
    done
done
finish
