#!/usr/bin/env bash
# Random command lines of `count`: options in any order and spelling, numbers in and out of range,
# inputs and outputs of every kind, good and bad. A model of a few lines says the exit status and
# where the counts must be; whatever else is in the folder stays as it was.
. "$(dirname "$0")/common.bash"

seed=${BULKHASH_TEST_SEED:-$RANDOM}
echo "BULKHASH_TEST_SEED=$seed"
RANDOM=$seed

# pick WORD...: sets $picked to one of them.
pick() { shift $((RANDOM % $#)); picked=$1; }
# add_option LETTER NAME [VALUE]: puts an option at either end of the line, in one of its spellings.
add_option() {
    local words=("$2")
    ((RANDOM % 2)) && words=("-$1")
    if (($# > 2)); then
        pick "$2 VALUE" "$2=VALUE" "${2:0:4} VALUE" "-$1 VALUE" "-${1}VALUE"
        [[ $picked != "-${1}VALUE" || -n $3 ]] || picked="-$1 VALUE" # it would take the next word
        read -ra words <<<"$picked"
        words[-1]=${words[-1]/VALUE/$3}
    fi
    if ((RANDOM % 2)); then line+=("${words[@]}"); else line=("${words[@]}" "${line[@]}"); fi
}

mkdir wanted inputs streams place place/folder
# 40 letters without N, so that there is a k-mer of each length.
{ random_letters 3000 "$seed" ACGTacgtN && random_letters 40 "$seed"; } | fold -w 61 | sed '1s/^/>a\n/' >inputs/in.fa
gzip -c inputs/in.fa >inputs/in.gz
printf '1,2\n' >inputs/ids.csv
printf '%s\n' 7 -0x7 7 +0 0x7fffffffffffffff 0 7 >inputs/in.txt
printf '%s\t%s\n' -7 1 0 2 7 3 9223372036854775807 1 >wanted/text
{
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '|i1', 'fortran_order': False, 'shape': (5,), }"
    printf '\x00\x7f\x80\xff\x80'
} >inputs/in.npy
printf '%s\t%s\n' -128 2 -1 1 0 1 127 1 >wanted/array
for k in 1 2 3 17 32; do
    reference $k '' inputs/in.fa >wanted/$k
    reference $k 1 inputs/in.fa >wanted/$k-canonical
done
echo precious | tee place/old.tsv >place/old.npy
ln -s old.tsv place/link.tsv
ln -s nowhere place/dangling
ln -s /dev/stdout place/out
list_all() { (cd inputs && list_files) && (cd place && list_files); }
before=$(list_all)
export BULKHASH_CUDA_MODULE=./no-such-module.so # so there is no GPU, whatever the machine has

for ((round = 0; round < 150; round++)); do
    line=() status=0 k='' canonical='' sorted='' sink='' times=1 least=1 histogram='' output_only='' \
        text='' device=cpu full=''

    pick in.fa in.fa in.fa in.gz in.npy in.npy in.txt in.txt ids.csv missing.fa missing.npy none two
    input=$picked
    case $input in
    none) status=2 ;;
    two) line=(../inputs/in.fa ../inputs/in.gz) times=2 ;;
    *) line=("../inputs/$input") ;;
    esac
    is_array=0 is_text=0
    [[ $input != *.npy ]] || is_array=1
    [[ $input != *.txt ]] || is_text=1

    # Text has --text, sequences have --kmers, an array has neither; in some rounds it is not so.
    if ((is_text == (RANDOM % 6 > 0))); then
        text=1
        add_option T --text
    fi
    if (((is_array || is_text) != (RANDOM % 4 > 0))); then
        pick 1 2 3 17 32 1 2 3 17 32 0 33 -1 '' x 4294967297
        k=$picked
        add_option k --kmers "$k"
        [[ -n $k && -f wanted/$k && $is_array == 0 && -z $text ]] || status=2
    elif ((is_array == ${#text})); then
        status=2
    fi
    if ((RANDOM % 3 == 0)); then
        canonical=-canonical
        add_option c --canonical
        [[ -n $k ]] || status=2
    fi
    if ((RANDOM % 2)); then
        sorted=1 output_only=1
        add_option s --sort
    fi
    if ((RANDOM % 2)); then
        pick 1 2 3 16 1 2 3 16 0 1025 x ''
        threads=$picked
        add_option t --threads "$threads"
        [[ $threads == @(1|2|3|16) ]] || status=2
    fi
    if ((RANDOM % 4 == 0)); then
        pick cpu cpu cuda cuda:1 gpu ''
        device=$picked
        add_option d --device "$device"
        [[ $device == @(cpu|cuda|cuda:1) ]] || status=2
    fi
    if ((RANDOM % 4 == 0)); then
        pick 1 2 3 400 1 2 3 400 0 -1 x ''
        least=$picked output_only=1
        add_option m --min-count "$least"
        [[ $least == [1-9]* ]] || status=2
    fi
    if ((RANDOM % 5 == 0)); then
        histogram=1 output_only=1
        add_option H --histogram
    fi
    if ((RANDOM % 5)); then
        output_only=''
        pick new.tsv new.tsv old.tsv link.tsv ./- new.npy old.npy - /dev/stdout /dev/fd/1 out \
            /dev/fd/3 /dev/null /dev/full folder new/ no/such dangling /dev/fd/99 /proc/none '' \
            "../inputs/${input/two/in.gz}"
        output=$picked
        add_option o --output "$output"
        case $output in
        '') status=2 ;;
        - | /dev/stdout | /dev/fd/1 | out) sink=streams/1 ;;
        /dev/fd/3) sink=streams/3 ;;
        /dev/null) ;;
        /dev/full) full=1 ;;
        link.tsv) sink=place/old.tsv ;;
        new.* | old.* | ./-) sink=place/$output ;;
        *) ((status == 2)) || status=1 ;;
        esac
    fi
    [[ -z $output_only ]] || status=2
    if ((RANDOM % 12 == 0)); then
        pick --frobnicate --sort=3 --canonical= -x -cx --kmer-size=3
        line=("$picked" "${line[@]}") status=2
    fi
    ((RANDOM % 12)) || [[ ${#line[@]} == 0 || $input == none ]] || line+=(--)
    # What is there but is not of the kind that was asked for, and a GPU that is not there.
    if [[ $status == 0 ]]; then
        [[ $input != @(ids.csv|missing*) && $device == cpu ]] || status=1
        ((is_array || is_text == ${#text})) || status=1
    fi
    wanted=wanted/$k$canonical
    ((!is_array)) || wanted=wanted/array
    ((!is_text)) || wanted=wanted/text
    # A full disk has room for nothing at all.
    if [[ $status == 0 && -n $full ]]; then
        awk -F '\t' -v times=$times -v least="$least" '$2 * times >= least { exit 1 }' $wanted || status=1
    fi
    said="round $round: count ${line[*]@Q}"

    got=0
    echo before | tee streams/1 >streams/3
    (cd place && "$BULKHASH" count "${line[@]}" >>../streams/1 3>>../streams/3 2>"$err") || got=$?
    ((got == status)) || failed "$said: exit status $got instead of $status: $(<"$err")"
    [[ $(wc -l <"$err") -eq 1 ]] || failed "$said: not one line: $(<"$err")"
    if ((status > 0)); then
        sink=''
        grep -q '^bulkhash: ' "$err" || failed "$said: not an error sentence: $(<"$err")"
    fi

    if [[ -n $sink ]]; then
        awk -F '\t' -v OFS='\t' -v times=$times -v least="$least" \
            '$2 * times >= least { print $1, $2 * times }' $wanted >wanted/now
        if [[ -n $histogram ]]; then
            cut -f 2 wanted/now | sort -n | uniq -c | awk -v OFS='\t' '{ print $2, $1 }' >wanted/histogram
            mv wanted/histogram wanted/now
            sorted=1
        fi
        wanted=wanted/now
    fi
    for stream in streams/1 streams/3; do
        [[ $(head -n 1 $stream) == before ]] || failed "$said: $stream has lost what it held"
        sed -i 1d $stream
        [[ $stream == "$sink" || ! -s $stream ]] || failed "$said: $stream gets $(head -n 3 $stream)"
    done
    case $sink in
    '') ;;
    *.npy)
        # Pairs of a key, one byte of the array or eight of others, and a count of eight bytes.
        size=$((128 + $(wc -l <"$wanted") * (is_array && !${#histogram} ? 9 : 16)))
        [[ $(stat -c %s "$sink") == "$size" ]] || failed "$said: $sink has not $size bytes"
        ;;
    *)
        if [[ -n $sorted ]]; then
            expect_file "$said" "$sink" <"$wanted"
        else
            sort "$wanted" | expect_file "$said" <(sort "$sink")
        fi
        ;;
    esac
    case $sink in
    place/old.*) echo precious >"$sink" ;;
    place/*) rm "$sink" ;;
    esac
    [[ $before == "$(list_all)" ]] || failed "$said: other files changed:"$'\n'"$(list_all)"
done
finish
