#!/usr/bin/env bash
# Installs what is missing, on Debian and its relatives; elsewhere says what is missing:
#   scripts/setup.sh [build] [test] [peers] [jobs]        the first two when none is named
# `peers` is what the benchmark compares with: hash tables in C++, and programs that count k-mers; what
# draws the comparison; and valgrind, which counts instructions. `jobs` is what scripts/compare-jobs.py
# compares with, but for what pip installs.
# Looks for the tools and headers themselves, so that what came from elsewhere counts too, and
# touches neither network nor package manager when nothing is missing.
set -euo pipefail
parts=" ${*:-build test} "

has_command() { command -v "$1" >/dev/null 2>&1; }
has_header() { echo "#include <$1>" | cc -E - >/dev/null 2>&1; }
has_cxx_header() { echo "#include <$1>" | c++ -x c++ -E - >/dev/null 2>&1; }
has_python_module() { python3 -c "import $1" >/dev/null 2>&1; }
has_clang_sanitizers() { # the compiler alone does not bring the run-time libraries
    has_command clang && echo 'int main(void) { return 0; }' |
        clang -x c -fsanitize=thread -o /dev/null - >/dev/null 2>&1
}

missing=()
need() { # need PACKAGE CHECK [ARGUMENT]
    local package=$1
    shift
    "$@" || missing+=("$package")
}
if [[ $parts == *" build "* || $parts == *" test "* ]]; then
    need make has_command make
    need cmake has_command cmake
    need gcc has_command gcc
    need libc6-dev has_header pthread.h
    need zlib1g-dev has_header zlib.h
    need pkg-config has_command pkg-config # README.md compiles a program with it
    need python3 has_command python3 # writes the man pages
fi
if [[ $parts == *" test "* ]]; then
    need g++ has_command g++
    need libcmocka-dev has_header cmocka.h
    need clang has_command clang
    need clang-format has_command clang-format
    need libclang-rt-dev has_clang_sanitizers
    need groff-base has_command groff # a test looks at the man pages
fi
if [[ $parts == *" peers "* ]]; then
    [[ " ${missing[*]} " == *" g++ "* ]] || need g++ has_command c++
    need libcuckoo-dev has_cxx_header libcuckoo/cuckoohash_map.hh
    need libtbb-dev has_cxx_header oneapi/tbb/concurrent_hash_map.h
    need libboost1.81-dev has_cxx_header boost/unordered/unordered_flat_map.hpp
    need libabsl-dev has_cxx_header absl/container/flat_hash_map.h
    need jellyfish has_command jellyfish
    need kmc has_command kmc
    need python3-matplotlib has_python_module matplotlib
    need valgrind has_command valgrind
fi
if [[ $parts == *" jobs "* ]]; then
    need python3 has_command python3
    need python3-venv has_python_module ensurepip
    [[ " ${missing[*]} " == *" jellyfish "* ]] || need jellyfish has_command jellyfish
fi
((${#missing[@]})) || exit 0

if ! has_command apt-get; then
    echo "setup: missing, by their Debian names: ${missing[*]}. There is no apt-get here: install them another way." >&2
    exit 1
fi
as_root=()
if ((EUID != 0)); then
    if ! has_command sudo; then
        echo "setup: missing: ${missing[*]}. Install them as root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120)
"${apt[@]}" update
"${apt[@]}" install -y --no-install-recommends "${missing[@]}"
