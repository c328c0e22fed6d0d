/* Arrays in different places, see places.h. */
#include "support/places.h"

#include <stdlib.h>

#include "api/context.h"
#include "cuda/module.h"
#include "support/check.h"
#include "support/memory.h"

static const bh__cuda_module *module;
static bh__gpu *gpu;

static void check_answer(int error, const char *request)
{
    check(error == 0, "%s: %s", request, module->message(error));
}

void places_start(void)
{
    check_status(bh__cuda_find(getenv("BULKHASH_CUDA_MODULE"), &module), BH_OK);
    check_answer(module->open(0, NULL, &gpu), "open");
}

void places_end(void)
{
    module->close(gpu);
}

uint64_t places_part(void)
{
    return module->part;
}

void *place_allocate(place where, uint64_t bytes)
{
    void *memory = NULL;

    switch (where) {
    case PLACE_PAGEABLE: return test_allocate(bytes);
    case PLACE_PINNED:
        check_answer(module->allocate_pinned(gpu, bytes, &memory), "allocate_pinned");
        return memory;
    case PLACE_DEVICE:
        check_answer(module->allocate(gpu, BH_MEMORY_CALL, bytes, &memory), "allocate");
        check_answer(module->wait(gpu, BH_LANE_RUN), "wait");
        return memory;
    case PLACE_NONE: break;
    }
    return NULL;
}

void place_free(place where, void *memory)
{
    if (where == PLACE_PAGEABLE) {
        free(memory);
    } else if (where == PLACE_PINNED) {
        check_answer(module->release_pinned(gpu, memory), "release_pinned");
    } else if (where == PLACE_DEVICE) {
        check_answer(module->release(gpu, memory), "release");
        check_answer(module->wait(gpu, BH_LANE_RUN), "wait");
    }
}

void place_set(void *array, const void *from, uint64_t bytes)
{
    if (array != NULL) {
        check_answer(module->copy(gpu, BH_LANE_RUN, array, from, bytes), "copy");
        check_answer(module->wait(gpu, BH_LANE_RUN), "wait");
    }
}

void place_get(void *to, const void *array, uint64_t bytes)
{
    place_set(array == NULL ? NULL : to, array, bytes);
}

void place_set_later(bh_context *context, void *array, const void *from, uint64_t bytes)
{
    check_answer(module->copy(context->cuda.gpu, BH_LANE_RUN, array, from, bytes), "copy");
}

const char *place_name(place where)
{
    static const char *const names[] = {"pageable", "pinned", "on the device", "left out"};
    return names[where];
}
