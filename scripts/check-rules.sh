#!/usr/bin/env bash
# Checks the rules that hold for the source tree and that no compiler knows:
#   scripts/check-rules.sh [ROOT]
#   scripts/check-rules.sh --self-test     breaks each rule in a small tree and wants it noticed
#
# Folders: base <- targets, primitives, storage <- tables <- cpu, cuda <- api <- cli, bench, tests,
# examples. A file includes its own folder and folders further left; the public header is open to
# all; cli, examples and tests/consumer see nothing else.
# src/: no printing, no exit, no standalone fences, atomics through base/atomic.h alone.
# src/tables: no header of a platform and none of libc but stdint, stddef and stdbool, no #if about
# a vendor, no call of libc.
# src/cpu, src/cuda, src/api: no design is named, but in its own subfolder there (src/cuda/device/dycuckoo);
# what a design is called, and what its names begin with, is read from src/tables/*/design.h.
# A design that tests alone have (tests/more_designs.h) is named nowhere outside its folder tests/NAME, in
# no source and nothing that builds one, but in one line of that list.
# src/cuda/host includes nothing of src/cuda/device, nor the other way round.
# src/cuda/device: in a header of which one kernel begins with bh_cuda_follow all kernels do (docs/decisions/0037).
# src/: no two files have one name, but those that every design or both backends have (twins below).
# Nowhere: a warning or a sanitizer switched off.
set -euo pipefail
export LC_ALL=C

check() { # check ROOT: prints every violation; fails when there is one
    (
        cd "$1"
        {
            find include src cli bench tests examples -type f \
                \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cc' \
                -o -name '*.cpp' -o -name '*.inc' \)
            find CMakeLists.txt CMakePresets.json Makefile cmake scripts include src cli bench tests \
                examples -type f \( -name 'CMake*' -o -name '*.cmake' -o -name Makefile \
                -o -name '*.sh' -o -name '*.py' \) || true # not every tree has all of them
        } 2>/dev/null | sort | awk "$program"
    )
}

# Reads names of files and checks each.
program='
BEGIN {
    level["include"] = 0
    level["base"] = 1
    level["targets"] = level["primitives"] = level["storage"] = 2
    level["tables"] = 3
    level["cpu"] = level["cuda"] = 4
    level["api"] = 5
    level["cli"] = level["bench"] = level["tests"] = level["examples"] = level["tests/consumer"] = 6
    level["tests/peers"] = level["tests/fake"] = 7
    public_only["cli"] = public_only["examples"] = public_only["tests/consumer"] = 1
    header_of_tables["stdint.h"] = header_of_tables["stddef.h"] = header_of_tables["stdbool.h"] = 1
    more_designs = "tests/more_designs.h"
    more_line = "^#include \"[a-z0-9_]+/design[.]h\"$"
    word = "(^|[^A-Za-z0-9_.>])"
    while ((getline name) > 0) {
        files[++count] = name
        known[name] = 1
    }
    for (i = 1; i <= count; i++)
        if (files[i] ~ /^src\/tables\/[a-z0-9_]+\/design\.h$/) {
            designs[++design_count] = folder_before(files[i])
            names_of[design_count] = names_in(files[i])
        }
    while ((getline name < more_designs) > 0)
        if (name ~ more_line) {
            sub(/^#include "/, "tests/", name)
            sub(/"$/, "", name)
            tests_own[++tests_own_count] = folder_before(name)
            tests_names[tests_own_count] = names_in(name)
        }
    close(more_designs)
    split("design.h layout.h ops.h policy.c policy.h expand.h backend.c backend.h batch.c", twin, " ")
    for (i in twin) twins[twin[i]] = 1
    for (i = 1; i <= count; i++)
        if (files[i] ~ /\.(c|h|cu|cuh|cc|cpp|inc)$/) check_file(files[i])
        else check_build(files[i])
    if (!count) {
        print "no source file found"
        bad = 1
    }
    exit bad
}

# src/tables/NAME/design.h -> NAME
function folder_before(path,    part) {
    return split(path, part, "/") > 1 ? part[split(path, part, "/") - 1] : ""
}

# What a design is called: its folder, its number, its prefixes.
function names_in(name,    line, names) {
    names = folder_before(name)
    while ((getline line < name) > 0)
        if (line ~ /^#define BH_DESIGN_(NUMBER|PREFIX)[ \t]/) {
            sub(/^#define [A-Z_]+[ \t]+/, "", line)
            names = names "|" tolower(line)
        }
    close(name)
    return names
}

# A design of tests is named outside its folder, or twice in the list. What another library calls its own is no
# such name.
function check_tests_own(line,    i) {
    gsub(/cuco::[a-z_]+/, "", line)
    for (i = 1; i <= tests_own_count; i++)
        if (name_now !~ ("^tests/" tests_own[i] "/") && tolower(line) ~ tests_names[i] &&
            !(name_now == more_designs && line ~ more_line && !listed[i]++))
            violation("names the design " tests_own[i] " of tests; what it is stands in tests/" tests_own[i] \
                      ", and one line of " more_designs " has it built")
}

# A file of the build, or a script.
function check_build(name,    line) {
    name_now = name
    line_number = 0
    while ((getline line < name) > 0) {
        line_number++
        check_tests_own(line)
    }
    close(name)
}

# A design is named outside its own folders, where the schedules of all are.
function check_designs(line, folder,    i) {
    for (i = 1; i <= design_count; i++)
        if (name_now !~ ("^src/" folder "/([a-z0-9_]+/)?" designs[i] "/") && tolower(line) ~ names_of[i])
            violation("names the design " designs[i] "; what a design is stands in src/tables/" designs[i])
}

# The folder that the rule speaks of: src/base/x.c -> base, cli/x.c -> cli.
function folder_of(name,    part) {
    if (match(name, /^tests\/(consumer|peers|fake)\//)) return substr(name, 1, RLENGTH - 1)
    split(name, part, "/")
    return part[1] == "src" ? part[2] : part[1]
}

# a/b/../c -> a/c
function normal(path,    part, n, i, out, kept) {
    n = split(path, part, "/")
    kept = 0
    for (i = 1; i <= n; i++) {
        if (part[i] == "." || part[i] == "") continue
        if (part[i] == ".." && kept > 0) { kept--; continue }
        out[++kept] = part[i]
    }
    path = ""
    for (i = 1; i <= kept; i++) path = path (i > 1 ? "/" : "") out[i]
    return path
}

# The line without comments. `in_comment` lasts from line to line. What is inside quotes stays.
function without_comments(line,    out, i, c, two, quote) {
    out = ""
    quote = ""
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        two = substr(line, i, 2)
        if (in_comment) {
            if (two == "*/") { in_comment = 0; i++; out = out " " }
        } else if (quote != "") {
            out = out c
            if (c == "\\") { out = out substr(line, ++i, 1) }
            else if (c == quote) quote = ""
        } else if (two == "/*") { in_comment = 1; i++ }
        else if (two == "//") break
        else {
            if (c == "\"" || c == "\047") quote = c
            out = out c
        }
    }
    return out
}

function violation(what) {
    printf "%s:%d: %s\n", name_now, line_number, what
    bad = 1
}

function check_include(line, folder,    quoted, header, here, found, other) {
    # The lists of instances and of designs include what their includers, and declarations, who are
    # checked, have named.
    if (line ~ /^#include BH_(INSTANCE_FILE|EACH_DESIGN|MORE_DESIGNS|THIS_DESIGN|DESIGN_[A-Z]+)$/)
        return
    if (line !~ /^[ \t]*#[ \t]*include[ \t]*["<]/) {
        violation("an #include whose file is not spelled out cannot be checked")
        return
    }
    quoted = line ~ /include[ \t]*"/
    header = line
    sub(/^[ \t]*#[ \t]*include[ \t]*["<]/, "", header)
    sub(/[">].*$/, "", header)
    here = name_now
    sub(/[^\/]*$/, "", here)
    found = ""
    if (quoted && (normal(here header) in known)) found = normal(here header)
    else if (normal("include/" header) in known) found = normal("include/" header)
    else if (normal("src/" header) in known) found = normal("src/" header)
    else if (normal("tests/" header) in known) found = normal("tests/" header)

    if (found == "") {
        if (quoted) violation("\"" header "\" is not in the tree")
        else if (folder == "tables" && !(header in header_of_tables))
            violation("<" header "> in src/tables; what it is for belongs in src/base or src/targets")
        return
    }
    other = folder_of(found)
    if ((name_now found) ~ /^src\/cuda\/host\/.*src\/cuda\/device\/|^src\/cuda\/device\/.*src\/cuda\/host\//)
        violation("includes " found ", the other half")
    if (other == folder || other == "include") return
    if (folder == "include") violation("the public header includes " found)
    else if (folder in public_only) violation("includes " found "; it may use the public header only")
    else if (!(other in level) || !(folder in level)) violation("includes " found ", a folder without a rule")
    else if (level[other] >= level[folder]) violation(folder " must not depend on " other " (" found ")")
}

# Kernels whose bodies begin with bh_cuda_follow, and the first line of one that begins with anything else.
function check_kernel(code,    rest) {
    if (kernel == 2 && code ~ /[^ \t]/) kernel = begins_kernel(code)
    if (code ~ /__global__/) kernel = 1
    if (kernel == 1 && match(code, /\{/)) {
        rest = substr(code, RSTART + 1)
        kernel = rest ~ /[^ \t]/ ? begins_kernel(rest) : 2
    }
}

function begins_kernel(code) {
    if (code ~ /^[ \t]*bh_cuda_follow\(\);/) follows = 1
    else if (!late) late = line_number
    return 0
}

function check_file(name,    line, code, folder) {
    name_now = name
    line_number = 0
    base = name
    sub(/^.*\//, "", base)
    if (name ~ /^src\// && !(base in twins) && named[base]++) violation("a second file of this name in src")
    in_comment = kernel = follows = late = 0
    folder = folder_of(name)
    while ((getline line < name) > 0) {
        line_number++
        if (line ~ /NOLINT/) violation("a switched-off warning")
        line = without_comments(line)
        check_tests_own(line)
        if (folder == "cpu" || folder == "cuda" || folder == "api")
            check_designs(line, folder)
        if (line ~ /^[ \t]*#[ \t]*include/) {
            check_include(line, folder)
            continue
        }
        code = line
        gsub(/\\./, "", code)
        gsub(/"[^"]*"/, "\"\"", code)
        if (code ~ /#[ \t]*pragma.*diagnostic[ \t]+ignored|_Pragma|no_sanitize/)
            violation("a switched-off warning or sanitizer")
        if (name !~ /^src\//) continue
        if (name ~ /^src\/cuda\/device\/.*\.h$/) check_kernel(code)
        if (code ~ word "(printf|fprintf|vprintf|vfprintf|dprintf|puts|fputs|putchar|putc|fputc|perror)[ \t]*\\(" ||
            code ~ word "(stdout|stderr)([^A-Za-z0-9_]|$)")
            violation("the library never prints")
        if (code ~ word "(exit|_exit|_Exit|quick_exit|abort|raise|__builtin_trap|assert)[ \t]*\\(")
            violation("the library never exits or aborts")
        if (code ~ /atomic_thread_fence|atomic_signal_fence|__sync_/)
            violation("a standalone fence or an old atomic; put the order on the access")
        else if (code ~ word "__atomic_" && name != "src/base/atomic.h")
            violation("an atomic access that the target sim would not see; go through base/atomic.h")
        if (folder == "tables") {
            if (code ~ /^[ \t]*#[ \t]*(if|ifdef|ifndef|elif).*(__AVX|__SSE|__BMI|__x86|__amd64|__i386|__aarch64|__ARM|__arm|__NEON|__CUDA|__NVCC|__HIP|__GNUC__|__GLIBC__|__clang__|__linux|__unix|__APPLE__|_MSC_VER|_WIN32)/)
                violation("an #if about a vendor in src/tables; it belongs in src/targets")
            if (code ~ word "(malloc|calloc|realloc|free|memcpy|memmove|memset|memcmp|strlen|strcmp|snprintf|qsort|mmap|munmap|madvise|pthread_[a-z_]+)[ \t]*\\(")
                violation("a call of libc in src/tables; go through src/base")
        }
    }
    close(name)
    if (follows && late) {
        line_number = late
        violation("a kernel that does not wait for the one before it, beside such that do (bh_cuda_follow)")
    }
}
'

# --- self-test --------------------------------------------------------------------------------

make_tree() { # make_tree ROOT: a small tree that keeps every rule
    rm -rf "$1"
    mkdir -p "$1"/{include/bulkhash,src/{base,targets,primitives,storage,tables/one,cpu,cuda,api},cli,bench,tests/{unit,support,peers,consumer},examples}
    (
        cd "$1"
        printf '#include <stdint.h>\n' >include/bulkhash/bulkhash.h
        printf '#include <bulkhash/bulkhash.h>\n#include <stdlib.h>\n/* printf(1) exit(1)\n * abort() */\n' >src/base/base.h
        printf '#include "base/base.h"\n#include <immintrin.h>\n' >src/targets/target.h
        printf '#include "base/base.h"\n' >src/primitives/scan.h
        printf '#include "base/base.h"\n' >src/storage/tier.h
        printf '#include <stddef.h>\n#include "targets/target.h"\n#include "layout.h"\n' >src/tables/one/ops.h
        printf '#include "base/base.h"\n' >src/tables/one/layout.h
        printf '#define BH_DESIGN_NUMBER BH_ONE\n#define BH_DESIGN_PREFIX bh_o_\n' >src/tables/one/design.h
        mkdir -p src/cuda/{host,device/one}
        printf '/* one */\n#include "tables/one/ops.h"\nint bh_o_launch(void);\n' >src/cuda/device/one/one.cu
        printf '__global__ void\n    first(int *p)\n{\n    bh_cuda_follow();\n    *p = 1;\n}\n' >src/cuda/device/kernel.h
        printf '__global__ void apart(int *p) { *p = 1; }\n' >src/cuda/device/apart.h
        printf 'int x;\n' >src/cuda/host/call.h
        printf '#include "targets/target.h"\nstatic const char *m = "exit(1)"; // abort()\n' >src/cpu/unit.c
        printf '/* not the design one */\n#include BH_THIS_DESIGN\n' >src/cuda/device/step.cu
        printf '#include "cpu/unit.c"\nint f(void) { system->exit(1); return snprintf(a, 1, "x"); }\n' >src/api/table.c
        printf '#include "bulkhash/bulkhash.h"\n#include "main.h"\n#include <stdio.h>\n' >cli/main.c
        printf '\n' >cli/main.h
        printf '#include "api/table.c"\n' >bench/bench.c
        printf '#include "support/model.h"\n#include "api/table.c"\n' >tests/unit/contract.c
        printf '\n' >tests/support/model.h
        printf '#include "support/model.h"\n#include "../../bench/bench.c"\n' >tests/peers/peers.c
        printf '#include <bulkhash/bulkhash.h>\n' | tee tests/consumer/main.c >examples/quickstart.c
        mkdir -p tests/extra cmake
        printf '#define BH_DESIGN_NUMBER BH_EXTRA\n#define BH_DESIGN_PREFIX bh_x_\nint bh_x_y;\n' >tests/extra/design.h
        printf '/* extra */\n#include "extra/design.h"\n' >tests/more_designs.h
        printf 'add_library(x)\n' | tee CMakeLists.txt cmake/library.cmake >tests/CMakeLists.txt
    )
}

self_test() {
    local broken said failed=0 cases=0 file text
    root=$(mktemp -d "${TMPDIR:-/tmp}/bulkhash-rules.XXXXXX")
    trap 'rm -rf "$root"' EXIT # root is global: the trap runs after this function
    make_tree "$root/tree"
    check "$root/tree" || { echo "self-test: a tree that keeps the rules was refused" >&2; return 1; }
    while IFS='|' read -r file text; do
        [[ -n $file ]] || continue
        cases=$((cases + 1))
        make_tree "$root/tree"
        broken=$root/tree/$file
        printf '%s\n' "$text" >>"$broken"
        said=$(check "$root/tree") && { echo "self-test: not noticed in $file: $text" >&2; failed=1; continue; }
        [[ $said == "$file:$(wc -l <"$broken"):"* ]] ||
            { echo "self-test: $file: $text: not named, but: $said" >&2; failed=1; }
    done <<'END'
src/base/base.h|#include "targets/target.h"
src/base/base.h|#include "storage/tier.h"
src/base/base.h|#include "../tables/one/layout.h"
src/targets/target.h|#include "tables/one/layout.h"
src/targets/target.h|#include "primitives/scan.h"
src/primitives/scan.h|#include "storage/tier.h"
src/storage/tier.h|#include "api/table.c"
src/tables/one/ops.h|#include "cpu/unit.c"
src/tables/one/ops.h|#  include  <api/table.c>
src/cpu/unit.c|#include "api/table.c"
src/cpu/unit.c|#include "../cuda/device/step.cu"
src/cuda/device/step.cu|#include "cpu/unit.c"
src/cuda/device/step.cu|#include "cuda/host/call.h"
src/cuda/host/call.h|#include "cuda/device/step.cu"
src/api/table.c|#include "cli/main.h"
src/api/table.c|#include "../../cli/main.h"
src/api/table.c|#include "support/model.h"
src/api/table.c|#include "nowhere.h"
src/api/table.c|#include CHOSEN_ELSEWHERE
include/bulkhash/bulkhash.h|#include "../../src/base/base.h"
cli/main.c|#include "base/base.h"
cli/main.c|#include "api/table.c"
examples/quickstart.c|#include "base/base.h"
tests/consumer/main.c|#include "base/base.h"
tests/unit/contract.c|#include "../../bench/bench.c"
tests/support/model.h|#include "../peers/peers.c"
src/tables/one/ops.h|#include <immintrin.h>
src/tables/one/ops.h|#include <cuda_runtime.h>
src/tables/one/ops.h|#include <string.h>
src/tables/one/ops.h|#ifdef __AVX2__
src/tables/one/ops.h|#if defined(__CUDA_ARCH__)
src/tables/one/ops.h|static void f(void *a) { free(a); }
src/tables/one/ops.h|static void f(char *a) { /* x */ memcpy(a, a + 1, 1); }
src/api/table.c|static void f(void) { printf("x"); }
src/api/table.c|static void f(void) { fprintf (stderr, "x"); }
src/base/base.h|static inline void f(void) { if (x) exit(1); }
src/cpu/unit.c|abort();
src/targets/target.h|__atomic_thread_fence(__ATOMIC_SEQ_CST);
src/cpu/unit.c|__sync_synchronize();
src/cpu/unit.c|int f(int *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
src/cpu/unit.c|#include "tables/one/layout.h"
src/cpu/unit.c|static int x = BH_ONE;
src/cuda/device/step.cu|int bh_o_begin(void);
src/cuda/host/call.h|int bh_o_begin(void);
src/cuda/device/kernel.h|__global__ void second(int *p) { *p = 1; }
src/api/table.c|static const char *f = "one or two";
src/api/table.c|#pragma GCC diagnostic ignored "-Wshadow"
cli/main.c|__attribute__((no_sanitize("thread"))) void f(void);
tests/unit/contract.c|int x; // NOLINT
src/base/base.h|int bh_x_begin(void);
src/tables/one/ops.h|#define AN_EXTRA_ONE
bench/bench.c|static int x = BH_EXTRA;
cli/main.h|int extra;
tests/unit/contract.c|static const char *name = "extra";
tests/more_designs.h|#include "extra/design.h"
tests/CMakeLists.txt|add_library(extra)
cmake/library.cmake|# -DBH_X_SLOTS=2
CMakeLists.txt|add_subdirectory(tests/extra)
END
    make_tree "$root/tree"
    cp "$root/tree/src/base/base.h" "$root/tree/src/storage/base.h"
    cases=$((cases + 1))
    said=$(check "$root/tree") && { echo "self-test: not noticed: two files of one name" >&2; failed=1; }
    ((failed == 0)) && echo "self-test: $cases broken rules, all noticed"
    return "$failed"
}

if [[ ${1-} == --self-test ]]; then
    self_test
else
    check "${1:-$(dirname "${BASH_SOURCE[0]}")/..}" && echo "the tree keeps the rules"
fi
