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

words() { # the words of standard input, on one line between spaces
    tr -cs 'A-Za-z0-9_' ' ' | sed 's/^ */ /; s/ *$/ /'
}
# What a page says, without requests and marks of roff. What stays of .IP is the number of an item, and
# of .SS and .BR everything.
text_of() {
    sed -E -e "/^[.]\\\\\"/d; s/^[.](SS|SH|BR) //; s/^[.]IP ([0-9]+[.]) .*/\\1/; /^[.]/d" \
        -e 's/\\f[BIR]//g; s/\\&//g; s/\\-/-/g' -e "s/\\\\\\(aq/'/g" -e 's/\\\(ti/~/g; s/\\\(ha/^/g; s/\\\(ga/`/g; s/\\e/\\/g' "$1"
}
section_of() { # section_of PAGE TITLE: its lines, marks and all
    awk -v title=".SH $2" '/^\.SH / { inside = $0 == title; next } inside' "$1"
}
page_of() { # page_of NAME: the file, where a page that is another's name leads to that one
    local page=$pages/man3/$1.3
    if [[ -f $page && $(head -n 1 "$page") == .so\ man3/* ]]; then
        page=$pages/$(sed -n 's/^\.so //p' "$page")
    fi
    echo "$page"
}

# --- the library -------------------------------------------------------------------------------

# Of each public function: name, prototype, comment above it; divided by tabs.
functions=$(awk '
    /^\/\*/ { comment = ""; inside = 1 }
    inside { comment = comment " " $0 }
    inside && /\*\/$/ { inside = 0 }
    /^BH_API / { prototype = ""; declaring = 1 }
    declaring { prototype = prototype " " $0 }
    declaring && /;$/ {
        declaring = 0
        gsub(/[ \t]+/, " ", prototype)
        sub(/^ BH_API /, "", prototype)
        name = prototype
        sub(/ *\(.*/, "", name)
        sub(/.*[ *]/, "", name)
        gsub(/\t/, " ", comment)
        print name "\t" prototype "\t" comment
    }' "${headers[@]}")
(($(wc -l <<<"$functions") >= 20)) || failed "only these functions are in the headers: $functions"
while IFS=$'\t' read -r name prototype comment; do
    page=$(page_of "$name")
    [[ -f $page ]] || { failed "$name has no page"; continue; }
    section_of "$page" SYNOPSIS >synopsis
    [[ $(text_of synopsis | tr -s ' \n' ' ') == *"$prototype"* ]] ||
        failed "$page does not hold the prototype $prototype: $(cat synopsis)"
    section_of "$page" DESCRIPTION >description
    [[ $(text_of description | words) == "$(words <<<"$comment")" ]] ||
        failed "$page does not say what the header says of $name: $(diff <(text_of description | words | tr ' ' '\n') <(words <<<"$comment" | tr ' ' '\n'))"
    sed -n '/^\.SH NAME$/{n;p;}' "$page" | grep -q "$name.* \\\\- [^ ]" || failed "$page has no summary"
done <<<"$functions"

# A chapter's own text is in the pages of its functions, each item and each row.
section_of "$pages/man3/bh_insert.3" BATCHES >batches
chapter=$(awk '/^ \* [0-9]+\. Batches/ { inside = 1; next } inside && /^ \* -----/ { exit } inside' "$root/include/bulkhash/bulkhash.h")
[[ $(text_of batches | words) == "$(words <<<"$chapter")" ]] ||
    failed "the page of bh_insert does not say what the header says of batches"
grep -q '^\.IP \\(bu 2$' batches && grep -q '^\.TP$' batches && grep -q '^\.SS Threads$' batches ||
    failed "lists, tables or headings were not recognised: $(cat batches)"

# Types, macros, constants.
for name in $(sed -n 's/^} \(bh_[a-z_]*\);$/\1/p; s/^#define \(bh_[a-z_]*\)(.*/\1/p' "${headers[@]}"); do
    [[ -f $(page_of "$name") ]] || failed "$name has no page"
done
cat "$pages"/man3/*.3 >all.3
text_of all.3 >all
constants() { # as in BH_OK = 0
    grep -hoE '^ +BH_[A-Z_0-9]+ = [0-9]+' "$@" | sort -u
}
constants "${headers[@]}" | comm -23 - <(constants all) >lost
[[ ! -s lost ]] || failed "no page holds $(cat lost)"
list_words() {
    words | tr ' ' '\n' | sort -u
}
cat "${headers[@]}" | tr '\n' '\1' | grep -oP '/\*.*?\*/' | list_words | comm -23 - <(list_words <all) >lost
[[ ! -s lost ]] || failed "no page holds these words of comments: $(cat lost)"
cat "$pages"/man3/bulkhash*.3 >headers.3
text_of headers.3 >list
for name in $(cut -f 1 <<<"$functions"); do
    name=$(basename "$(page_of "$name")" .3)
    grep -q "^$name (3)$" list || failed "no header's page lists $name"
done

# --- the program -------------------------------------------------------------------------------

if [[ -x $BULKHASH ]]; then
    for command in '' count devices bench; do
        page=$pages/man1/bulkhash${command:+-$command}.1
        [[ -f $page ]] || { failed "there is no $page"; continue; }
        # shellcheck disable=SC2086 # no command is no word
        "$BULKHASH" $command --help >help
        said=$(text_of "$page" | words)
        while read -r line; do
            [[ -z $line || ${said,,} == *"$(words <<<"${line,,}")"* ]] || failed "$page does not say: $line"
        done < <(sed -E 's/^(bulkhash [a-z]*:|[Uu]sage:) //' help)
        for option in $(grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+' help | grep -oE -- '--[a-z-]+'); do
            sed 's/\\-/-/g' "$page" | grep -q "^\(\\\\fB-[a-zA-Z]\\\\fR, \)\?\\\\fB$option\\\\fR" || failed "$page has no entry for $option"
        done
    done
    [[ $(ls "$pages/man1" | wc -l) -eq 4 ]] || failed "man1 holds other pages: $(ls "$pages/man1")"
fi

# --- roff --------------------------------------------------------------------------------------

real=()
for page in "$pages"/man[13]/*; do
    if grep -q '^\.so ' "$page"; then
        [[ $(wc -l <"$page") -eq 1 && -f $pages/$(sed 's/^\.so //' "$page") ]] || failed "$page leads nowhere"
        continue
    fi
    real+=("$page")
    awk '
        /^\.TH / { headed = NR }
        /^\.SH / { sections = sections " " $2 }
        /^\.nf$/ { unfilled++ }
        /^\.fi$/ { unfilled-- }
        /^\.RS/ { indented++ }
        /^\.RE$/ { indented-- }
        /^[.\047]/ && !/^\.(\\"|TH|SH|SS|PP|TP|TQ|IP|RS|RE|BR|nf|fi|nh|ad)/ { print "unknown: " $0; bad = 1 }
        unfilled > 1 || unfilled < 0 || indented < 0 { print "out of balance: " $0; bad = 1; exit }
        END { exit bad || headed != 2 || unfilled || indented || sections !~ /^ NAME SYNOPSIS DESCRIPTION / }
    ' "$page" >said || failed "$page is not laid out as a page: $(cat said)"
done
if command -v groff >/dev/null; then
    groff -Tutf8 -man -ww "${real[@]}" 2>said >/dev/null
    [[ ! -s said ]] || failed "groff says: $(cat said)"
fi
if command -v mandoc >/dev/null; then
    # The pages have no date, for it would be another one in every build.
    mandoc -Tlint -W warning "${real[@]}" | grep -v 'missing date' >said
    [[ ! -s said ]] || failed "mandoc says: $(cat said)"
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
expect_file 'a type' <(section_of made/man3/bh_kind.3 VALUES) <<'END'
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
