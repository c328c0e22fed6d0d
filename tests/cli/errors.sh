#!/usr/bin/env bash
# Whatever is wrong with the command line, the input or the output: one sentence, the right exit
# status, no file left behind and none changed.
. "$(dirname "$0")/common.bash"

printf '>a\nACGTACGT\n' >in.fa
echo precious >kept.tsv

# The command line: 2.
expect_error 2 'no command.*--help' "$BULKHASH"
expect_error 2 'frobnicate: no such command.*--help' "$BULKHASH" frobnicate
expect_error 2 '--frobnicate: no such option; see bulkhash --help' "$BULKHASH" --frobnicate
expect_error 2 '--frobnicate: no such option.*count --help' "$BULKHASH" count -k 3 in.fa --frobnicate
expect_error 2 '-x: no such option' "$BULKHASH" count -k 3 -x in.fa
expect_error 2 '--sort=3: this option takes no value' "$BULKHASH" count -k 3 --sort=3 in.fa
expect_error 2 'no FILE' "$BULKHASH" count --kmers 3
expect_error 2 'no FILE' "$BULKHASH" count
for option in --kmers --output --threads --device -k -o -t -d; do
    expect_error 2 "$option: needs a value" "$BULKHASH" count in.fa $option
done
for k in 0 33 64 -1 +3 '' ' 3' 3x x 3.0 0x3 4294967299 18446744073709551619 99999999999999999999; do
    expect_error 2 "--kmers: '.*' is not a whole number from 1 to 32" \
        "$BULKHASH" count --kmers "$k" in.fa --output kept.tsv
done
for threads in 0 -1 x '' 99999999999; do
    expect_error 2 '--threads: .*whole number' "$BULKHASH" count -k 3 --threads "$threads" in.fa
done
expect_error 2 'in\.fa: .*--kmers' "$BULKHASH" count in.fa --output kept.tsv
expect_error 2 'canonical' "$BULKHASH" count --canonical in.npy
expect_error 2 'canonical' "$BULKHASH" count --canonical --text in.txt
expect_error 2 'text: .*no k-mers.*leave out --kmers' "$BULKHASH" count --text --kmers 3 in.fa
expect_error 2 'in\.npy: an array is no text; leave out --text' "$BULKHASH" count --text in.txt in.npy
expect_error 2 '--text=1: this option takes no value' "$BULKHASH" count --text=1 in.txt
expect_error 2 'in\.npy: .*--kmers' "$BULKHASH" count --kmers 3 in.npy
expect_error 2 'output: .*empty' "$BULKHASH" count -k 3 in.fa --output ''
expect_error 2 'please: devices takes no arguments' "$BULKHASH" devices please

# What was meant is suggested where one is near: a letter missing, too many, wrong, exchanged.
while read -r typed meant; do
    expect_error 2 "^bulkhash: $typed: no such (command|option); did you mean '$meant'\?\$" "$BULKHASH" "$typed"
done <<'END'
cuont count
conut count
cont count
counts count
xount count
device devices
bnech bench
help --help
-version --version
--hepl --help
END
while read -r typed meant; do
    for words in "$typed" "$typed 3" "$typed=3"; do
        # shellcheck disable=SC2086 # a list of words
        expect_error 2 "^bulkhash: $typed(=3)?: no such option; did you mean '$meant'\?\$" \
            "$BULKHASH" count in.fa $words
    done
done <<'END'
--kmres --kmers
--mers --kmers
--cannonical --canonical
--ouput --output
--outputs --output
--sotr --sort
--thraeds --threads
--txt --text
--divice --device
--hepl --help
END
for typed in x count-everything - -- '' frobnicate; do
    expect_error 2 'see bulkhash --help$' "$BULKHASH" "$typed"
done

# What is neither named like an array nor counted with --kmers: the kinds of files that are read.
for name in ids.csv ids.npz ids.npy.gz ids in.fa reads.fq missing; do
    expect_error 2 "^bulkhash: $name: without --kmers K or --text .*FILE\.npy; --text .*FASTA and FASTQ, plain or gzip\$" \
        "$BULKHASH" count $name --output kept.tsv
done

# The input: 1.
run() { "$BULKHASH" count -k 3 "$@" --output kept.tsv; }
expect_error 1 'missing\.fa: cannot be opened: No such file' run missing.fa
expect_error 1 'in\.fa/x: cannot be opened: Not a directory' run in.fa/x
mkdir folder
expect_error 1 'folder: is a folder' run folder
: >empty.fa
expect_error 1 'empty\.fa: is empty' run empty.fa
printf '\n \r\n\n' >blank.fa
expect_error 1 'blank\.fa: is empty' run blank.fa
gzip -c empty.fa >empty.gz
expect_error 1 'empty\.gz: is empty' run empty.gz
printf '17,4\n' >ids.csv
expect_error 1 "ids\.csv: is neither FASTA nor FASTQ, it begins with '1' where '>'" run ids.csv
printf 'ACGT\n' >bare.fa
expect_error 1 "bare\.fa: is neither FASTA nor FASTQ, it begins with 'A' where '>'" run bare.fa
printf '\177ELF' >binary
expect_error 1 'binary: is neither FASTA nor FASTQ, it begins with byte 0x7f' run binary
printf '\357\273\277>a\nACGT\n' >mark.fa
expect_error 1 'mark\.fa: is neither FASTA nor FASTQ, it begins with byte 0xef' run mark.fa
for byte in '\x00' '\x01' '\x7f' '\x80' '\xff'; do
    printf '%b' ">first one\nACGT\n>second one\nACGT${byte}ACGT\n" >bytes.fa
    expect_error 1 "bytes\.fa: is not FASTA or is damaged, record 2 \('second'\) holds byte 0x" run bytes.fa
done
expect_error 1 'line\?break\.fa: cannot be opened' run $'line\nbreak.fa'
if ((EUID != 0)); then
    printf '>a\nACGT\n' >secret.fa
    chmod 000 secret.fa
    expect_error 1 'secret\.fa: cannot be opened: Permission denied' \
        "$BULKHASH" count -k 3 secret.fa
    rm -f secret.fa
fi

# The output: 1, and before the work begins: the input is a pipe that nobody ever writes to behind
# its first bytes, so a program that began to count would not end.
expect_error 1 'in\.fa: is the input file' "$BULKHASH" count -k 3 in.fa --output in.fa
ln in.fa hard.fa
ln -s in.fa soft.fa
for name in ./in.fa hard.fa soft.fa folder/../in.fa; do
    expect_error 1 'is the input file' "$BULKHASH" count -k 3 in.fa --output "$name"
    expect_error 1 'is the input file' "$BULKHASH" count -k 3 "$name" --output in.fa
done
ln -s nowhere dangling
mkfifo endless
for output in folder folder/ new/ no/such/folder/x in.fa/x dangling; do
    exec 3<>endless
    printf '>a\nACGT' >&3
    expect_error 1 "$output: " timeout 1800 "$BULKHASH" count -k 3 endless --output "$output"
    exec 3>&-
done
expect_error 1 'File name too long' \
    "$BULKHASH" count -k 3 in.fa --output "$(printf 'x%.0s' {1..300})"
if ((EUID != 0)); then
    mkdir locked
    chmod 555 locked
    expect_error 1 'Permission denied' "$BULKHASH" count -k 3 in.fa --output locked/out.tsv
    echo old >protected.tsv
    chmod 444 protected.tsv
    expect_error 1 'Permission denied' "$BULKHASH" count -k 3 in.fa --output protected.tsv
fi

# The library.
for command in 'count -k 3 in.fa --output kept.tsv' 'count -k 3 in.fa'; do
    # shellcheck disable=SC2086 # a list of words
    expect_error 1 'BULKHASH_TARGET' env BULKHASH_TARGET=nonsense "$BULKHASH" $command
done

# A good run replaces the file, keeps who may read it, and leaves nothing else.
if ((EUID == 0)); then chown 65534:65534 kept.tsv; fi
chmod 640 kept.tsv
access=$(stat -c '%u %g %a' kept.tsv)
ln -s kept.tsv link.tsv
before=$(ls -A)
umask 077
expect_success "$BULKHASH" count -k 8 in.fa --output link.tsv
printf 'ACGTACGT\t1\n' | expect_file 'replaced' kept.tsv
[[ -L link.tsv && $(stat -c '%u %g %a' kept.tsv) == "$access" ]] || failed "link, owner or mode lost: $(ls -l)"
(umask 027 && "$BULKHASH" count -k 8 in.fa --output new.tsv 2>"$err")
[[ $(stat -c %a new.tsv) == 640 ]] || failed "umask not kept: $(ls -l new.tsv)"
rm -f new.tsv
[[ $before == "$(ls -A)" ]] || failed "files left behind: $(ls -A)"
finish
