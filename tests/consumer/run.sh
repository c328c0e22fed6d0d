#!/usr/bin/env bash
# Installs a build into an empty place, builds a small program against it, by what pkg-config says and by
# find_package(), with the shared library and with the static one, and runs all of them and what was
# installed in bin/:
#   tests/consumer/run.sh BUILD_DIRECTORY LIBDIR C_COMPILER [FAKE_MODULE]
# FAKE_MODULE: a module for GPUs that needs none, to see where a program looks for one.
set -euo pipefail
build=$1 libdir=$2 cc=$3 fake=${4-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
place=$(mktemp -d --suffix .bulkhash-consumer)
trap 'rm -rf "$place"' EXIT

expect() { # expect NAME COMMAND...: the command prints the consumer's line
    local name=$1 said
    shift
    said=$("$@") || true
    [[ $said == "bulkhash "*": 49" ]] || { echo "$name printed: $said" >&2; exit 1; }
    echo "$name: $said"
}
expect_static() { # expect_static NAME PROGRAM: needs no libbulkhash.so, and works
    if ldd "$2" 2>&1 | grep libbulkhash; then
        echo "$1 is linked to the shared library" >&2
        exit 1
    fi
    expect "$1" "$2"
}

cmake --install "$build" --prefix "$place/prefix" >"$place/log" || { cat "$place/log"; exit 1; }

cmake -S "$here" -B "$place/by-cmake" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$place/prefix" >"$place/log" &&
    cmake --build "$place/by-cmake" >>"$place/log" || { cat "$place/log"; exit 1; }
expect find_package "$place/by-cmake/consumer"
expect_static 'find_package, static' "$place/by-cmake/consumer_static"

# A program that holds the library looks beside itself and in ../lib, however it was started.
if [[ -f $fake ]]; then
    mkdir -p "$place/moved/bin" "$place/moved/lib"
    module=$(basename "$place/prefix/$libdir"/libbulkhash.so.?)
    module=${module/bulkhash/bulkhash_cuda}
    mv "$place/by-cmake/consumer_static" "$place/moved/bin"
    for folder in bin lib; do
        cp "$fake" "$place/moved/$folder/$module"
        PATH=$place/moved/bin:$PATH expect "module in $folder, program from PATH" consumer_static cuda
        (cd "$place/moved/bin" && expect "module in $folder, program from its folder" ./consumer_static cuda)
        rm "$place/moved/$folder/$module"
    done
fi

if [[ -x $place/prefix/bin/bulkhash ]]; then
    "$place/prefix/bin/bulkhash" --version
    [[ -f $place/prefix/share/bash-completion/completions/bulkhash ]] || { echo "no completion for bash" >&2; exit 1; }
fi
if [[ -d $build/man ]]; then
    [[ -f $place/prefix/share/man/man3/bh_insert.3 ]] || { echo "no man pages" >&2; exit 1; }
fi

command -v pkg-config >/dev/null || { echo "skipped: no pkg-config"; exit 77; }
export PKG_CONFIG_PATH=$place/prefix/$libdir/pkgconfig
strict=(-std=c11 -Wall -Wextra -Werror)
read -ra flags <<<"$(pkg-config --cflags --libs bulkhash)"
"$cc" "${strict[@]}" "$here/main.c" "${flags[@]}" -o "$place/by-pkg-config"
LD_LIBRARY_PATH=$place/prefix/$libdir expect pkg-config "$place/by-pkg-config"

# The linker takes the shared library where both are: only -static, or its name, asks for the other.
read -ra flags <<<"$(pkg-config --static --cflags --libs bulkhash)"
"$cc" "${strict[@]}" "$here/main.c" "${flags[@]/#-lbulkhash/-l:libbulkhash.a}" -o "$place/static"
expect_static 'pkg-config --static, libbulkhash.a' "$place/static"
if echo 'int main(void) { return 0; }' | "$cc" -x c - -static -o "$place/static" 2>/dev/null; then # there is a static libc
    # It warns that dlopen() will want the same libc at run time.
    "$cc" "${strict[@]}" "$here/main.c" -static "${flags[@]}" -o "$place/static" 2>"$place/log" || { cat "$place/log"; exit 1; }
    expect_static 'pkg-config --static, cc -static' "$place/static"
fi
