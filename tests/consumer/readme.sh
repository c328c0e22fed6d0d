#!/usr/bin/env bash
# Walks a newcomer's path through README.md: copies its commands out of it and runs them in an empty
# directory, from `make install` to a compiled quickstart, a join and counted reads:
#   tests/consumer/readme.sh BUILD_DIRECTORY
# What was built already is installed, so `make install` stands for its last step.
set -euo pipefail
build=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
command -v pkg-config >/dev/null || { echo "skipped: no pkg-config"; exit 77; }
place=$(mktemp -d --suffix .bulkhash-readme)
trap 'rm -rf "$place"' EXIT
export HOME=$place/home
mkdir "$HOME" "$place/clone"
cd "$place/clone"
cp -r "$root/examples" .

# first_block SECTION: the first indented lines below that heading.
first_block() {
    awk -v heading="## $1" '
        /^## / { inside = $0 == heading; next }
        inside && /^    / { print substr($0, 5); printed = 1; next }
        inside && printed { exit }' "$root/README.md"
}

make() {
    [[ $1 == install && $2 == PREFIX=* ]] || { echo "make $* is not what README.md should begin with" >&2; exit 1; }
    cmake --install "$build" --prefix "${2#PREFIX=}" >install.log || { cat install.log; exit 1; }
}

commands=$(first_block Install)
[[ $commands == "make install"* && $commands == *./quickstart* && $commands == *./join* ]] || { echo "README.md, Install: $commands" >&2; exit 1; }
eval "$commands" >said # not in a pipe: its exports stay
grep -qx '99 -> 990' said || { echo "the quickstart did not run" >&2; exit 1; }
grep -q '^join-unique: [0-9]* pairs, ' said || { echo "the join did not run" >&2; exit 1; }

[[ -x $HOME/bulkhash/bin/bulkhash ]] || { echo "skipped: the program was not built"; exit 77; }
acgt() { awk -v seed="$1" 'BEGIN { srand(seed); for (i = 0; i < 400; i++) printf "%s", substr("ACGT", int(rand() * 4) + 1, 1); print "" }'; }
{ echo '>chromosome'; acgt 1; } | gzip >genome.fna.gz
for reads in reads_1 reads_2 reads; do
    { echo '@read'; acgt 1; echo +; acgt 2; } | gzip >$reads.fastq.gz
done
{
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '|i1', 'fortran_order': False, 'shape': (5,), }"
    printf '\x00\x7f\x80\xff\x80'
} >ids.npy
awk 'BEGIN { for (i = 0; i < 300; i++) print "day\thost\t" 7 - i % 2 }' >visits.tsv
commands=$(first_block 'From the shell' | grep -vx 'bulkhash bench')
(($(grep -c '^bulkhash count\|| bulkhash count' <<<"$commands") >= 3)) && [[ $commands == *fastq* ]] || { echo "README.md, From the shell: $commands" >&2; exit 1; }
(set -x; eval "$commands") >shown
cat shown
grep -qx '7	150' shown || { echo "the integers of text were not counted" >&2; exit 1; }
(($(wc -l <counts.tsv) == 370 && $(wc -l <solid.tsv) == 380)) && [[ -s counts.npy ]] ||
    { wc -l counts.tsv solid.tsv; exit 1; }
