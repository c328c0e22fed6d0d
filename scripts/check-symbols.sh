#!/usr/bin/env bash
# Succeeds when a library exports exactly the functions that the headers mark BH_API. In a static library
# the names that its own files share are global too, so all of them must begin with bh_:
#   scripts/check-symbols.sh libbulkhash.so include/bulkhash/bulkhash.h...
#   scripts/check-symbols.sh libbulkhash.a include/bulkhash/bulkhash.h...
set -euo pipefail
export LC_ALL=C
command -v readelf >/dev/null || { echo "skipped: no readelf"; exit 77; }

library=$1
shift
declared=$(grep -hv '^#' "$@" | tr '\n' ' ' | grep -oE 'BH_API [^;(]*\(' | sed -E 's/.*[^A-Za-z0-9_]([A-Za-z0-9_]+)\($/\1/' | sort)
table=--dyn-syms
[[ $library != *.a ]] || table=--syms
# Visibility and name of what is defined and not local.
global=$(readelf "$table" --wide "$library" |
    awk '$5 != "LOCAL" && $7 != "UND" && $1 ~ /^[0-9]+:$/ { sub(/@.*/, "", $8); print $6, $8 }')
exported=$(awk '$1 == "DEFAULT" { print $2 }' <<<"$global" | sort)
[[ -n $declared ]] || { echo "no BH_API function found in $*" >&2; exit 1; }
if [[ $declared != "$exported" ]]; then
    echo "declared in the header (<) and exported by the library (>) differ:" >&2
    diff <(printf '%s\n' "$declared") <(printf '%s\n' "$exported") >&2 || true
    exit 1
fi
if foreign=$(grep -v ' bh_' <<<"$global"); then
    echo "global, and another name than bh_...:" >&2
    echo "$foreign" >&2
    exit 1
fi
echo "$(wc -l <<<"$declared") functions declared and exported, $(wc -l <<<"$global") global names"
