#!/usr/bin/env bash
# Measures everything anew and keeps it with what it was measured on (see --help).
set -euo pipefail
export LC_ALL=C # decimal points
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scripts=$root/scripts

# What there is to run: the name of the file, the experiment, its options.
plan='
operations-4-4  operations  -w 4,4
operations-4-8  operations  -w 4,8
operations-8-4  operations  -w 8,4
operations-8-8  operations  -w 8,8
growth          growth      -r 9
turnover        turnover
peers-4-4       peers       -w 4,4
peers-8-8       peers       -w 8,8 -r 3
calls           calls
threads         threads
sizes           sizes
fills           fills
dynamic         dynamic
hostile         hostile
full            full
lines           lines
instructions-4-4  instructions  -w 4,4
instructions-8-8  instructions  -w 8,8
hashfight-50M   hashfight   -n 50000000
hashfight-200M  hashfight   -n 200000000 -r 3
dachash         dachash     -r 3
stadium         stadium     -r 3
designs         designs
primitives-4-4  primitives  -w 4,4
primitives-8-8  primitives  -w 8,8
kmers           kmers
gpu-dycuckoo    gpu         --design dycuckoo
gpu-hashfight   gpu         --design hashfight
gpu-dachash     gpu         --design dachash
gpu-stadium     gpu         --design stadium
'
# The experiment `operations` at each of these is `fills`.
fills='0.5 0.6 0.7 0.8 0.9 0.95'
# With this malloc asks for huge pages, as our tables do. Where the system gives them to those who ask
# (transparent huge pages: madvise), the peers would else be measured on small ones.
tunables=glibc.malloc.hugetlb=1

usage() {
    cat <<END
usage: scripts/results.sh [--quick] [--only NAME]... [--to DIRECTORY] BUILD_DIRECTORY

Runs every experiment of BUILD_DIRECTORY/bin/bulkhash bench, and where jellyfish or KMC are there
scripts/compare-kmers.sh; \`operations\` at several fills; and where there is a GPU the experiments for
it. DIRECTORY (docs/results) receives NAME.jsonl, one JSON object a line, for each; kmers.txt;
machine.txt: on what and from which commit. From these scripts/report.py, which can be called again
by itself, makes README.md with tables, and with matplotlib plots/*.svg; for docs/results also the
tables in the project's README.md.

  --quick      fewer keys and repetitions, for trying: needs --to
  --only NAME  one experiment of bench --help, or kmers, fills or gpu, or one file such as
               operations-4-8; what else is in DIRECTORY stays as it is. The files of a GPU say
               themselves what they were measured on, so gpu may run on another machine
  --to DIRECTORY
END
}

fail() { # fail STATUS SENTENCE
    echo "results: $2" >&2
    exit "$1"
}

quick=0 only=() to='' build=''
while (($#)); do
    case $1 in
    -h | --help)
        usage
        exit 0
        ;;
    --quick) quick=1 ;;
    --only | --to)
        [[ $# -gt 1 && -n $2 ]] || fail 2 "$1: a name is missing; see --help"
        if [[ $1 == --to ]]; then to=$2; else only+=("$2"); fi
        shift
        ;;
    -*) fail 2 "$1: no such option; see --help" ;;
    *)
        [[ -z $build ]] || fail 2 "takes one BUILD_DIRECTORY; see --help"
        build=$1
        ;;
    esac
    shift
done
[[ -n $build ]] || fail 2 "BUILD_DIRECTORY is missing; see --help"
program=$build/bin/bulkhash
[[ -f $program && -x $program ]] || fail 2 "$program: is no program; build it with make build"
((!quick)) || [[ -n $to ]] || fail 2 "--quick is for trying: say --to DIRECTORY too"
command -v lscpu >/dev/null || fail 1 "there is no lscpu here (Debian: util-linux)"
command -v python3 >/dev/null || fail 1 "there is no python3 here, which makes the tables"
directory=${to:-$root/docs/results}

is_chosen() { # is_chosen FILE EXPERIMENT
    ((${#only[@]})) || return 0
    local name
    for name in "${only[@]}"; do
        [[ $name != "$1" && $name != "$2" ]] || return 0
    done
    return 1
}
is_on_cores_chosen() {
    local file experiment
    while read -r file experiment _; do
        [[ -z $file || $experiment == gpu ]] || ! is_chosen "$file" "$experiment" || return 0
    done <<<"$plan"
    return 1
}
has_gpu() { "$program" devices </dev/null 2>/dev/null | grep '^cuda' | grep -qv 'not available'; }

for name in "${only[@]}"; do
    awk -v name="$name" '$1 == name || $2 == name { found = 1 } END { exit !found }' <<<"$plan" ||
        fail 2 "--only: '$name' is none; see --help"
done

# --- the machine -------------------------------------------------------------------------------

print_machine() {
    local cache compiler type packages
    lscpu | awk -F ': *' '
        { of[$1] = $2 }
        END {
            print "CPU        " of["Model name"]
            printf "cores      %s (threads per core: %s, sockets: %s)", of["CPU(s)"],
                of["Thread(s) per core"], of["Socket(s)"]
            if ("Hypervisor vendor" in of) printf ", virtual machine (%s)", of["Hypervisor vendor"]
            print "\ncaches     L1d " of["L1d cache"] ", L2 " of["L2 cache"] ", L3 " of["L3 cache"]
        }'
    awk '$1 == "MemTotal:" { printf "memory     %.0f GiB\n", $2 / 1048576 }' /proc/meminfo
    echo "pages      $(($(getconf PAGESIZE) / 1024)) KiB; transparent huge pages:" \
        "$(cat /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null || echo none); defrag:" \
        "$(cat /sys/kernel/mm/transparent_hugepage/defrag 2>/dev/null || echo none)"
    echo "kernel     $(uname -srm)"
    cache=$build/CMakeCache.txt
    compiler=$(awk -F = '/^CMAKE_C_COMPILER:/ { print $2 }' "$cache" 2>/dev/null) || compiler=
    type=$(awk -F = '/^CMAKE_BUILD_TYPE:/ { print $2 }' "$cache" 2>/dev/null) || type=
    [[ -z $compiler ]] || compiler=$("$compiler" --version | awk 'NR == 1')
    echo "compiler   ${compiler:-unknown}, ${type:-no build type}"
    echo "libc       $(getconf GNU_LIBC_VERSION 2>/dev/null || echo unknown)"
    packages=$(dpkg-query -W -f ', ${Package} ${Version}' libcuckoo-dev libtbb-dev \
        libboost1.81-dev libabsl-dev jellyfish kmc 2>/dev/null) || :
    [[ -z $packages ]] || echo "peers      ${packages#, }"
    echo "malloc     peers and calls ran with GLIBC_TUNABLES=$tunables, so that"
    echo "           other people's tables lie in huge pages as ours do: malloc does not ask by itself"
}

# The commit of the sources. What this script writes is no change.
print_commit() {
    local commit
    commit=$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null) || { echo unknown; return; }
    [[ -z $(git -C "$root" status --porcelain -- . ':!docs/results' ':!README.md') ]] ||
        commit+=+changes
    echo "$commit"
}

# machine.txt: the machine; an empty line; and for each file in the directory when, of which commit
# and by which options it was made.
commit=$(print_commit)
machine=$(print_machine)
notes=$directory/machine.txt
if ((${#only[@]})) && [[ -f $notes && $(sed '/^$/,$d' "$notes") != "$machine" ]] &&
    is_on_cores_chosen; then
    fail 1 "$notes tells of another machine: leave out --only, or write elsewhere by --to"
fi
mkdir -p "$directory"
if ((!${#only[@]})) || [[ ! -f $notes ]]; then
    # Files of a GPU stay where there is none to measure them anew, with what is noted of them.
    kept=
    while read -r file experiment _; do
        if [[ $experiment == gpu ]] && ! has_gpu; then
            kept+=$(grep -s "^$file " "$notes") && kept+=$'\n' || :
        elif [[ -n $file ]]; then
            rm -f "$directory/$file.jsonl"
            [[ $experiment == gpu ]] || rm -f "$directory/$file.txt"
        fi
    done <<<"$plan"
    printf '%s\n\n%s' "$machine" "$kept" >"$notes"
fi

note() { # note FILE OPTIONS: enters it, in place of what was said of it before
    local others
    others=$(awk -v file="$1" '$1 != file || !below { print } /^$/ { below = 1 }' "$notes")
    {
        printf '%s\n' "$others"
        [[ $others == *$'\n\n'* ]] || echo
        printf '%-15s %s   commit %s   %s\n' "$1" "$(date -u '+%Y-%m-%d %H:%M UTC')" "$commit" "$2"
    } >"$notes"
}

# --- the experiments ---------------------------------------------------------------------------

part=$directory/part
trap 'rm -f "$part"' EXIT

# The operations at each fill; the rows about memory have fills of their own.
print_fills() { # print_fills OPTION...
    local fill
    for fill in $fills; do
        "$program" bench --json -e operations -f "$fill" "$@" || return
    done | grep -v '"name":"memory'
}

# Writes to $part.
run() { # run EXPERIMENT OPTION...
    if [[ $1 == kmers ]]; then
        "$scripts/fetch-ecoli.sh" "$root/build" >&2 &&
            "$scripts/compare-kmers.sh" "$program" "$root/build/NC_008253.fna.gz" "${@:2}" >"$part"
    elif [[ $1 == fills ]]; then
        print_fills "${@:2}" >"$part"
    elif [[ $1 == gpu ]]; then
        "$program" bench --json --device cuda "${@:2}" >"$part"
    elif [[ $1 == peers || $1 == calls ]]; then
        GLIBC_TUNABLES=$tunables "$program" bench --json -e "$@" >"$part"
    else
        "$program" bench --json -e "$@" >"$part"
    fi
}

failed=()
while read -r file experiment options; do
    if [[ -z $file ]] || ! is_chosen "$file" "$experiment"; then continue; fi
    suffix=jsonl
    read -ra arguments <<<"$options"
    if [[ $experiment == kmers ]]; then
        if ! command -v jellyfish >/dev/null && ! command -v kmc >/dev/null; then
            echo "results: there is neither jellyfish nor KMC here: kmers is left out" >&2
            continue
        fi
        suffix=txt
        ((!quick)) || arguments=(2)
    elif [[ $experiment == gpu ]] && ! has_gpu; then
        echo "results: there is no GPU here: $file is left out" >&2
        continue
    elif ((quick)); then
        arguments+=(--quick -r 2)
    fi
    command="bench -e $experiment"
    case $experiment in
    kmers) command=compare-kmers.sh ;;
    fills) command="bench -e operations -f ${fills// /,}" ;;
    gpu) command='bench --device cuda' ;;
    esac
    command+=${arguments[*]:+ ${arguments[*]}}
    echo "results: $(date '+%H:%M:%S') $command" >&2
    if ! run "$experiment" "${arguments[@]}" </dev/null; then
        echo "results: $command failed: it is left out" >&2
        failed+=("$file")
        continue
    fi
    if [[ ! -s $part ]]; then
        echo "results: $command has nothing to say, it is left out: was it built without the peers, or is there no valgrind?" >&2
        continue
    fi
    mv "$part" "$directory/$file.$suffix"
    note "$file" "$command"
done <<<"$plan"

if ! "$scripts/report.py" plots "$directory"; then
    echo "results: plots are left out" >&2
    rm -rf "$directory/plots" # older ones would show other results
fi
"$scripts/report.py" tables "$directory"
((!${#failed[@]})) || fail 1 "failed, and left out: ${failed[*]}"
echo "results: $(date '+%H:%M:%S') done; the tables are in $directory/README.md" >&2
