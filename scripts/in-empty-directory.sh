#!/usr/bin/env bash
# Runs a command in an empty directory that is removed afterwards:
#   scripts/in-empty-directory.sh COMMAND [ARGUMENT...]
set -euo pipefail
directory=$(mktemp -d "${TMPDIR:-/tmp}/bulkhash-test.XXXXXX")
trap 'rm -rf "$directory"' EXIT
cd "$directory"
"$@"
