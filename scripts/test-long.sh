#!/usr/bin/env bash
# Goes on testing with fresh seeds:
#   scripts/test-long.sh BUILD HOURS
#
# Runs the tests that have CTest's label "long" in the build folder BUILD, again and again for about
# HOURS hours (a fraction is fine). A round gives each of them the same time, in which it works with
# one seed after the other: BULKHASH_TEST_SEED is the round's first one, BULKHASH_TEST_SECONDS how
# long to go on. BULKHASH_TEST_SEED in the environment is where the first round begins, else that
# is drawn. The first failure ends it all, and the last line says how to repeat it.
set -euo pipefail
export LC_ALL=C

build=${1:?usage: scripts/test-long.sh BUILD HOURS}
hours=${2:?usage: scripts/test-long.sh BUILD HOURS}
jobs=${JOBS:-$(nproc 2>/dev/null || echo 2)}

# Whole seconds; empty when HOURS is no number above 0.
total=$(awk -v hours="$hours" 'BEGIN {
    if (hours ~ /^[0-9]*\.?[0-9]+$/ && hours > 0) printf "%d", hours * 3600 + 1
}')
[[ -n $total ]] || { echo "test-long: HOURS=$hours is no number of hours" >&2; exit 2; }

tests=$(ctest --test-dir "$build" -N -L '^long$' | awk '/^Total Tests:/ { print $3 }')
((tests > 0)) || { echo "test-long: no test in $build has the label \"long\"" >&2; exit 1; }

clock() { printf '%d:%02d:%02d' $(($1 / 3600)) $(($1 / 60 % 60)) $(($1 % 60)); }

# Every failed test of the last round, as a command. A test prints each seed that it goes on with,
# and a failed check its own, so the last one is it; a test that died before had the round's. ctest
# knows what else the test has in its environment, and BULKHASH_TEST_SECONDS that its stretches are long.
print_repeats() {
    local failed=$build/Testing/Temporary/LastTestsFailed.log
    [[ -r $failed ]] || return 0
    awk -v seed="$1" -v seconds="$2" -v build="$build" '
        NR == FNR { sub(/^[0-9]+:/, ""); seeds[$0] = seed; next }
        /^[0-9]+\/[0-9]+ Test: / { name = $3 }
        name in seeds && match($0, /BULKHASH_TEST_SEED=[0-9]+/) {
            seeds[name] = substr($0, RSTART + 19, RLENGTH - 19)
        }
        END {
            for (name in seeds) {
                printf "repeat: BULKHASH_TEST_SECONDS=%s BULKHASH_TEST_SEED=%s ", seconds, seeds[name]
                printf "ctest --test-dir %s --output-on-failure -R \047^%s$\047\n", build, name
            }
        }
    ' "$failed" "$build/Testing/Temporary/LastTest.log" >&2
}

# 62 random bits: shell arithmetic is signed.
first=${BULKHASH_TEST_SEED:-$(($(od -An -N8 -tu8 /dev/urandom | tr -d ' ' | cut -c1-18)))}
rounds=0
seeds=0
SECONDS=0
while ((SECONDS < total)); do
    # All rounds but the last few are long enough that starting programs does not count.
    slice=$(((total - SECONDS) * jobs / tests))
    slice=$((slice < 1 ? 1 : slice > 120 ? 120 : slice))
    # Far from the last round's: tests add small numbers to their seed.
    seed=$((first + rounds * 1000003))
    echo "test-long: $(clock $SECONDS) of $(clock "$total"), round $((rounds + 1)): $tests tests," \
        "$slice s each, from seed $seed"
    if ! BULKHASH_TEST_SECONDS=$slice BULKHASH_TEST_SEED=$seed \
        ctest --test-dir "$build" -L '^long$' --parallel "$jobs" --no-tests=error \
        --output-on-failure --stop-on-failure; then
        echo "test-long: FAILED after $(clock $SECONDS) in round $((rounds + 1))" >&2
        print_repeats "$seed" "$slice"
        exit 1
    fi
    rounds=$((rounds + 1))
    # One for each seed that a test went on with, and the one that it began with.
    seeds=$((seeds + tests +
        $(grep -c '^BULKHASH_TEST_SEED=' "$build/Testing/Temporary/LastTest.log" || true)))
done
echo "test-long: passed: $rounds rounds of $tests tests, $seeds seeds, $(clock $SECONDS)"
