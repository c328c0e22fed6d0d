/*
 * Checks, the seed and the scale: what every test program begins with.
 *
 * A test is a cmocka test that uses check() and check_status() instead of cmocka's own asserts:
 * they may be used from any thread, take a sentence, and print the seed with which the failure
 * can be repeated (BULKHASH_TEST_SEED=... in the environment; "random" takes a new one). Sizes that
 * cost time go through test_scaled(), so that the same test is small enough under a sanitizer.
 * A program's main() asks test_target_runs() first: a program that is run once per instruction
 * set (BULKHASH_TARGET) is skipped, with exit status 77, where the machine lacks it.
 */
#ifndef BULKHASH_TESTS_SUPPORT_CHECK_H
#define BULKHASH_TESTS_SUPPORT_CHECK_H

/* cmocka wants these four before it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>

#include <bulkhash/bulkhash.h>

#if defined(__SANITIZE_ADDRESS__)
#define TEST_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef TEST_ADDRESS_SANITIZER
#define TEST_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__)
#define TEST_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_THREAD_SANITIZER 1
#endif
#endif
#ifndef TEST_THREAD_SANITIZER
#define TEST_THREAD_SANITIZER 0
#endif

#define TEST_SANITIZER (TEST_ADDRESS_SANITIZER || TEST_THREAD_SANITIZER)

/* The exit status that CTest reads as "skipped". */
#define TEST_SKIPPED 77

/* Fails the test with a sentence (printf format and arguments) unless `condition` holds. */
#define check(condition, ...)                                                                      \
    ((condition) ? (void)0 : test_failed(__FILE__, __LINE__, #condition, __VA_ARGS__))

/* Fails the test unless the call answers `expected`. A failed call must also explain itself. */
#define check_status(call, expected) test_status_is(__FILE__, __LINE__, #call, (call), (expected))

/* Prints what failed and ends the test; from a thread other than the test's, the program. */
_Noreturn void test_failed(const char *file, int line, const char *condition, const char *format,
                           ...) __attribute__((format(printf, 4, 5)));

void test_status_is(const char *file, int line, const char *call, bh_status answer,
                    bh_status expected);

/* The seed of this run: BULKHASH_TEST_SEED, or a fixed one. */
uint64_t test_seed(void);

/* Whether BULKHASH_TEST_SECONDS says that the test is to go on with fresh seeds (`make test-long`). Then
 * each stretch may be long. */
bool test_is_long(void);

/* For the main() of a test that can go on with fresh seeds for as long as one likes: whether
 * BULKHASH_TEST_SECONDS, counted from the program's start, are not over yet. If so the seed is
 * another one from here on, and is printed. */
bool test_goes_on(void);

/* `full`, or a fraction of it (never 0) in a build with a sanitizer. */
uint64_t test_scaled(uint64_t full);

/* `full` scaled, but never so small that a pool would find the batch too small to work on. */
uint64_t test_scaled_large(uint64_t full);

/* The instruction set that BULKHASH_TARGET forces, or NULL. */
const char *test_forced_target(void);

/* Whether contexts can be made here; if not, says why. Call it first in main(). */
bool test_target_runs(void);

/* For a forked child: a failed check ends the process instead of going back to cmocka, which would
 * run the parent's tests a second time. */
void test_is_child(void);

/* main()'s exit status for cmocka's count of failed tests (which could be 77 by accident). */
int test_exit_status(int failed);

/* The number of elements of an array. */
#define TEST_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
