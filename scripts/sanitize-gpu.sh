#!/usr/bin/env bash
# Runs compute-sanitizer over the differential test on a GPU, with small tables, and the one of
# insertions by region: memory that is out of bounds, read before it is written, or given up to
# others in the wrong order.
#
#   sanitize-gpu.sh BUILD
#
# Exit status 0: nothing was found. 1: something was, or there is no compute-sanitizer or no GPU.
set -euo pipefail
build=$1
tool=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)

if ! [ -x "$tool" ]; then
    echo "sanitize-gpu.sh: there is no compute-sanitizer; it comes with the CUDA toolkit" >&2
    exit 1
fi
export BULKHASH_TEST_DEVICE=cuda BULKHASH_CUDA_MODULE=$build/lib/libbulkhash_cuda.so
for check in memcheck initcheck synccheck; do
    echo "--- $check"
    for test in differential-random_ops unit-regions; do
        "$tool" --tool "$check" --error-exitcode 1 "$build/tests/bin/$test"
    done
done
