#!/usr/bin/env bash
# Installs a build into an empty place, builds a small program against it, once by what pkg-config
# says and once by find_package(), and runs both and what was installed in bin/:
#   tests/consumer/run.sh BUILD_DIRECTORY LIBDIR C_COMPILER
set -euo pipefail
build=$1 libdir=$2 cc=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
place=$(mktemp -d "${TMPDIR:-/tmp}/bulkhash-consumer.XXXXXX")
trap 'rm -rf "$place"' EXIT

expect() { # expect NAME COMMAND...: the command prints the consumer's line
    local name=$1 said
    shift
    said=$("$@")
    [[ $said == "bulkhash "*": 49" ]] || { echo "$name printed: $said" >&2; exit 1; }
    echo "$name: $said"
}

cmake --install "$build" --prefix "$place/prefix" >"$place/log" || { cat "$place/log"; exit 1; }

cmake -S "$here" -B "$place/by-cmake" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$place/prefix" >"$place/log" &&
    cmake --build "$place/by-cmake" >>"$place/log" || { cat "$place/log"; exit 1; }
expect find_package "$place/by-cmake/consumer"

if [[ -x $place/prefix/bin/bulkhash ]]; then
    "$place/prefix/bin/bulkhash" --version
fi

command -v pkg-config >/dev/null || { echo "skipped: no pkg-config"; exit 77; }
export PKG_CONFIG_PATH=$place/prefix/$libdir/pkgconfig
read -ra flags <<<"$(pkg-config --cflags --libs bulkhash)"
"$cc" -std=c11 -Wall -Wextra -Werror "$here/main.c" "${flags[@]}" -o "$place/by-pkg-config"
LD_LIBRARY_PATH=$place/prefix/$libdir expect pkg-config "$place/by-pkg-config"
