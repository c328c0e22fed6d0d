/*
 * Arrays of a GPU given to a context on cores: each call answers BH_ERR_ARGUMENT with a sentence that
 * names the array, and touches nothing. The driver is one of this test's, loaded in the middle: until
 * then nothing asks for one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "support/check.h"
#include "support/tables.h"

enum { N = 100, BYTES = 1 << 16 };

static unsigned char *device; // an address that nobody can read
static uint64_t host[N];
static uint8_t outcomes[N];

static void check_refused(bh_status status, const char *array)
{
    check_status(status, BH_ERR_ARGUMENT);
    check(strstr(bh_error_detail(), array) != NULL && strstr(bh_error_detail(), "GPU") != NULL,
          "it says: %s", bh_error_detail());
}

static void arrays_of_a_gpu(void **state)
{
    bh_context *context = context_new(1, NULL, NULL);
    bh_table *table = table_new(context, 8, 8, N);
    uint64_t cursor = 0;
    uint64_t count = 0;
    void *driver;
    const unsigned char **memory;
    (void)state;

    for (uint64_t i = 0; i < N; i++) {
        host[i] = i;
    }
    // Before there is a driver, and while there is one, arrays of the host are the host's.
    check_status(bh_insert(table, host, host, N, outcomes), BH_OK);
    device = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(device != MAP_FAILED, "mmap failed");
    driver = dlopen(getenv("BULKHASH_FAKE_DRIVER"), RTLD_NOW | RTLD_LOCAL);
    check(driver != NULL, "%s", dlerror());
    memory = dlsym(driver, "bh__fake_device_memory");
    memory[0] = device;
    memory[1] = device + BYTES;

    check_refused(bh_insert(table, device, host, N, outcomes), "keys");
    check_refused(bh_insert(table, host, device, N, outcomes), "values");
    check_refused(bh_insert(table, host, host, N, device), "outcomes");
    check_refused(bh_find(table, host, 1, device, NULL), "values");
    check_refused(bh_erase(table, device + 8, 1, NULL), "keys");
    check_refused(bh_reduce(table, BH_ADD, device, host, N, NULL), "keys");
    check_refused(bh_apply(table, device, host, host, N, NULL), "ops");
    check_refused(bh_sort(context, device, 8, NULL, 0, N), "keys");
    check_refused(bh_export(table, &cursor, device, NULL, N, &count), "keys");
    check_refused(bh_export(table, &cursor, host, device, N, &count), "values");
    check(table_stats(table).keys == N, "a refused call changed something");

    check_status(bh_find(table, host, N, NULL, outcomes), BH_OK);
    check(outcomes[N - 1] == BH_FOUND, "a key is gone");
    // The driver goes again.
    dlclose(driver);
    check_status(bh_find(table, host, N, NULL, outcomes), BH_OK);
    munmap(device, BYTES);
    bh_table_destroy(table);
    bh_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_of_a_gpu),
    };
    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
