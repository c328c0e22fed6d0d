#!/usr/bin/env bash
# Counts the 31-mers of the genome of E. coli that Debian ships as an example, and prints how many
# distinct ones there are and the ten most frequent:
#   scripts/run-ecoli.sh PROGRAM DIRECTORY
# The genome is fetched once and kept in DIRECTORY (scripts/fetch-ecoli.sh).
set -euo pipefail
export LC_ALL=C
program=$1 directory=$2
genome=$directory/NC_008253.fna.gz
counts=$directory/ecoli-31mers.tsv

"$(dirname "${BASH_SOURCE[0]}")/fetch-ecoli.sh" "$directory"

# The program's own summary has the rate and the bytes per key.
"$program" count --kmers 31 "$genome" --output "$counts"

echo "distinct 31-mers: $(wc -l <"$counts")"
echo "the ten most frequent:"
sort -t "$(printf '\t')" -k2,2nr -k1,1 "$counts" | sed -n '1,10p'
