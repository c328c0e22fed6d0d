#!/usr/bin/env bash
# NumPy files: every type of integer in both byte orders, shapes and headers of all kinds, files
# that lie about themselves; and the .npy result, byte for byte. The files are made with printf.
. "$(dirname "$0")/common.bash"

# header VERSION TEXT: a .npy header as numpy.save() writes it, padded to a multiple of 64 bytes.
header() {
    local version=$1 text=$2 start=10
    ((version > 1)) && start=12
    while (((start + ${#text} + 1) % 64 != 0)); do text+=' '; done
    local length=$((${#text} + 1)) bytes
    printf -v bytes '\\x%02x\\x%02x' $((length % 256)) $((length / 256))
    ((version > 1)) && bytes+='\x00\x00'
    printf '%b' "\x93NUMPY\x0$version\x00$bytes"
    printf '%s\n' "$text"
}
# array TYPE SHAPE: the header of a plain array.
array() { header 1 "{'descr': '$1', 'fortran_order': False, 'shape': $2, }"; }

# check WHAT: counts in.npy; standard input is the sorted result.
check() {
    expect_success "$BULKHASH" count --sort in.npy --output out.tsv
    expect_file "$1" out.tsv
    expect_success "$BULKHASH" count in.npy --output out.tsv
    sort out.tsv >out.sorted
    cp out.tsv again.tsv
}
lines() { printf '%s\t%s\n' "$@"; }

# Types: the same bit patterns, read as what they are.
{ array '|u1' '(5,)'; printf '\x00\x7f\x80\xff\x80'; } >in.npy
lines 0 1 127 1 128 2 255 1 | check u1
{ array '|i1' '(5,)'; printf '\x00\x7f\x80\xff\x80'; } >in.npy
lines -128 2 -1 1 0 1 127 1 | check i1
{ array '<u2' '(4,)'; printf '\x01\x00\x00\x80\xff\xff\x01\x00'; } >in.npy
lines 1 2 32768 1 65535 1 | check '<u2'
{ array '>u2' '(4,)'; printf '\x01\x00\x00\x80\xff\xff\x01\x00'; } >in.npy
lines 128 1 256 2 65535 1 | check '>u2'
{ array '<i2' '(4,)'; printf '\x01\x00\x00\x80\xff\xff\x01\x00'; } >in.npy
lines -32768 1 -1 1 1 2 | check '<i2'
{ array '>i2' '(4,)'; printf '\x01\x00\x80\x00\xff\xff\x01\x00'; } >in.npy
lines -32768 1 -1 1 256 2 | check '>i2'
{ array '<u4' '(3,)'; printf '\x01\x02\x03\x04\xff\xff\xff\xff\x00\x00\x00\x80'; } >in.npy
lines 67305985 1 2147483648 1 4294967295 1 | check '<u4'
{ array '>u4' '(3,)'; printf '\x01\x02\x03\x04\xff\xff\xff\xff\x80\x00\x00\x00'; } >in.npy
lines 16909060 1 2147483648 1 4294967295 1 | check '>u4'
{ array '<i4' '(4,)'; printf '\x01\x02\x03\x04\xff\xff\xff\xff\x00\x00\x00\x80\xff\xff\xff\x7f'; } >in.npy
lines -2147483648 1 -1 1 67305985 1 2147483647 1 | check '<i4'
{ array '>i4' '(2,)'; printf '\x01\x02\x03\x04\x80\x00\x00\x00'; } >in.npy
lines -2147483648 1 16909060 1 | check '>i4'
{ array '<u8' '(3,)'; printf '\x01\x02\x03\x04\x05\x06\x07\x08\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00'; } >in.npy
lines 0 1 578437695752307201 1 18446744073709551615 1 | check '<u8'
{ array '>u8' '(2,)'; printf '\x01\x02\x03\x04\x05\x06\x07\x08\xff\xff\xff\xff\xff\xff\xff\xfe'; } >in.npy
lines 72623859790382856 1 18446744073709551614 1 | check '>u8'
{ array '<i8' '(4,)'; printf '\x00\x00\x00\x00\x00\x00\x00\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x05\x00\x00\x00\x00\x00\x00\x00'; } >in.npy
lines -9223372036854775808 1 -1 1 5 1 9223372036854775807 1 | check '<i8'
{ array '>i8' '(2,)'; printf '\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05'; } >in.npy
lines -9223372036854775808 1 5 1 | check '>i8'

# Shapes, orders, spellings, versions.
{ array '|u1' '()'; printf '\x07'; } >in.npy
lines 7 1 | check 'no dimension'
for shape in '(0,)' '(3, 0)' '(18446744073709551615, 18446744073709551615, 0)'; do
    array '<i4' "$shape" >in.npy
    check "empty, $shape" </dev/null
done
{ array '|u1' '(2, 3)'; printf '\x01\x02\x03\x01\x02\x01'; } >in.npy
lines 1 3 2 2 3 1 | check 'two dimensions'
{ header 1 "{'descr': '|u1', 'fortran_order': True, 'shape': (3, 2), }"; printf '\x01\x02\x03\x01\x02\x01'; } >in.npy
lines 1 3 2 2 3 1 | check 'Fortran order'
for version in 1 2 3; do
    { header $version '{"shape":(2L,1,2), "fortran_order" :False,"descr":"|u1"}'; printf '\x01\x02\x01\x01'; } >in.npy
    lines 1 3 2 1 | check "version $version, other spelling"
done
gzip -c in.npy >x.gz && mv x.gz in.npy
lines 1 3 2 1 | check 'compressed'

# More elements than a batch: 0 to 9, 60,000 times each.
{ array '|u1' '(600, 1000)'; for _ in {1..600}; do printf '\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09%.0s' {1..100}; done; } >in.npy
for key in {0..9}; do lines "$key" 60000; done | check 'many elements'
grep -Eq '^10 distinct of 600000 values, [0-9.]+ M values/s, [0-9.]+ s, table of [0-9.]+ MB$' "$err" ||
    failed "summary: $(cat "$err")"

# The result as .npy: the header, then pairs whose keys have the type of the array, smallest first.
# reversed HEX: its bytes in the other order. binary HEX...: as bytes.
reversed() { local i; for ((i = ${#1}; i > 0; i -= 2)); do printf '%s' "${1:i-2:2}"; done; }
binary() { printf '%b' "$(printf '%s' "$@" | sed 's/../\\x&/g')"; }
for type in '|i1' '|u1' '<i2' '>i2' '<u2' '>u2' '<i4' '>i4' '<u4' '>u4' '<i8' '>i8' '<u8' '>u8'; do
    width=${type:2}
    zeros=00000000000000
    zeros=${zeros:0:2*width-2}
    least=80$zeros largest=7f${zeros//0/f} all_ones=ff${zeros//0/f} five=${zeros}05
    keys=("$largest" "$five" "$all_ones" "$least" "$all_ones") # most significant byte first
    sorted=("$least" "$all_ones" "$five" "$largest")
    counts=(1 2 1 1)
    if [[ $type == *u* ]]; then
        sorted=("$five" "$largest" "$least" "$all_ones")
        counts=(1 1 1 2)
    fi
    {
        array "$type" '(5,)'
        for key in "${keys[@]}"; do
            [[ $type == '<'* ]] && key=$(reversed "$key")
            binary "$key"
        done
    } >in.npy
    {
        # 128 bytes in all, so that elements begin at a multiple of 64.
        printf '\x93NUMPY\x01\x00\x76\x00'
        printf "%-117s\n" "{'descr': [('key', '${type/>/<}'), ('count', '<u8')], 'fortran_order': False, 'shape': (4,), }"
        for i in 0 1 2 3; do binary "$(reversed "${sorted[i]}")" "0${counts[i]}00000000000000"; done
    } >wanted.npy
    expect_success "$BULKHASH" count --sort in.npy --output out.npy
    cmp wanted.npy out.npy || failed "$type, sorted as .npy: $(tail -c +11 out.npy | od -An -c | head -n 20)"
    # In any order: the same records.
    expect_success "$BULKHASH" count in.npy --output out.npy
    tail -c +129 out.npy | od -An -v -t x1 -w$((width + 8)) | sort |
        expect_file "$type as .npy" <(tail -c +129 wanted.npy | od -An -v -t x1 -w$((width + 8)) | sort)
done
# pairs FILE: elements with keys of 8 bytes as decimal numbers, two in a line.
pairs() { tail -c +129 "$1" | od -An -v -t u8 -w16 | awk -v OFS='\t' '{ print $1, $2 }'; }
printf '>a\nCATTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT\n' >in.fa
expect_success "$BULKHASH" count -k 32 -s in.fa -o out.npy
# CA and 30 T: 01 00 and 60 ones; A and 31 T; 32 T.
lines 4611686018427387903 1 5764607523034234879 1 18446744073709551615 1 |
    expect_file 'k-mers as numbers' <(pairs out.npy)
grep -q "('key', '<u8')" out.npy || failed 'the type of k-mers'
printf '>a\nA\n' >in.fa
expect_success "$BULKHASH" count -k 2 in.fa -o out.npy
[[ $(stat -c %s out.npy) -eq 128 ]] || failed 'empty result as .npy'
grep -q "'shape': (0,)" out.npy || failed 'shape of the empty result'

# A result is an array itself, but not one of integers.
expect_error 1 'structured' "$BULKHASH" count out.npy

# Where NumPy is at hand, it reads what we write and we read what it writes.
if python3 -c 'import numpy' 2>/dev/null; then
    python3 - <<'PYTHON' >wanted.tsv
import numpy
numbers = numpy.asfortranarray(numpy.arange(-500, 500, dtype='>i4').reshape(10, 100) % 77 - 33)
numpy.save('in.npy', numbers)
for key, count in zip(*numpy.unique(numbers, return_counts=True)):
    print(key, count, sep='\t')
PYTHON
    check 'from NumPy' <wanted.tsv
    expect_success "$BULKHASH" count --sort in.npy --output out.npy
    python3 -c '
import numpy
pairs = numpy.load("out.npy")
assert pairs.dtype.descr == [("key", "<i4"), ("count", "<u8")], pairs.dtype
for key, count in zip(pairs["key"], pairs["count"]):
    print(key, count, sep="\t")' | expect_file 'to NumPy' wanted.tsv
fi

# Files that are not what they say.
run() { "$BULKHASH" count bad.npy --output out.tsv; }
: >bad.npy
expect_error 1 'bad\.npy: is not a \.npy file' run
printf '\x93NUMP' >bad.npy
expect_error 1 'bad\.npy: is not a \.npy file' run
printf '>a\nACGTACGT\n' >bad.npy
expect_error 1 'bad\.npy: is not a \.npy file' run
printf '\x93NUMPY\x04\x00\x10\x00' >bad.npy
expect_error 1 'bad\.npy: is a \.npy file of version 4\.0' run
printf '\x93NUMPY\x01\x01\x10\x00' >bad.npy
expect_error 1 'bad\.npy: is a \.npy file of version 1\.1' run
expect_error 1 'missing\.npy: cannot be opened: No such file' "$BULKHASH" count missing.npy

for type in '<f8' '<f4' '|b1' '<M8[s]' '<U3' '|S4' '|O' '<c16' '<i16' '<i3' '|i2' 'i4' '<u' ''; do
    { array "$type" '(1,)'; head -c 16 /dev/zero; } >bad.npy
    expect_error 1 'bad\.npy: holds elements of type .*not integers' run
done
header 1 "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (0,), }" >bad.npy
expect_error 1 'bad\.npy: holds structured elements' run

for text in '' '{' '{}' 'x' "{'descr': '<i4', 'fortran_order': False}" "{'descr': '<i4', 'shape': (1,)}" \
    "{'fortran_order': False, 'shape': (1,)}" "{'descr': '<i4', 'fortran_order': False, 'shape': (1,)" \
    "{'descr': '<i4', 'fortran_order': False, 'shape': (1,)} x" \
    "{'descr': '<i4', 'descr': '<i4', 'fortran_order': False, 'shape': (1,)}" \
    "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), 'more': 1}" \
    "{'descr': '<i4', 'fortran_order': 0, 'shape': (1,)}" "{'descr': '<i4', 'fortran_order': False, 'shape': 1}" \
    "{'descr': '<i4', 'fortran_order': False, 'shape': (-1,)}" \
    "{'descr': '<i4', 'fortran_order': False, 'shape': (1.5,)}" \
    "{'descr': '<i4', 'fortran_order': False, 'shape': (1" "{'descr': '<i4" "{'descr'" "{'descr': 4}" \
    "{'descr': '<i4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}" \
    "{'descr': '<i4', 'fortran_order': False, 'shape': (4611686018427387904,)}" \
    "{'descr': '<i4', 'fortran_order': False, 'shape': (18446744073709551616,)}"; do
    { header 1 "$text"; head -c 4 /dev/zero; } >bad.npy
    expect_error 1 'bad\.npy: its \.npy header is damaged' run
done
{ header 1 "{'descr': '<i4', 'fortran_order': False, 'shape': (1,)}" | tr ' ' '\0'; head -c 4 /dev/zero; } >bad.npy
expect_error 1 'bad\.npy: its \.npy header is damaged' run

# Lengths of the header that lie: too long for the file, too short for the text, far too long.
array '<i4' '(1,)' >good
size=$(stat -c %s good)
for ((length = 8; length < size; length += 7)); do
    head -c "$length" good >bad.npy
    expect_error 1 'bad\.npy: its \.npy header is damaged|bad\.npy: is not' run
done
for bytes in '\x00\x00' '\x05\x00' '\x30\x00' '\xff\xff'; do
    { printf '%b' "\x93NUMPY\x01\x00$bytes"; tail -c +11 good; printf '\x01\x00\x00\x00'; } >bad.npy
    expect_error 1 'bad\.npy: its \.npy header is damaged' run
done
{ printf '\x93NUMPY\x02\x00\xff\xff\xff\xff'; tail -c +11 good; } >bad.npy
expect_error 1 'bad\.npy: its \.npy header is damaged, it is longer' run

# Elements that are missing or too many; from a pipe, where the size is not known before, too.
for bytes in 0 1 3 4 7; do
    { array '<i4' '(2,)'; head -c $bytes /dev/zero; } >bad.npy
    expect_error 1 'bad\.npy: is cut short, its header promises' run
done
for bytes in 9 12 1000; do
    { array '<i4' '(2,)'; head -c $bytes /dev/zero; } >bad.npy
    expect_error 1 'bad\.npy: goes on after the array, its header promises' run
done
{ array '<i4' '(1000000000000,)'; head -c 4 /dev/zero; } >bad.npy
expect_error 1 'bad\.npy: is cut short' run
mkfifo pipe.npy
{ array '<i4' '(2,)'; head -c 7 /dev/zero; } >pipe.npy &
expect_error 1 'pipe\.npy: is cut short, it ends before element 2 of 2' "$BULKHASH" count pipe.npy
wait
{ array '<i4' '(2,)'; head -c 9 /dev/zero; } >pipe.npy &
expect_error 1 'pipe\.npy: goes on after the 2 elements' "$BULKHASH" count pipe.npy
wait
finish
