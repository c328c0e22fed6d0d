/*
 * How a failed check ends: it prints place, condition, sentence and seed, then leaves the test
 * through cmocka when it happened in the thread that runs the tests. cmocka leaves with a longjmp,
 * which no other thread may do, so there the program ends at once.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "support/check.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/random.h"

static pthread_t test_thread;
static bool test_thread_known = false;
static uint64_t seed = 0;
static bool seed_known = false;
static double started = 0; // when the program did

_Noreturn void test_failed(const char *file, int line, const char *condition, const char *format,
                           ...)
{
    char sentence[1024];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s:%d: check failed: %s\n  %s\n  BULKHASH_TEST_SEED=%llu BULKHASH_TARGET=%s\n",
            file, line, condition, sentence, (unsigned long long)test_seed(),
            test_forced_target() == NULL ? "(not set)" : test_forced_target());
    fflush(stderr);
    if (test_thread_known && pthread_equal(test_thread, pthread_self())) {
        _fail(file, line);
    }
    _Exit(1);
}

void test_status_is(const char *file, int line, const char *call, bh_status answer,
                    bh_status expected)
{
    if (answer != expected) {
        test_failed(file, line, call, "it answered %s instead of %s; the library says: %s",
                    bh_status_name(answer), bh_status_name(expected), bh_error_detail());
    }
    if (answer != BH_OK && strlen(bh_error_detail()) < 10) {
        test_failed(file, line, call, "it answered %s without a sentence: \"%s\"",
                    bh_status_name(answer), bh_error_detail());
    }
}

uint64_t test_seed(void)
{
    const char *text = NULL;

    if (seed_known) {
        return seed;
    }
    seed_known = true;
    text = getenv("BULKHASH_TEST_SEED");
    if (text == NULL || *text == '\0') {
        seed = 20240607;
    } else if (strcmp(text, "random") == 0) {
        struct timespec now;
        (void)clock_gettime(CLOCK_REALTIME, &now);
        seed = ((uint64_t)now.tv_sec * 1000000007u) ^ (uint64_t)now.tv_nsec;
        printf("BULKHASH_TEST_SEED=%llu\n", (unsigned long long)seed);
    } else {
        seed = strtoull(text, NULL, 0);
    }
    return seed;
}

static double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

bool test_is_long(void)
{
    return getenv("BULKHASH_TEST_SECONDS") != NULL;
}

bool test_goes_on(void)
{
    const char *text = getenv("BULKHASH_TEST_SECONDS");

    if (text == NULL || seconds_now() - started >= strtod(text, NULL)) {
        return false;
    }
    // Not the next number: tests add small ones to the seed, and would repeat each other.
    seed = random_mix64(test_seed() + 0x9e3779b97f4a7c15u);
    // At once, so that it is known even if the program should be killed.
    printf("BULKHASH_TEST_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    return true;
}

uint64_t test_scaled(uint64_t full)
{
    // Measured: ThreadSanitizer slows these tests by 15 to 40, AddressSanitizer by 3 to 6.
    uint64_t divisor = TEST_THREAD_SANITIZER ? 16 : TEST_ADDRESS_SANITIZER ? 4 : 1;
    return full / divisor > 0 ? full / divisor : 1;
}

uint64_t test_scaled_large(uint64_t full)
{
    const uint64_t large = 20000;
    return test_scaled(full) > large ? test_scaled(full) : large;
}

const char *test_forced_target(void)
{
    const char *target = getenv("BULKHASH_TARGET");
    return target != NULL && *target != '\0' ? target : NULL;
}

bool test_target_runs(void)
{
    bh_context *context = NULL;
    bh_status status;

    test_thread = pthread_self();
    test_thread_known = true;
    started = seconds_now();
    (void)test_seed(); // so that it is settled before there are threads
    status = bh_context_create("cpu", NULL, &context);
    bh_context_destroy(context);
    if (status == BH_ERR_UNSUPPORTED && test_forced_target() != NULL) {
        printf("skipped: %s\n", bh_error_detail());
        return false;
    }
    // Any other failure is not a reason to skip: the tests will run into it and say so.
    return true;
}

void test_is_child(void)
{
    test_thread_known = false;
}

int test_exit_status(int failed)
{
    return failed == 0 ? 0 : 1;
}
