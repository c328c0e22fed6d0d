# Completion of the program bulkhash in bash; installed as share/bash-completion/completions/bulkhash.
# Commands, options and experiments are read from the program's own --help, so they are those of the
# program that is completed. Only the values of some options are written here.

_bulkhash_words() { # _bulkhash_words BEGINNING WORDS
    mapfile -t COMPREPLY < <(compgen -W "$2" -- "$1")
}

# Files and folders; where there is none readline looks itself, for it knows quotes and backslashes.
_bulkhash_files() { # _bulkhash_files BEGINNING
    mapfile -t COMPREPLY < <(compgen -f -- "$1")
    compopt -o filenames -o default 2>/dev/null # fails where a test calls
}

# What follows the option; VALUE is what --help calls it.
_bulkhash_value() { # _bulkhash_value BEGINNING OPTION VALUE HELP
    case $2 in
    --experiment) _bulkhash_words "$1" "all $(sed -nE '/^Experiments/,/^$/s/^  ([a-z]+)  .*/\1/p' <<<"$4" | sort -u)" ;;
    --device) _bulkhash_words "$1" 'cpu cuda' ;;
    --design) _bulkhash_words "$1" 'dycuckoo hashfight' ;;
    --widths) _bulkhash_words "$1" '4,4 4,8 8,4 8,8' ;;
    *) [[ $3 != OUT ]] || _bulkhash_files "$1" ;;
    esac
}

_bulkhash() {
    # As --help writes an option: two or more columns in, with a value in capitals if it takes one.
    local pattern='^ +(-[A-Za-z], )?(--[a-z-]+)( [A-Z][A-Z,]*)?(  |$)'
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local program help line options='' option='' value=''

    COMPREPLY=()
    program=$(type -P -- "${COMP_WORDS[0]/#\~\//$HOME/}") || return 0
    if ((COMP_CWORD == 1)); then
        help=$("$program" --help 2>/dev/null)
    else
        help=$("$program" "${COMP_WORDS[1]}" --help 2>/dev/null)
    fi
    # --option=value is three words.
    if [[ $word == = ]]; then
        word=
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    while IFS= read -r line; do
        [[ $line =~ $pattern ]] || continue
        options+=" ${BASH_REMATCH[2]}"
        [[ $before == "${BASH_REMATCH[1]%, }" || $before == "${BASH_REMATCH[2]}" ]] || continue
        option=${BASH_REMATCH[2]} value=${BASH_REMATCH[3]# }
    done <<<"$help"

    if [[ " ${COMP_WORDS[*]:1:COMP_CWORD-1} " == *" -- "* ]]; then
        _bulkhash_files "$word"
    elif [[ -n $value ]]; then
        _bulkhash_value "$word" "$option" "$value" "$help"
    elif [[ $word == -* ]]; then
        _bulkhash_words "$word" "$options"
    elif ((COMP_CWORD == 1)); then
        _bulkhash_words "$word" "$(sed -nE '/^commands:/,/^$/s/^  ([a-z-]+)  .*/\1/p' <<<"$help")"
    elif grep -q '^usage:.* FILE' <<<"$help"; then
        _bulkhash_files "$word"
    else
        _bulkhash_words "$word" "$options"
    fi
}

complete -F _bulkhash bulkhash
