#!/usr/bin/env bash
# --text: every spelling of an integer and the ends of the range, files of all kinds, lines across the
# blocks in which a file is read; and each kind of line that is refused, by its number.
. "$(dirname "$0")/common.bash"

# check WHAT ARGUMENTS...: standard input is the sorted result.
check() {
    local what=$1
    shift
    expect_success "$BULKHASH" count --text --sort "$@" --output out.tsv
    expect_file "$what" out.tsv
}
lines() { printf '%s\t%s\n' "$@"; }

# Spellings.
printf '%s\n' 17 +17 0x11 0X11 +0x11 0017 0x0011 -17 -0x11 -0X000000000000000000011 0 -0 +0 0x0 00000000000000000000000000 >in.txt
lines -17 3 0 5 17 7 | check spellings in.txt
printf '%s\n' 0xdeadBEEF 3735928559 0xaBcDeF 0x9 >in.txt
lines 9 1 11259375 1 3735928559 2 | check 'hexadecimal digits' in.txt
printf '%s\n' 1 12 123 1234 12345 123456 1234567 12345678 123456789 1234567890 12345678901 123456789012 1234567890123 12345678901234 \
    123456789012345 1234567890123456 12345678901234567 123456789012345678 1234567890123456789 12345678901234567890 >in.txt
sed 's/$/\t1/' in.txt | check 'every length' in.txt
# The ends of both ranges, in both notations.
printf '%s\n' 18446744073709551615 0xffffffffffffffff 00018446744073709551615 9223372036854775808 0x8000000000000000 0 >in.txt
lines 0 1 9223372036854775808 2 18446744073709551615 3 | check 'the largest numbers' in.txt
printf '%s\n' -9223372036854775808 -0x8000000000000000 9223372036854775807 0x7fffffffffffffff -1 >in.txt
lines -9223372036854775808 2 -1 1 9223372036854775807 2 | check 'the smallest numbers' in.txt

# Line ends, sources, several files.
printf '5\r\n-5\r\n5\r\n' >crlf.txt
printf '5\n-5\n5' >bare.txt
printf '5\r\n-5\n0x5\r\n' >mixed.txt
for file in crlf.txt bare.txt mixed.txt; do
    lines -5 1 5 2 | check $file $file
done
gzip -c bare.txt >bare.gz
lines -5 1 5 2 | check gzip bare.gz
lines -5 4 5 8 | check 'several files' crlf.txt bare.gz bare.txt mixed.txt
expect_success bash -c '"$BULKHASH" count --text -s - bare.txt -o out.tsv <crlf.txt'
lines -5 2 5 4 | expect_file 'standard input and a file' out.tsv
expect_success bash -c 'cat bare.gz | "$BULKHASH" count -Ts - -o - >out.tsv'
lines -5 1 5 2 | expect_file 'gzip through a pipe' out.tsv
expect_success bash -c '{ printf 5; sleep 0.1; printf "7\n5"; sleep 0.1; printf "8\r"; sleep 0.1; printf "\n57"; } | "$BULKHASH" count -Ts - -o out.tsv'
lines 57 2 58 1 | expect_file 'a pipe that brings parts of lines' out.tsv
: >empty.txt
gzip -c empty.txt >empty.gz
check 'no line at all' empty.txt </dev/null
lines -5 1 5 2 | check 'empty files among others' empty.txt bare.txt empty.gz empty.txt
expect_success "$BULKHASH" count --text empty.txt
grep -q '^0 distinct of 0 values, ' "$err" || failed "summary of nothing: $(cat "$err")"
printf '1\n' | gzip -c >one.npy.gz
lines 1 1 | check 'a name that does not end in .npy' one.npy.gz

# The other options.
printf '%s\n' 5 -5 5 7 7 5 >in.txt
lines 5 3 7 2 | check 'at least 2' in.txt --min-count 2
lines 1 1 2 1 3 1 | check 'a histogram' in.txt --histogram

# .npy: signed where a number is below zero, unsigned else. pairs FORMAT: as od prints them.
pairs() { tail -c +129 out.npy | od -An -v -t "$1" -w16 | awk -v OFS='\t' '{ print $1, $2 }'; }
expect_success "$BULKHASH" count -T -s in.txt -o out.npy
grep -q "('key', '<i8'), ('count', '<u8')" out.npy || failed "the type of numbers below zero: $(head -c 128 out.npy)"
lines -5 1 5 3 7 2 | expect_file 'signed .npy' <(pairs d8)
printf '18446744073709551615\n1\n1\n' >in.txt
expect_success "$BULKHASH" count -T -s in.txt -o out.npy
grep -q "('key', '<u8'), ('count', '<u8')" out.npy || failed "the type of numbers: $(head -c 128 out.npy)"
lines 1 2 18446744073709551615 1 | expect_file 'unsigned .npy' <(pairs u8)

# Many lines of all lengths, so that they lie across the ends of blocks in every way; on several
# threads, plain and compressed.
awk 'BEGIN {
    srand(5)
    for (i = 0; i < 150000; i++) {
        digits = int(rand() * 18) + 1
        text = int(rand() * 9) + 1
        while (length(text) < digits)
            text = text int(rand() * 10)
        if (i % 7 == 0)
            text = sprintf("%d", i / 1000)
        printf "%s%s\n", i % 3 == 0 ? "-" : "", text
    }
}' >many.txt
sort many.txt | uniq -c | awk -v OFS='\t' '{ print $2 == "-0" ? "0" : $2, $1 }' |
    awk -F '\t' -v OFS='\t' '{ sum[$1] += $2 } END { for (key in sum) print key, sum[key] }' | sort >wanted.tsv
sed 's/$/\r/' many.txt >many-crlf.txt
gzip -c many.txt >many.gz
for threads in 1 2 5; do
    for file in many.txt many-crlf.txt many.gz; do
        expect_success "$BULKHASH" count --text -t $threads $file -o out.tsv
        sort out.tsv | expect_file "$file, $threads threads" wanted.tsv
        grep -q "^$(wc -l <wanted.tsv) distinct of 150000 values, " "$err" || failed "summary: $(cat "$err")"
    done
    expect_success "$BULKHASH" count --text -s -t $threads many.txt -o out.tsv
    sort -n wanted.tsv | expect_file "sorted, $threads threads" out.tsv
done

# What is refused: the file and the line are named, and the output that was there stays.
echo precious >kept.tsv
refused() { # refused PATTERN TEXT
    printf '%b' "$2" >bad.txt
    expect_error 1 "^bulkhash: $1" "$BULKHASH" count --text bad.txt --output kept.tsv
}
for word in x 1x x1 1.5 1. .5 1e3 1,000 1_000 '1 2' ' 1' '1 ' '\t1' '1\t' '1\v' + - +- -+1 --1 ++1 +-1 '+ 1' \
    0x -0x 0xg 0x1g 0x-1 0x+1 0x0x1 x1 1x1 00x1 0b1 1L 0x1.8 '\r1' '1\r\r' 1\\\\ NaN inf one '"1"' "1'" '#1' '1;' ₁ '\xff' '\0' '1\0'; do
    refused "bad\.txt: line 3, '.*', is no integer; each line must hold one, decimal or 0x, and nothing else\$" "1\n2\n$word\n4\n"
    refused "bad\.txt: line 1, '.*', is no integer" "$word"
done
refused "bad\.txt: line 2, 'a\?b', is no integer" '1\na\x01b\n'
refused "bad\.txt: line 1, '(x{40})\.\.\.', is no integer" "$(printf 'x%.0s' {1..60})\n"
refused "bad\.txt: line 1, '(x{40})', is no integer" "$(printf 'x%.0s' {1..40})\r\n"
refused 'bad\.txt: line 2 is empty; each line must hold an integer' '1\n\n2\n'
refused 'bad\.txt: line 2 is empty' '1\n\r\n2\r\n'
refused 'bad\.txt: line 1 is empty' '\n'
refused 'bad\.txt: line 3 is empty' '1\n2\n\n'
for word in 18446744073709551616 18446744073709551620 99999999999999999999 184467440737095516150 100000000000000000000 \
    123456789012345678901234567890 0x10000000000000000 0x123456789abcdef01 -9223372036854775809 -18446744073709551615 \
    -0x8000000000000001 -99999999999999999999; do
    refused "bad\.txt: line 2, '$word', is out of range; integers from -9223372036854775808 to 18446744073709551615" "1\n$word\n3\n"
done
refused 'bad\.txt: line 2 holds a number above 9223372036854775807, and line 4 of bad\.txt one below zero; .*apart$' \
    '1\n9223372036854775808\n2\n-1\n'
refused 'bad\.txt: line 3 holds a number above 9223372036854775807, and line 1 of bad\.txt one below zero' \
    '-1\n1\n18446744073709551615'
printf '9223372036854775808\n' >large.txt
expect_error 1 '^bulkhash: large\.txt: line 1 holds a number above .*, and line 2 of bare\.txt one below zero' \
    "$BULKHASH" count -T -t 1 bare.txt empty.txt large.txt -o kept.tsv
gzip -c bad.txt >bad.gz
expect_error 1 'bad\.gz: line 3 holds' "$BULKHASH" count -T bad.gz -o kept.tsv
printf '1\nx\n' >second.txt
expect_error 1 "second\.txt: line 2, 'x'," "$BULKHASH" count -T -t 1 bare.txt second.txt -o kept.tsv
expect_error 1 "standard input: line 2, 'x'," bash -c '"$BULKHASH" count -T - -o kept.tsv <second.txt'
# A line that is wrong far behind the first block, and one without end.
for line in 70000 149999 150000; do
    sed "${line}s/\$/!/" many.txt >bad.txt
    for threads in 1 4; do
        expect_error 1 "bad\.txt: line $line, '.*!', is no integer" "$BULKHASH" count -T -t $threads bad.txt -o kept.tsv
    done
done
{ printf '1\n2\n'; head -c 1000000 /dev/zero | tr '\0' 7; } >bad.txt
expect_error 1 "bad\.txt: line 3, '7{40}\.\.\.', is (no integer|out of range)" "$BULKHASH" count -T bad.txt -o kept.tsv
{ printf '1\n2\n'; head -c 100000 /dev/zero | tr '\0' 0; echo 5; } >zeros.txt
lines 1 1 2 1 5 1 | check 'many leading zeros' zeros.txt
head -c 3000 many.gz >bad.gz
expect_error 1 'bad\.gz: the gzip data is cut short' "$BULKHASH" count -T bad.gz -o kept.tsv
printf '\x93NUMPY\x01\x00' >array
expect_error 1 'array: line 1, .*no integer' "$BULKHASH" count -T array -o kept.tsv
expect_error 1 'in\.txt: is the input file' "$BULKHASH" count -T in.txt -o in.txt
expect_error 1 'missing\.txt: cannot be opened: No such file' "$BULKHASH" count -T in.txt missing.txt -o kept.tsv
finish
