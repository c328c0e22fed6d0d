#!/usr/bin/env bash
# Fetches the genome of E. coli that Debian ships as an example, once, and keeps it:
#   scripts/fetch-ecoli.sh DIRECTORY       DIRECTORY/NC_008253.fna.gz is there afterwards
# The package is not installed: its files lie in /usr/share/doc, which slim images leave out.
set -euo pipefail
export LC_ALL=C
directory=$1
genome=$directory/NC_008253.fna.gz
package=bowtie-examples

fetch_genome() {
    local apt=(apt-get -q) as_root=() work member deb
    for tool in apt-get dpkg-deb; do
        command -v "$tool" >/dev/null || { echo "There is no $tool here." >&2; return 1; }
    done
    # apt downloads as the user _apt, who may not write here.
    if ((EUID == 0)); then apt+=(-o APT::Sandbox::User=root); else as_root=(sudo); fi
    mkdir -p "$directory/$package"
    work=$(cd "$directory/$package" && pwd)
    (
        cd "$work"
        # A machine on which nothing had to be installed may have no package lists.
        "${apt[@]}" download "$package" ||
            { "${as_root[@]}" apt-get -q update && "${apt[@]}" download "$package"; }
    )
    deb=$(find "$work" -name "${package}_*.deb" | sort | tail -n 1)
    member=$(dpkg-deb --contents "$deb" | awk '/NC_008253\.fna\.gz$/ { print $NF }')
    [[ -n $member ]] || { echo "$deb has no NC_008253.fna.gz" >&2; return 1; }
    dpkg-deb --fsys-tarfile "$deb" | tar -x -O -f - "$member" >"$work/genome.gz"
    gzip -t "$work/genome.gz"
    mv "$work/genome.gz" "$genome"
    rm -rf "$work"
}

# A trap and not `fetch_genome || ...`, in which bash would go on after a command that failed.
if [[ ! -s $genome ]]; then
    trap 'echo "The genome could not be fetched. With a network run again, or put NC_008253.fna.gz (E. coli 536, from NCBI) into $directory." >&2' EXIT
    fetch_genome
    trap - EXIT
fi
