#!/usr/bin/env bash
# Where counts may go besides a new file: standard output under all its names, other descriptors,
# pipes, devices, links. What stood there before stays, nothing but a regular file is replaced.
. "$(dirname "$0")/common.bash"

printf '>a\nACGTACGT\n' >in.fa
printf 'AC\t2\nCG\t2\nGT\t2\nTA\t1\n' >wanted.tsv
{ echo before; cat wanted.tsv; echo after; } >between.tsv
{ random_letters 200000 31 | fold -w 70 | sed '1s/^/>a\n/'; } >large.fa
expect_success "$BULKHASH" count -k 12 -s large.fa -o large.tsv
count() { "$BULKHASH" count --kmers 2 --sort in.fa --output "$@"; }
between() { echo before; count "$1" || echo failed; echo after; }

# Standard output: written behind what is there, at the descriptor's own offset.
ln -s /dev/stdout link
mkdir folder
ln -s ../link folder/further
for name in - /dev/stdout /dev/fd/1 /proc/self/fd/1 link folder/further; do
    echo 'something longer than what is written' >file.tsv
    inode=$(stat -c %i file.tsv)
    between $name >file.tsv 2>"$err"
    expect_file "$name, >" file.tsv <between.tsv
    between $name >>file.tsv 2>"$err"
    cat between.tsv between.tsv | expect_file "$name, >>" file.tsv
    [[ $(stat -c %i file.tsv) == "$inode" ]] || failed "$name: the file was replaced"
    between $name 2>"$err" | cat | expect_file "$name, |" between.tsv
    cp large.tsv file.tsv
    count $name 1<>file.tsv 2>"$err"
    { cat wanted.tsv; tail -c "+$(($(stat -c %s wanted.tsv) + 1))" large.tsv; } |
        expect_file "$name, <>" file.tsv
    for threads in 1 3; do
        "$BULKHASH" count -k 12 -s -t $threads large.fa -o $name >file.tsv 2>"$err"
        expect_file "$name, large, $threads threads" file.tsv <large.tsv
        "$BULKHASH" count -k 12 -t $threads large.fa -o $name 2>"$err" | sort |
            expect_file "$name, large, $threads threads, |" large.tsv
    done
done
[[ -L link && -L folder/further && $(readlink link) == /dev/stdout ]] || failed 'a link was replaced'
expect_success count ./-
expect_file 'a file that is called -' ./- <wanted.tsv

# Other descriptors.
{ echo before >&3; count /dev/fd/3 2>"$err"; echo after >&3; } 3>file.tsv
expect_file 'descriptor 3' file.tsv <between.tsv
{ echo before >&2; count /dev/stderr; } 2>file.tsv
grep -q '^4 distinct of 7 2-mers' file.tsv || failed "standard error has no summary: $(cat file.tsv)"
sed -i 's/^4 distinct.*/after/' file.tsv
expect_file 'standard error' file.tsv <between.tsv

# .npy: its header tells the number of pairs, which is known before the first is written.
expect_success count wanted.npy
ln -s /dev/stdout link.npy
{ echo before; count link.npy 2>"$err"; } >file.npy
{ echo before; cat wanted.npy; } | cmp - file.npy || failed '.npy on standard output, >'
count link.npy 2>"$err" | cmp - wanted.npy || failed '.npy on standard output, |'
mkfifo pipe pipe.npy
for name in pipe pipe.npy; do
    cat $name >received &
    expect_success count $name
    wait
    [[ -p $name ]] || failed "$name was replaced"
    [[ $name == pipe ]] || cmp received wanted.npy || failed 'not the array from the named pipe'
done
cat pipe >received &
expect_success count pipe
wait
expect_file 'named pipe' received <wanted.tsv
expect_success count /dev/null
[[ -c /dev/null ]] || failed '/dev/null was replaced'

# What cannot be written: 1, found before the work, except for a full disk and a closed pipe.
closed() { count "$1" >&-; }
all_closed() { count "$1" <&- >&-; }
read_only() { count "$1" 1<wanted.tsv; }
full() { count "$1" >/dev/full; }
for name in - /dev/stdout; do
    for how in closed all_closed read_only; do
        expect_error 1 '(standard output|/dev/stdout): is closed or open for reading only; ' $how $name
    done
    expect_error 1 '(standard output|/dev/stdout): cannot be written: No space left on device; ' full $name
    onto_input() { count $name >>in.fa; }
    expect_error 1 '(standard output|/dev/stdout): is the input file' onto_input
done
expect_error 1 '/dev/fd/77: is closed or ' count /dev/fd/77
for name in /dev/fd/x /dev/fd/4294967297 /dev/fd/-1 /proc/none; do
    expect_error 1 "$name: cannot be written" count $name
done
ln -s loop loop
expect_error 1 'loop: cannot be written: Too many levels of symbolic links' count loop

# A reader that goes away ends the program as it ends other filters: by SIGPIPE, or where that is
# ignored, with a sentence.
"$BULKHASH" count -k 12 large.fa -o - 2>"$err" | head -c 1 >"$out"
status=${PIPESTATUS[0]}
{ ((status == 141)) && [[ ! -s $err ]]; } || failed "broken pipe: exit status $status, $(cat "$err")"
(trap '' PIPE && "$BULKHASH" count -k 12 large.fa -o - 2>"$err"; echo $? >status) | head -c 1 >"$out"
{ [[ $(<status) == 1 ]] && grep -q '^bulkhash: standard output: cannot be written: Broken pipe' "$err"; } ||
    failed "broken pipe, ignored: exit status $(<status), $(cat "$err")"
rm -f status

# A pipe that its other end has made non-blocking is waited for.
if command -v perl >/dev/null; then
    # shellcheck disable=SC2016 # perl's variables
    perl -e 'use Fcntl; fcntl(STDOUT, F_SETFL, O_WRONLY | O_NONBLOCK); exec @ARGV' \
        "$BULKHASH" count -k 12 -s large.fa -o - 2>"$err" | { sleep 0.2; cat; } |
        expect_file 'non-blocking pipe' large.tsv
fi

# A terminal may be input and output at once.
if script -qec true typescript >/dev/null 2>&1 </dev/null; then
    printf '>a\nACGTACGT\n\004' | TERM=dumb script -qec "'$BULKHASH' count -sk 2 /dev/tty -o -" typescript >"$out"
    tr -d '\r' <typescript | grep -F $'\t' | expect_file 'terminal' wanted.tsv
fi
finish
