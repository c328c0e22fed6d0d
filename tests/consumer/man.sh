#!/usr/bin/env bash
# The man pages that a build has written (scripts/man.py): nothing that the headers' comments and the
# program's help say is missing, groff has nothing to warn about; and what scripts/man.py refuses:
#   tests/consumer/man.sh BUILD_DIRECTORY/man
# With the program's path in $BULKHASH, or without a program.
: "${BULKHASH:=none}"
. "$(dirname "$0")/../cli/common.bash"

pages=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
headers=("$root"/include/bulkhash/*.h)

# Functions of awk: words() of a text between spaces; plain(), what a line of a page says without requests
# and marks of roff: what stays of .IP is the number of an item, and of .SH, .SS and .BR everything.
# Each check is one program of awk that prints what is wrong, for a process to each line takes long.
functions='
function words(text) {
    gsub(/[^A-Za-z0-9_]+/, " ", text)
    gsub(/^ | $/, "", text)
    return " " text " "
}
function plain(line) {
    if (line ~ /^[.](SH|SS|BR) /) sub(/^[.].. /, "", line)
    else if (line ~ /^[.]IP [0-9]/) { sub(/^[.]IP /, "", line); sub(/ .*/, "", line) }
    else if (line ~ /^[.]/) return ""
    gsub(/\\f[BIR]|\\&/, "", line)
    gsub(/\\-/, "-", line)
    gsub(/\\[(]aq/, "\047", line)
    gsub(/\\[(]ti/, "~", line)
    gsub(/\\[(]ha/, "^", line)
    gsub(/\\[(]ga/, "`", line)
    gsub(/\\e/, "\\", line)
    return line
}
function squeezed(text) {
    gsub(/[ \t]+/, " ", text)
    return text
}
function is_page(name,    file) { # with what is in it
    file = pages "/man3/" name ".3"
    if ((getline line < file) <= 0) return 0
    if (line ~ /^[.]so /) {
        close(file)
        file = pages "/" substr(line, 5)
        if ((getline line < file) <= 0) return 0
    }
    split("", section)
    title = ""
    do {
        if (line ~ /^[.]SH /) title = plain(line)
        else section[title] = section[title] " " plain(line)
    } while ((getline line < file) > 0)
    close(file)
    return 1
}
'
none_said() { # none_said: standard input is what is wrong
    cat >said
    [[ ! -s said ]] || failed "$(cat said)"
}

# --- the library -------------------------------------------------------------------------------

# Functions have their prototypes and comments; types and macros have pages; what a chapter's comment says
# is in the pages of its functions.
awk -v pages="$pages" "$functions"'
    FNR == 1 { chapter = chapter_title = "" }
    /^\/\*/ { comment = ""; inside = 1 }
    inside { comment = comment " " $0 }
    inside && /^ \* [0-9]+\. [A-Z]/ { heading = toupper($0); sub(/^[^A-Z]*/, "", heading) }
    inside && /\*\/$/ {
        inside = 0
        if (comment ~ /^ \/\* -----/) {
            sub(/^[^A-Za-z]*/, "", comment) # dashes and number
            chapter = comment
            chapter_title = heading
        }
    }
    /^BH_API / { prototype = ""; declaring = 1 }
    declaring { prototype = prototype " " $0 }
    declaring && /;$/ {
        declaring = 0
        prototype = squeezed(prototype)
        sub(/^ BH_API /, "", prototype)
        name = prototype
        sub(/ *\(.*/, "", name)
        sub(/.*[ *]/, "", name)
        count++
        if (!is_page(name)) { print name " has no page"; next }
        if (!index(squeezed(section["SYNOPSIS"]), prototype))
            print "the page of " name " does not hold its prototype: " section["SYNOPSIS"]
        if (words(section["DESCRIPTION"]) != words(comment))
            print "the page of " name " does not say what the header says: " section["DESCRIPTION"]
        if (section["NAME"] !~ name ".* - [^ ]") print "the page of " name " has no summary"
        found = chapter_title section[chapter_title]
        if (toupper(words(found)) != toupper(words(chapter)))
            print "the page of " name " does not say what holds for its chapter: " found
    }
    /^} bh_[a-z_]*;$/ || /^#define bh_[a-z_]*\(/ {
        name = $2
        sub(/[;(].*/, "", name)
        if (!is_page(name)) print name " has no page"
    }
    END { if (count < 20) print "no more than " count " functions were found" }
' "${headers[@]}" | none_said
for mark in '.IP \(bu 2' '.IP 1. 3' .TP '.SS Threads'; do
    grep -qFx -- "$mark" "$pages/man3/bh_insert.3" || failed "lists, tables or headings of bh_insert were not recognised: no $mark"
done

# Constants, and every word of a comment, are in some page; functions are in the list of a header.
cat "$pages"/man3/*.3 | awk "$functions"'{ print plain($0) }' >all
constants() { # as in BH_OK = 0
    grep -hoE '^ +BH_[A-Z_0-9]+ = [0-9]+' "$@" | sort -u
}
constants "${headers[@]}" | comm -23 - <(constants all) | sed 's/^/no page holds/' | none_said
list_words() {
    tr -cs 'A-Za-z0-9_' '\n' | sort -u
}
cat "${headers[@]}" | tr '\n' '\1' | grep -oP '/\*.*?\*/' | list_words | comm -23 - <(list_words <all) |
    sed 's/^/no page holds this word of a comment: /' | none_said
for page in "$pages"/man3/bh_*.3; do
    name=${page##*/}
    grep -q '^\.so ' "$page" || echo ".BR ${name%.3} (3)"
done | sort | comm -23 - <(cat "$pages"/man3/bulkhash*.3 | sort -u) | sed "s/^/in no header's list: /" | none_said

# --- the program -------------------------------------------------------------------------------

if [[ -x $BULKHASH ]]; then
    for command in '' count devices bench; do
        page=$pages/man1/bulkhash${command:+-$command}.1
        [[ -f $page ]] || { failed "there is no $page"; continue; }
        # shellcheck disable=SC2086 # no command is no word
        "$BULKHASH" $command --help >help
        awk "$functions"'
            NR == FNR { text = text " " plain($0); if (/^\\fB\\-/) entries = entries " " plain($0) " "; next }
            FNR == 1 { text = toupper(words(text)) }
            { line = $0; sub(/^(bulkhash [a-z]*:|[Uu]sage:) /, "", line) }
            words(line) != "  " && !index(text, toupper(words(line))) { print FILENAME ": the page does not say: " $0 }
            match($0, /^ +(-[A-Za-z], )?--[a-z-]+/) {
                option = substr($0, 1, RLENGTH)
                sub(/.* /, "", option)
                if (!index(entries, " " option " ")) print "no entry for " option " in: " entries
            }' "$page" help | sed "s|^|$page: |" | none_said
    done
    [[ $(cd "$pages/man1" && echo *) == 'bulkhash-bench.1 bulkhash-count.1 bulkhash-devices.1 bulkhash.1' ]] ||
        failed "man1 holds other pages: $(ls "$pages/man1")"
fi

# --- roff --------------------------------------------------------------------------------------

real=()
for page in "$pages"/man[13]/*; do
    if read -r request target <"$page" && [[ $request == .so ]]; then
        [[ -f $pages/$target ]] || failed "$page leads nowhere"
    else
        real+=("$page")
    fi
done
awk '
    function finish_page() {
        if (headed != 2 || unfilled || indented || sections !~ /^ NAME SYNOPSIS DESCRIPTION /)
            print page ": not laid out as a page"
    }
    FNR == 1 {
        if (page) finish_page()
        page = FILENAME
        headed = unfilled = indented = 0
        sections = ""
    }
    /^\.TH / { headed = FNR }
    /^\.SH / { sections = sections " " $2 }
    /^\.nf$/ { unfilled++ }
    /^\.fi$/ { unfilled-- }
    /^\.RS/ { indented++ }
    /^\.RE$/ { indented-- }
    /^[.\047]/ && !/^\.(\\"|TH|SH|SS|PP|TP|TQ|IP|RS|RE|BR|nf|fi|nh|ad)/ { print page ": unknown: " $0 }
    unfilled > 1 || unfilled < 0 || indented < 0 { print page ": out of balance: " $0 }
    END { finish_page() }
' "${real[@]}" | none_said
if command -v groff >/dev/null; then
    groff -Tutf8 -man -ww "${real[@]}" 2>&1 >/dev/null | sed 's/^/groff says: /' | none_said
fi
if command -v mandoc >/dev/null; then
    # The pages have no date, for it would be another one in every build.
    mandoc -Tlint -W warning "${real[@]}" | grep -v 'missing date' | none_said
fi

# --- scripts/man.py ----------------------------------------------------------------------------

python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) || finish

mkdir bulkhash
small() { # small DECLARATIONS: a header, whose line 9 is the first of these
    printf '%s\n' '/* small: a header. */' '#ifndef SMALL_H' '#define SMALL_H' '#define BH_VERSION_MAJOR 1' \
        '#define BH_VERSION_MINOR 2' '#define BH_VERSION_PATCH 3' '#define BH_API' '' "$1" '#endif' >bulkhash/small.h
}
refused() { # refused LINE SENTENCE DECLARATIONS
    local status=0
    small "$3"
    "$python" "$root/scripts/man.py" made bulkhash/small.h >"$out" 2>"$err" || status=$?
    ((status == 1)) || failed "man.py takes: $3"
    expect_file "man.py, of: $3" "$err" <<<"man: bulkhash/small.h:$1: $2"
    [[ ! -e made ]] || failed "man.py writes pages of: $3"
}
refused 9 'bh_new has no comment' 'BH_API int bh_new(int a);'
refused 12 'bh_new has no comment' $'/* Of another. */\nBH_API int bh_old(void);\n\nBH_API int bh_new(int a,\n    int b);'
refused 11 'bh_new has no comment' $'/* Too far above. */\n\nBH_API int bh_new(void);'
refused 9 'bh_kind has no comment' $'typedef enum bh_kind {\n    BH_ONE = 1\n} bh_kind;'
refused 9 'bh_new has no comment' '#define bh_new(a) (a)'
refused 10 'a typedef that does not end with its name' $'/* A pair. */\ntypedef struct bh_pair {\n    int a;\n};'
refused 9 'a chapter whose second line is not "N. Title"' $'/* --------\n * Chapter\n * -------- */'
refused 9 'this has no end' $'/* A comment\n'
refused 9 'neither a comment, nor a typedef, nor a function that begins with BH_API' 'int bh_new(void);'

small '/* --------
 * 1. Things
 *
 * Of all of them:
 *   - they do not `print`
 * -------- */

/* What is
 * told. */
typedef enum bh_kind {
    BH_ONE = 1, /* the
                   first */
    /* more than one */
    BH_TWO = 2,
    BH_THREE = 3
} bh_kind;

/*
 * Does it; and .more.
 *
 * some    a thing. Not NULL.
 * others  things
 *         of kind BH_TWO
 *
 *     code("--x",   1);
 *
 * Rules
 *   1. one
 *      \n
 *   2. two:
 *        - deeper
 */
BH_API int bh_do_sized(const int *some, bh_kind others);
#define bh_do(some) bh_do_sized((some), 1)'
mkdir -p made/man3
echo old | tee made/man3/bh_gone.3 >made/man3/printf.3
expect_success "$python" "$root/scripts/man.py" made bulkhash/small.h
[[ $(cd made && echo man*/*) == 'man3/bh_do.3 man3/bh_do_sized.3 man3/bh_kind.3 man3/bulkhash_small.3 man3/printf.3' ]] ||
    failed "man.py wrote other pages: $(cd made && echo man*/*)"
expect_file 'another name' made/man3/bh_do_sized.3 <<<'.so man3/bh_do.3'
expect_file 'a function' made/man3/bh_do.3 <<'END'
.\" Made by scripts/man.py: change what it was made from.
.TH BH_DO 3 "" "bulkhash 1.2.3" "bulkhash library"
.nh
.ad l
.SH NAME
bh_do, bh_do_sized \- does it
.SH SYNOPSIS
.nf
\fB#include <bulkhash/small.h>\fR

\fBint bh_do_sized(const int *some, bh_kind others);\fR

\fB#define bh_do(some) \e\fR
\fB    bh_do_sized((some), 1)\fR
.fi
.SH DESCRIPTION
Does it; and .more.
.TP
\fIsome\fR
a thing.
Not NULL.
.TP
\fIothers\fR
things of kind \fBBH_TWO\fR
.PP
.RS 4
.nf
code("\-\-x",   1);
.fi
.RE
.SS Rules
.IP 1. 3
one \en
.IP 2. 3
two:
.RS
.IP \(bu 2
deeper
.RE
.SH THINGS
Of all of them:
.IP \(bu 2
they do not \fIprint\fR
.SH SEE ALSO
.BR bulkhash_small (3),
.BR bh_kind (3)
END
sed -n '/^\.SH VALUES/,/^\.SH SEE/p' made/man3/bh_kind.3 | sed '1d;$d' >values
expect_file 'a type' values <<'END'
.TP
\fBBH_ONE\fR
the first
.TP
\fBBH_TWO\fR
more than one
.TP
\fBBH_THREE\fR
END
finish
