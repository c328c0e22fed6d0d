#!/usr/bin/env bash
# Turns what scripts/results.sh has measured into tables (see --help).
set -euo pipefail
export LC_ALL=C
experiments='operations growth turnover peers hashfight calls threads sizes dynamic hostile full lines primitives'
begin='<!-- results: begin -->' end='<!-- results: end -->'

usage() {
    cat <<END
usage: scripts/results-table.sh [--into FILE] DIRECTORY

Prints DIRECTORY/machine.txt and a table, in Markdown, of each .jsonl file there. With --into: writes
a short table of what is asked of u32->u32 pairs into FILE instead, between its lines
    $begin
    $end
END
}

fail() { # fail STATUS SENTENCE
    echo "results-table: $2" >&2
    exit "$1"
}

into=
if [[ ${1-} == --help || ${1-} == -h ]]; then
    usage
    exit 0
fi
if [[ ${1-} == --into ]]; then
    (($# > 1)) || fail 2 "--into: FILE is missing; see --help"
    into=$2
    shift 2
fi
[[ $# == 1 && $1 != -* ]] || fail 2 "takes one DIRECTORY; see --help"
directory=$1
[[ $directory == /* ]] || directory=./$directory # awk reads a=b as an assignment
[[ -f $directory/machine.txt ]] ||
    fail 1 "$directory: there is no machine.txt; scripts/results.sh writes it"

files=()
for experiment in $experiments; do
    for file in "$directory/$experiment".jsonl "$directory/$experiment"-*.jsonl; do
        [[ ! -f $file ]] || files+=("$file")
    done
done
((${#files[@]})) || [[ -f $directory/kmers.txt ]] || fail 1 "$directory: there are no results; scripts/results.sh writes them"

# machine.txt first, then files of results. `short` says which kind of tables.
program='
# The value of a field of a line; "" for null. Strings have no escapes here.
function field(name,    at, rest) {
    at = index($0, "\"" name "\":")
    if (!at) return ""
    rest = substr($0, at + length(name) + 3)
    if (substr(rest, 1, 1) == "\"") {
        rest = substr(rest, 2)
        return substr(rest, 1, index(rest, "\"") - 1)
    }
    sub(/[,}].*/, "", rest)
    return rest == "null" ? "" : rest
}

# As in bench/bench.c.
function digits(value) { return value + 0 < 10 ? 2 : value + 0 < 100 ? 1 : 0 }

function number(value) { return value == "" ? "" : sprintf("%.*f", digits(value), value) }

function with_commas(n,    out) {
    n = sprintf("%.0f", n)
    while (length(n) > 3) {
        out = "," substr(n, length(n) - 2) out
        n = substr(n, 1, length(n) - 3)
    }
    return n out
}

function measured(i,    d) {
    if (value[i] == "") return ""
    d = digits(value[i])
    if (lowest[i] == highest[i]) return sprintf("%.*f", d, value[i])
    return sprintf("%.*f (%.*f to %.*f)", d, value[i], d, lowest[i], d, highest[i])
}

# The bar, and whether it is met.
function judged(i) {
    if (bar[i] == "") return ""
    return (bar_is[i] == "at most" ? "at most " : "") number(bar[i]) \
        (met[i] == "" ? "" : met[i] == "true" ? ", met" : ", **not met**")
}

function pages(bytes) { return bytes + 0 < 1048576 ? bytes / 1024 " KiB" : bytes / 1048576 " MiB" }

function is_alike(of,    i) {
    for (i = 2; i <= rows; i++)
        if (of[i] != of[1]) return 0
    return 1
}

function is_there(of,    i) {
    for (i = 1; i <= rows; i++)
        if (of[i] != "") return 1
    return 0
}

# What all rows have in common. Fill and bytes are those of the first one, the names of others tell.
function print_common() {
    printf "%s", is_alike(keys) ? with_commas(keys[1]) " pairs " : "Pairs "
    printf "%s", widths
    if (is_alike(keys) && fill[1] != "") printf ", fill %.2f", fill[1]
    if (is_alike(keys) && bytes[1] != "") printf ", %.1f bytes per pair", bytes[1]
    if (is_alike(batch) && batch[1] != keys[1]) printf ", calls of %s keys", with_commas(batch[1])
    printf ", %d thread%s", threads, threads == 1 ? "" : "s"
    if (target != "lines") printf ", %s", target
    if (target != "lines" && is_alike(page)) printf ", pages of %s", pages(page[1])
}

# A table of all rows; columns in which nothing stands are left out.
function print_table(    i, count, column, head, line, rule) {
    for (i = 1; i <= rows; i++) {
        if (figure[i] != "ratio to the limit") other_figure[i] = ratio[i]
        else other_figure[i] = ""
        text[i] = keys[i] == "" ? "" : with_commas(keys[i])
    }
    line = "| operation |"; rule = "|---|"
    if (!is_alike(keys)) { line = line " keys |"; rule = rule "--:|" }
    if (is_there(mops)) { line = line " M keys/s |"; rule = rule "--:|" }
    if (is_there(limit)) { line = line " limit, M lines/s |"; rule = rule "--:|" }
    if (is_there(other_figure)) { line = line " ratio to the limit |"; rule = rule "--:|" }
    if (is_there(value)) { line = line " figure | measured |"; rule = rule "---|---|" }
    if (is_there(bar)) { line = line " bar |"; rule = rule "---|" }
    print line; print rule
    for (i = 1; i <= rows; i++) {
        line = "| " name[i] " |"
        if (!is_alike(keys)) line = line " " text[i] " |"
        if (is_there(mops)) line = line " " number(mops[i]) " |"
        if (is_there(limit)) line = line " " number(limit[i]) " |"
        if (is_there(other_figure)) line = line " " number(other_figure[i]) " |"
        if (is_there(value)) line = line " " (value[i] == "" ? "" : figure[i]) " | " measured(i) " |"
        if (is_there(bar)) line = line " " judged(i) " |"
        gsub(/ +\|/, " |", line)
        print line
    }
}

# The commits of the files that are read: " 1a2b3c", "s 1a2b3c and 4d5e6f".
function commits(    i, file, seen, out) {
    for (i = 2; i < ARGC; i++) {
        file = ARGV[i]
        sub(/.*\//, "", file)
        sub(/\.jsonl$/, "", file)
        if (commit_of[file] in seen) continue
        seen[commit_of[file]] = 1
        out = out (out == "" ? " " : " and ") commit_of[file]
    }
    return (out ~ / and / ? "s" : "") out
}

# Of u32->u32: the operations; of the others what has a bar. The first file is that of the
# operations, if there is one.
function print_short(    i, low, high) {
    if (widths != "u32->u32") return
    if (!printed++) {
        print_common()
        for (i = 1; i <= rows; i++) {
            if (limit[i] == "") continue
            if (low == "" || limit[i] + 0 < low + 0) low = limit[i]
            if (high == "" || limit[i] + 0 > high + 0) high = limit[i]
        }
        if (low != "") printf ";\nlimit %s to %s M random lines/s", number(low), number(high)
        printf ". Medians, lowest and highest in brackets.\nCommit%s. ", commits()
        printf "CPU: %s; cores: %s;\ncaches: %s.\n", machine["CPU"], machine["cores"], machine["caches"]
        print "All results: [docs/results](docs/results/README.md).\n"
        print "| operation | M keys/s | figure | measured | bar |\n|---|--:|---|---|---|"
    }
    for (i = 1; i <= rows; i++) {
        if (experiment != "operations" && bar[i] == "") continue
        line = "| " name[i] " | " number(mops[i]) " | " figure[i] " | " measured(i) " | " judged(i) " |"
        gsub(/ +\|/, " |", line)
        print line
    }
}

function end_file(    i) {
    if (!rows) return
    if (short) print_short()
    else {
        printf "\n## %s, %s\n\n", experiment, widths
        print_common()
        print ". " run[file_name] "\n"
        print_table()
        if (fills != "") printf "\nFill after each batch of the first run:%s\n", fills
    }
    rows = 0
    fills = ""
}

FILENAME == ARGV[1] {
    if ($0 == "") { below = 1; next }
    if (!below) {
        key = substr($0, 1, 9)
        sub(/ +$/, "", key)
        if (key != "") machine[key] = substr($0, 12)
        next
    }
    run[$1] = $0
    sub(/^[^ ]+ +/, "", run[$1])
    gsub(/   +/, ", ", run[$1])
    commit_of[$1] = $6
    next
}

FNR == 1 {
    end_file()
    file_name = FILENAME
    sub(/.*\//, "", file_name)
    sub(/\.jsonl$/, "", file_name)
}

{
    if (field("figure") == "fill after a batch") {
        fills = fills sprintf(" %.2f", field("value"))
        next
    }
    rows++
    experiment = field("experiment")
    widths = "u" 8 * field("key_bytes") "->u" 8 * field("value_bytes")
    threads = field("threads")
    target = field("target")
    page[rows] = field("page_bytes")
    name[rows] = field("name")
    keys[rows] = field("keys")
    batch[rows] = field("batch")
    fill[rows] = field("fill")
    bytes[rows] = field("bytes_per_key")
    mops[rows] = field("mops")
    limit[rows] = field("limit_mlines")
    ratio[rows] = field("ratio_to_limit")
    figure[rows] = field("figure")
    value[rows] = field("value")
    lowest[rows] = field("lowest")
    highest[rows] = field("highest")
    bar[rows] = field("bar")
    bar_is[rows] = field("bar_is")
    met[rows] = field("met")
}

END { end_file() }
'

print_tables() { # print_tables SHORT FILE...
    awk -v short="$1" "$program" "$directory/machine.txt" "${@:2}"
}

if [[ -z $into ]]; then
    cat <<END
# Results

Written by scripts/results.sh, as \`make results\` calls it; \`bulkhash bench --help\` explains the
experiments. Medians over the repetitions, lowest and highest in brackets.

\`\`\`
END
    sed '/^$/,$d' "$directory/machine.txt"
    echo '```'
    print_tables 0 "${files[@]}"
    if [[ -f $directory/kmers.txt ]]; then
        printf '\n## k-mers\n\n%s\n\n```\n' \
            "$(awk '$1 == "kmers" { sub(/^[^ ]+ +/, ""); gsub(/   +/, ", "); print }' \
                "$directory/machine.txt")"
        cat "$directory/kmers.txt"
        echo '```'
    fi
    exit 0
fi

[[ -f $into ]] || fail 1 "$into: there is no such file"
[[ $(grep -Fxc -e "$begin" "$into") == 1 && $(grep -Fxc -e "$end" "$into") == 1 ]] ||
    fail 1 "$into: needs one line '$begin' and one line '$end'"
wanted=()
for file in "${files[@]}"; do
    [[ ! ${file##*/} =~ ^(operations-4-4|growth|turnover|peers-4-4|hashfight-50M|primitives-4-4|hostile|lines)\.jsonl$ ]] || wanted+=("$file")
done
((${#wanted[@]})) || fail 1 "$directory: there are no results of u32->u32 pairs"
table=$(print_tables 1 "${wanted[@]}")
text=$(table=$table awk -v begin="$begin" -v end="$end" '
    $0 == end { inside = 0 }
    !inside { print }
    $0 == begin { inside = 1; print "\n" ENVIRON["table"] "\n" }' "$into")
printf '%s\n' "$text" >"$into"
