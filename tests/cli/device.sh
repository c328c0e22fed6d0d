#!/usr/bin/env bash
# --device: names that are none, a GPU that is not there, and on the GPU that is made of host memory
# (tests/fake) the same counts as on cores, and what it says when the GPU fails.
. "$(dirname "$0")/common.bash"

{ random_letters 60000 3 ACGTACGTACGTACGTN | fold -w 61 | sed '1s/^/>a\n/'; } >in.fa
awk 'BEGIN { srand(2); for (i = 0; i < 30000; i++) print int(rand() * 20000) - 500 }' >in.txt
echo precious >kept.tsv

for device in '' gpu CPU cuda: cuda:x cuda:-1 'cuda:1 ' cuda:12345 cudax cpu:0 ' cpu'; do
    expect_error 2 "^bulkhash: --device: '$device' is none of cpu, cuda and cuda:N; see bulkhash devices\$" \
        "$BULKHASH" count -T in.txt --device "$device" -o kept.tsv
done
expect_error 2 '--device: needs a value' "$BULKHASH" count -T in.txt --device

# The machine may well have a GPU; this module it has not.
without() { BULKHASH_CUDA_MODULE=./no-such-module.so "$BULKHASH" "$@"; }
for device in cuda cuda:0; do
    expect_error 1 "^bulkhash: --device $device: cannot be used: .*; see bulkhash devices\$" \
        without count -T in.txt --device $device -o kept.tsv
done

expect_success "$BULKHASH" count -T -s in.txt --device cpu -o cpu.tsv
expect_success "$BULKHASH" count -T -s in.txt -o text.tsv
expect_file 'the cores by name' cpu.tsv <text.tsv
expect_success "$BULKHASH" count -k 9 -c -s in.fa -o kmers9.tsv
expect_success "$BULKHASH" count -k 31 -s in.fa -o kmers31.tsv
if [[ -z ${BULKHASH_FAKE_MODULE:-} || ! -f $BULKHASH_FAKE_MODULE ]]; then
    echo "the rest is skipped: there is no fake module" >&2
    finish
fi

export BULKHASH_CUDA_MODULE=$BULKHASH_FAKE_MODULE
for threads in 1 3; do
    expect_success "$BULKHASH" count -T -s -t $threads in.txt -d cuda -o out.tsv
    expect_file "text, $threads threads" out.tsv <text.tsv
    expect_success "$BULKHASH" count -T -t $threads in.txt --device=cuda -o out.tsv
    sort out.tsv | expect_file "text, $threads threads, not sorted" <(sort text.tsv)
    expect_success "$BULKHASH" count -k 9 -c -s -t $threads in.fa -d cuda -o out.tsv
    expect_file "9-mers, $threads threads" out.tsv <kmers9.tsv
    expect_success "$BULKHASH" count -k 31 -s -t $threads in.fa -d cuda -o out.tsv
    expect_file "31-mers, $threads threads" out.tsv <kmers31.tsv
done
grep -Eq '^[0-9]+ distinct of [0-9]+ 31-mers, .* (table of [0-9.]+ MB|[0-9.]+ bytes per key)$' "$err" ||
    failed "summary: $(cat "$err")"
expect_success "$BULKHASH" count -T -H -m 2 in.txt -d cuda -o out.tsv
cut -f 2 text.tsv | sort -n | uniq -c | awk -v OFS='\t' '$2 >= 2 { print $2, $1 }' | expect_file 'a histogram' out.tsv
# Many keys, all distinct: on a GPU they go to a table, too.
seq 200000 >many.txt
expect_success "$BULKHASH" count -T many.txt -d cuda -o out.tsv
grep -q 'bytes per key$' "$err" || failed "not in a table: $(cat "$err")"
sort -n out.tsv | expect_file 'many' <(seq 200000 | sed 's/$/\t1/')

# A GPU that fails, at any moment: one sentence, and the output that was there stays.
fails() { env "$1=$2" "$BULKHASH" count -T -s in.txt -d cuda -o kept.tsv; }
for what in FAIL REFUSE LOSE; do
    ended=0
    for number in 1 3 10 30; do
        status=0
        fails BULKHASH_FAKE_$what $number >"$out" 2>"$err" || status=$?
        case $status in
        0) expect_file "$what $number" kept.tsv <text.tsv ;;
        1)
            ended=$((ended + 1))
            { [[ $(wc -l <"$err") -eq 1 ]] && grep -q '^bulkhash: ' "$err"; } || failed "$what $number: $(cat "$err")"
            expect_file "$what $number, nothing overwritten" kept.tsv <<<precious
            ;;
        *) failed "$what $number: exit status $status: $(cat "$err")" ;;
        esac
        echo precious >kept.tsv
    done
    ((ended >= 2)) || failed "$what made $ended of 4 runs fail"
done
expect_error 1 'in\.txt: cannot be counted' env BULKHASH_FAKE_MEMORY=100000 "$BULKHASH" count -T in.txt -d cuda -o kept.tsv
finish
