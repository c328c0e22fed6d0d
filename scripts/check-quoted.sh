#!/usr/bin/env bash
# Succeeds when the first file contains the second word for word, so that what a page shows is
# what a test compiles:
#   scripts/check-quoted.sh README.md examples/quickstart.c
set -euo pipefail
page=$(<"$1")
quoted=$(<"$2")
if [[ -z $quoted || $page != *"$quoted"* ]]; then
    echo "$1 does not show $2 as it is." >&2
    exit 1
fi
