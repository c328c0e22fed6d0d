#!/usr/bin/env bash
# gzip files that are cut short or damaged: one sentence, never a result. Every length of a short
# file is tried, the checksum and length at its end included; in a file of two members, whatever
# breaks the second; in a file larger than all buffers, some places.
. "$(dirname "$0")/common.bash"

run() { "$BULKHASH" count -k 5 "$1" -o out.tsv; }

{ printf '>a\n'; random_letters 150 3; echo; } >in.fa
gzip -n -9 -c in.fa >whole.gz
size=$(stat -c %s whole.gz)
# Two bytes are the least that look like gzip.
for ((length = 2; length < size; length++)); do
    head -c "$length" whole.gz >cut.gz
    expect_error 1 'cut\.gz: the gzip data is cut short' run cut.gz
done

# flip FILE OFFSET: turns all bits of one byte.
flip() {
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    printf '%b' "\\$(printf %03o $((255 - byte)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
for ((offset = size - 8; offset < size; offset++)); do
    cp whole.gz bad.gz
    flip bad.gz "$offset"
    expect_error 1 'bad\.gz: the gzip data is damaged' run bad.gz
done
cp whole.gz bad.gz
flip bad.gz 2 # the compression method
expect_error 1 'bad\.gz: the gzip data is damaged' run bad.gz

cat whole.gz whole.gz >two.gz
for offset in 0 1 2; do
    cp two.gz bad.gz
    flip bad.gz $((size + offset)) # the beginning of the second member
    expect_error 1 'bad\.gz: the gzip data is damaged' run bad.gz
done
for more in 1 2 5 18; do
    head -c $((size + more)) two.gz >cut.gz
    expect_error 1 'cut\.gz: the gzip data is cut short' run cut.gz
done
{ cat whole.gz; echo rubbish; } >bad.gz
expect_error 1 'bad\.gz: the gzip data is damaged' run bad.gz

{ printf '>a\n'; random_letters 1200000 4 | fold -w 70; echo; } | gzip -n -c >whole.gz
size=$(stat -c %s whole.gz)
((size > 300000)) || failed "the large file is only $size bytes"
for length in 1000 131071 131072 131073 200000 $((size - 9)) $((size - 8)) $((size - 1)); do
    head -c "$length" whole.gz >cut.gz
    expect_error 1 'cut\.gz: the gzip data is cut short' run cut.gz
done
cp whole.gz bad.gz
flip bad.gz 250000
expect_error 1 'bad\.gz: the gzip data is damaged|bad\.gz: is not FASTA or is damaged' run bad.gz
finish
