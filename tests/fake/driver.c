/*
 * A CUDA driver without a GPU, for tests of addresses that are not the host's: one function of it.
 * Which memory is a device's the test says.
 */
#include <stddef.h>
#include <stdint.h>

#define PUBLIC __attribute__((visibility("default")))

extern PUBLIC const unsigned char *bh__fake_device_memory[2];
const unsigned char *bh__fake_device_memory[2]; /* begin, end */

int PUBLIC cuPointerGetAttributes(unsigned count, int *attributes, void **data, uintptr_t address);

int PUBLIC cuPointerGetAttributes(unsigned count, int *attributes, void **data, uintptr_t address)
{
    const int there = address >= (uintptr_t)bh__fake_device_memory[0] &&
                      address < (uintptr_t)bh__fake_device_memory[1];

    for (unsigned i = 0; i < count; i++) {
        switch (attributes[i]) {
        case 2: *(unsigned *)data[i] = there ? 2 : 0; break;
        case 4: *(void **)data[i] = NULL; break;
        default: return 1;
        }
    }
    return 0;
}
