#!/usr/bin/env bash
# Succeeds when a shared library exports exactly the functions that the header marks BH_API:
#   scripts/check-symbols.sh libbulkhash.so include/bulkhash/bulkhash.h
set -euo pipefail
export LC_ALL=C
command -v readelf >/dev/null || { echo "skipped: no readelf"; exit 77; }

declared=$(grep -v '^#' "$2" | tr '\n' ' ' | grep -oE 'BH_API [^;(]*\(' | sed -E 's/.*[^A-Za-z0-9_]([A-Za-z0-9_]+)\($/\1/' | sort)
exported=$(readelf --dyn-syms --wide "$1" |
    awk '$5 != "LOCAL" && $7 != "UND" && $1 ~ /^[0-9]+:$/ { sub(/@.*/, "", $8); print $8 }' | sort)
[[ -n $declared ]] || { echo "no BH_API function found in $2" >&2; exit 1; }
if [[ $declared != "$exported" ]]; then
    echo "declared in the header (<) and exported by the library (>) differ:" >&2
    diff <(printf '%s\n' "$declared") <(printf '%s\n' "$exported") >&2 || true
    exit 1
fi
echo "$(wc -l <<<"$declared") functions declared and exported"
