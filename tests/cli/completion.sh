#!/usr/bin/env bash
# cli/completion.bash: what bash offers for the beginning of a command line, beside what --help of the
# program and of its commands says.
. "$(dirname "$0")/common.bash"
. "$(dirname "$0")/../../cli/completion.bash"

on_one_line() { # sorted
    sort | tr '\n' ' ' | sed 's/^ *//; s/ $//'
}
# offered WORD...: what is offered for the last word of `bulkhash WORD...`.
offered() {
    COMP_WORDS=("$BULKHASH" "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _bulkhash "$BULKHASH" "${*: -1}" "${COMP_WORDS[COMP_CWORD - 1]}"
    printf '%s\n' "${COMPREPLY[@]}" | on_one_line
}
# expect_offer WANTED WORD...: words in any order.
expect_offer() {
    local wanted said
    wanted=$(tr ' ' '\n' <<<"$1" | on_one_line)
    shift
    said=$(offered "$@")
    [[ $said == "$wanted" ]] || failed "for 'bulkhash $*': '$said' is offered, not '$wanted'"
}
# options_of [COMMAND]: those that its --help begins a line with.
options_of() {
    "$BULKHASH" "$@" --help | grep -oE '^ +(-[A-Za-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+' | on_one_line
}

complete -p bulkhash 2>/dev/null | grep -q _bulkhash || failed 'bash is not told to complete bulkhash'

commands=$("$BULKHASH" --help | awk '/^commands:/ { inside = 1; next } !NF { inside = 0 } inside && /^  [a-z]/ { print $1 }' | on_one_line)
[[ $commands == 'bench count devices' ]] || failed "--help names these commands: $commands"
expect_offer "$commands" ''
expect_offer count c
expect_offer "$(options_of)" -
expect_offer --version --v
for command in $commands; do
    [[ -n $(options_of "$command") ]] || failed "$command --help tells of no options"
    expect_offer "$(options_of "$command")" "$command" -
done
expect_offer '--kmers' count --k
expect_offer '--kmers' count reads.fa --k
expect_offer --help devices ''
expect_offer '' nonsense ''
expect_offer '' nonsense -

mkdir folder
touch genome.fna ids.npy 'two words.fq'
expect_offer 'folder genome.fna ids.npy two words.fq' count ''
expect_offer genome.fna count --canonical g
expect_offer 'folder genome.fna ids.npy two words.fq' count --output ''
expect_offer ids.npy count -o i
expect_offer ids.npy count --output = i
expect_offer '' count --kmers ''
expect_offer '' count -k 3
expect_offer '' count -- -
expect_offer genome.fna count -- g

# Where only `bulkhash` was built, its help tells of no experiments.
if "$BULKHASH" bench --help | grep -q '^Experiments:'; then
    experiments=$("$BULKHASH" bench --help |
        awk '/^Experiments/ { inside = 1; next } !NF { inside = 0 } inside && /^  [a-z]+  / { print $1 }' | sort -u)
    (($(wc -w <<<"$experiments") > 10)) || failed "bench --help names these experiments: $experiments"
    expect_offer "all $experiments" bench --experiment ''
    expect_offer "all $experiments" bench --quick -e ''
    expect_offer 'cpu cuda' bench --device ''
    expect_offer cuda bench --device = cu
    expect_offer 'cpu cuda' bench -d = # as in --device=
    expect_offer 'dycuckoo hashfight' bench --design ''
    expect_offer '4,4 4,8 8,4 8,8' bench --widths ''
    expect_offer '8,4 8,8' bench -w 8
    expect_offer '' bench --keys ''
    expect_offer "$(options_of bench)" bench ''

    # Every value that is offered is one to the program, which names the first word that is wrong. (It looks
    # at --device last.)
    for option in experiment design widths; do
        for value in none $(offered bench --$option ''); do
            "$BULKHASH" bench --$option "$value" --fill none >"$out" 2>"$err"
            wrong=fill
            [[ $value != none ]] || wrong=$option
            grep -q -- "--$wrong: \"none\"" "$err" || failed "bench --$option $value --fill none: $(cat "$err")"
        done
    done
    # None is missing: an option with names for values offers them.
    for option in $("$BULKHASH" bench --help | grep -oE -- '--[a-z-]+ NAME' | cut -d ' ' -f 1); do
        [[ -n $(offered bench "$option" '') ]] || failed "for bench $option nothing is offered"
    done
fi

# The program that stands on the line is the one that is asked; without it, nothing is.
ln -s "$BULKHASH" bulkhash
COMP_CWORD=1
COMP_WORDS=(./bulkhash '')
_bulkhash
[[ $(printf '%s\n' "${COMPREPLY[@]}" | on_one_line) == "$commands" ]] || failed "for ./bulkhash: ${COMPREPLY[*]}"
COMP_WORDS=(./nowhere/bulkhash '')
_bulkhash
((${#COMPREPLY[@]} == 0)) || failed "without a program: ${COMPREPLY[*]}"
finish
