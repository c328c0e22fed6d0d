#!/usr/bin/env bash
# Lays out the C, C++ and CUDA sources as .clang-format says:
#   scripts/format.sh            changes files in place
#   scripts/format.sh --check    names those that are laid out otherwise, and fails; exit status 77 where
#                                there is no clang-format 14, for other versions differ in details
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=
for name in clang-format-14 clang-format; do
    if command -v "$name" >/dev/null && "$name" --version | grep -q 'version 14\.'; then
        program=$name
        break
    fi
done
if [[ -z $program ]]; then
    echo "format: there is no clang-format 14 (Debian 12: clang-format)" >&2
    exit 77
fi
list=$(mktemp)
trap 'rm -f "$list"' EXIT
find include src cli bench tests examples -type f \
    \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cc' -o -name '*.cpp' \) -print0 | sort -z >"$list"
if [[ ${1-} == --check ]]; then
    xargs -0 "$program" --dry-run --Werror <"$list" || {
        echo "format: run make format" >&2
        exit 1
    }
else
    xargs -0 "$program" -i <"$list"
fi
