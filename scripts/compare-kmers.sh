#!/usr/bin/env bash
# Counts the 31-mers of a genome with bulkhash, jellyfish and KMC, from .gz to lines of text, and
# says how many times faster bulkhash is (see --help).
set -euo pipefail
export LC_ALL=C # sort by bytes; decimal points
k=31 threads=2 bar=4.00

usage() {
    cat <<END
usage: scripts/compare-kmers.sh PROGRAM GENOME.fna.gz [REPETITIONS]

Counts the canonical $k-mers of GENOME by PROGRAM (bulkhash), jellyfish and KMC, $threads threads
each, in turn and REPETITIONS times (5), and times the whole way from .gz to lines "k-mer, tab,
count". A first round is not timed; there the lines of all must be the same, once they are sorted.
Prints the median (lowest to highest) of the seconds and of how many times as long as PROGRAM the
others take, beside the bar for that. One that is not installed is left out.
END
}

fail() { # fail STATUS SENTENCE
    echo "compare-kmers: $2" >&2
    exit "$1"
}

if [[ ${1-} == --help || ${1-} == -h ]]; then
    usage
    exit 0
fi
(($# == 2 || $# == 3)) || fail 2 "takes PROGRAM, GENOME.fna.gz and perhaps REPETITIONS; see --help"
program=$1 genome=$2 repetitions=${3-5}
[[ -f $program && -x $program ]] || fail 2 "$program: is no program; build it with make build"
[[ -f $genome && -r $genome ]] || fail 2 "$genome: cannot be read; name a FASTA file, gzip"
gzip -t "$genome" 2>/dev/null || fail 2 "$genome: is not gzip, or damaged"
[[ $repetitions =~ ^[1-9][0-9]{0,3}$ ]] ||
    fail 2 "REPETITIONS: '$repetitions' is not a whole number from 1 to 9999"

tools=(bulkhash)
if command -v jellyfish >/dev/null; then
    tools+=(jellyfish)
else
    echo "There is no jellyfish here (Debian: jellyfish): it is left out." >&2
fi
if command -v kmc >/dev/null && command -v kmc_tools >/dev/null; then
    tools+=(kmc)
else
    echo "There is no kmc or no kmc_tools here (Debian: kmc): it is left out." >&2
fi
((${#tools[@]} > 1)) || fail 1 "there is nothing to compare with; run scripts/setup.sh peers"

# In memory if there is room, so that no disk is timed: packed letters become four, each begins a
# line of some 34 bytes, and at most five files of that size are there at once.
needed_kib=$(($(stat -L -c %s "$genome") * 4 * 34 * 5 / 1024))
parent=${TMPDIR:-/tmp}
free_kib=$(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1) || free_kib=0
if [[ -d /dev/shm && -w /dev/shm ]] && ((free_kib > needed_kib)); then parent=/dev/shm; fi
folder=$(mktemp -d --tmpdir="$parent")
trap 'rm -rf "$folder"' EXIT

count_bulkhash() {
    "$program" count --kmers $k --canonical --threads $threads "$genome" \
        --output "$folder/bulkhash.tsv"
}
count_jellyfish() {
    zcat "$genome" |
        jellyfish count -m $k -C -s 10M -t $threads -o "$folder/jellyfish.jf" /dev/stdin
    jellyfish dump -c -t -o "$folder/jellyfish.tsv" "$folder/jellyfish.jf"
}
count_kmc() {
    kmc -k$k -ci1 -cs1000000000 -t$threads -fm "$genome" "$folder/kmc" "$folder/kmc-work"
    kmc_tools -t$threads transform "$folder/kmc" dump "$folder/kmc.tsv"
}

# run TOOL: leaves TOOL.tsv, and in $seconds how long that took. Not called in a condition, in which
# bash would go on after a command that failed.
run() {
    local begin end
    rm -rf "$folder/$1".* "$folder/kmc-work"
    mkdir "$folder/kmc-work"
    trap 'cat "$folder/log" >&2; rm -rf "$folder"; echo "compare-kmers: a count failed" >&2' EXIT
    begin=${EPOCHREALTIME/./}
    "count_$1" >"$folder/log" 2>&1
    end=${EPOCHREALTIME/./}
    trap 'rm -rf "$folder"' EXIT
    seconds=$(((end - begin) / 1000000)).$(printf %06d $(((end - begin) % 1000000)))
}

print_median() { # print_median: of the numbers on standard input, and their range
    sort -n | awk '
        { at[NR] = $1 }
        END {
            middle = NR % 2 ? at[(NR + 1) / 2] : (at[NR / 2] + at[NR / 2 + 1]) / 2
            printf "%.2f", middle
            if (NR > 1) printf " (%.2f to %.2f)", at[1], at[NR]
        }'
}

for tool in "${tools[@]}"; do
    run "$tool"
    sort -T "$folder" -o "$folder/$tool.sorted" "$folder/$tool.tsv"
    rm "$folder/$tool.tsv"
    if [[ $tool != bulkhash ]]; then
        cmp -s "$folder/bulkhash.sorted" "$folder/$tool.sorted" || {
            diff "$folder/bulkhash.sorted" "$folder/$tool.sorted" | head -n 6 >&2 || true
            fail 1 "bulkhash (<) and $tool (>) DO NOT COUNT THE SAME"
        }
        rm "$folder/$tool.sorted"
    fi
done
echo "$(wc -l <"$folder/bulkhash.sorted") distinct $k-mers, the same lines from ${tools[*]}"
rm "$folder/bulkhash.sorted"

for ((i = 0; i < repetitions; i++)); do
    for tool in "${tools[@]}"; do
        run "$tool"
        echo "$seconds" >>"$folder/$tool-seconds"
        rm -f "$folder/$tool."* # so that no one finds less room than the first
    done
done

for tool in "${tools[@]}"; do
    printf '%-22s   seconds %s\n' "$tool" "$(print_median <"$folder/$tool-seconds")"
done
for tool in "${tools[@]:1}"; do
    paste "$folder/$tool-seconds" "$folder/bulkhash-seconds" |
        awk '{ printf "%.6f\n", $1 / $2 }' >"$folder/ratios"
    ratio=$(print_median <"$folder/ratios")
    verdict=$(awk -v ratio="${ratio%% *}" -v bar=$bar \
        'BEGIN { print (ratio >= bar ? "met" : "NOT MET") }')
    printf '%-22s   times as long %s   bar %s %s\n' "$tool" "$ratio" $bar "$verdict"
done
