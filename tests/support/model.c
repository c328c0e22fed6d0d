/*
 * The model's map: linear probing over three arrays, with a state byte per place so that no key is
 * special. A removed key leaves its place marked, and the map is rebuilt when three quarters of
 * the places have been used.
 */
#include "support/model.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/memory.h"
#include "support/random.h"

enum { MODEL_FREE = 0, MODEL_USED = 1, MODEL_REMOVED = 2 };

struct model {
    uint64_t places; // a power of two
    uint64_t used;   // places that are not free, those of removed keys included
    uint64_t count;
    uint64_t *keys;
    uint64_t *values;
    uint8_t *states;
};

static void model_allocate(model *map, uint64_t places)
{
    map->places = places;
    map->used = 0;
    map->count = 0;
    map->keys = test_allocate(places * sizeof *map->keys);
    map->values = test_allocate(places * sizeof *map->values);
    map->states = test_allocate(places);
    memset(map->states, MODEL_FREE, places);
}

static void model_release(model *map)
{
    free(map->keys);
    free(map->values);
    free(map->states);
}

model *model_new(void)
{
    model *map = test_allocate(sizeof *map);
    model_allocate(map, 64);
    return map;
}

void model_free(model *map)
{
    if (map != NULL) {
        model_release(map);
        free(map);
    }
}

uint64_t model_count(const model *map)
{
    return map->count;
}

/* The place of the key, or the free place at which the search for it ends. */
static uint64_t model_place(const model *map, uint64_t key)
{
    uint64_t place = random_mix64(key ^ 0x5851f42d4c957f2du) & (map->places - 1);
    while (map->states[place] != MODEL_FREE &&
           !(map->states[place] == MODEL_USED && map->keys[place] == key)) {
        place = (place + 1) & (map->places - 1);
    }
    return place;
}

bool model_get(const model *map, uint64_t key, uint64_t *value)
{
    uint64_t place = model_place(map, key);
    if (map->states[place] != MODEL_USED) {
        return false;
    }
    if (value != NULL) {
        *value = map->values[place];
    }
    return true;
}

static void model_rebuild(model *map)
{
    model old = *map;
    uint64_t places = 64;
    while (places < old.count * 4) {
        places *= 2;
    }
    model_allocate(map, places);
    for (uint64_t i = 0; i < old.places; i++) {
        if (old.states[i] == MODEL_USED) {
            model_put(map, old.keys[i], old.values[i]);
        }
    }
    model_release(&old);
}

void model_put(model *map, uint64_t key, uint64_t value)
{
    uint64_t place = model_place(map, key);
    if (map->states[place] == MODEL_USED) {
        map->values[place] = value;
        return;
    }
    map->states[place] = MODEL_USED;
    map->keys[place] = key;
    map->values[place] = value;
    map->used++;
    map->count++;
    if (map->used * 4 > map->places * 3) {
        model_rebuild(map);
    }
}

bool model_remove(model *map, uint64_t key)
{
    uint64_t place = model_place(map, key);
    if (map->states[place] != MODEL_USED) {
        return false;
    }
    map->states[place] = MODEL_REMOVED;
    map->count--;
    return true;
}

void model_clear(model *map)
{
    model_release(map);
    model_allocate(map, 64);
}

bool model_next(const model *map, uint64_t *position, uint64_t *key, uint64_t *value)
{
    for (; *position < map->places; ++*position) {
        if (map->states[*position] == MODEL_USED) {
            *key = map->keys[*position];
            *value = map->values[*position];
            ++*position;
            return true;
        }
    }
    return false;
}

static int64_t as_signed(uint64_t value, uint32_t value_bytes)
{
    return value_bytes == 4 ? (int32_t)(uint32_t)value : (int64_t)value;
}

static uint64_t add_floats(uint64_t a, uint64_t b, uint32_t value_bytes)
{
    uint64_t sum = 0;

    if (value_bytes == 4) {
        float x, y;
        memcpy(&x, &a, sizeof x);
        memcpy(&y, &b, sizeof y);
        x += y;
        memcpy(&sum, &x, sizeof x);
    } else {
        double x, y;
        memcpy(&x, &a, sizeof x);
        memcpy(&y, &b, sizeof y);
        x += y;
        memcpy(&sum, &x, sizeof x);
    }
    return sum;
}

bh_outcome model_step(bh_op op, uint32_t value_bytes, bool *present, uint64_t *value,
                      uint64_t *operand)
{
    bool there = *present;

    switch (op) {
    case BH_FIND:
        if (there) {
            *operand = *value;
        }
        return there ? BH_FOUND : BH_MISSING;
    case BH_INSERT:
        *present = true;
        *value = *operand;
        return there ? BH_ASSIGNED : BH_INSERTED;
    case BH_INSERT_NEW:
        *present = true;
        *value = there ? *value : *operand;
        return there ? BH_FOUND : BH_INSERTED;
    case BH_FIND_OR_INSERT:
        *present = true;
        if (!there) {
            *value = *operand;
            return BH_INSERTED;
        }
        *operand = *value;
        return BH_FOUND;
    case BH_UPDATE: *value = there ? *operand : *value; return there ? BH_ASSIGNED : BH_MISSING;
    case BH_ERASE: *present = false; return there ? BH_ERASED : BH_MISSING;
    case BH_ADD:
        *value = there ? (*value + *operand) & test_width_mask(value_bytes) : *operand;
        break;
    case BH_MIN: *value = there && *value < *operand ? *value : *operand; break;
    case BH_MAX: *value = there && *value > *operand ? *value : *operand; break;
    case BH_MIN_SIGNED:
        *value = there && as_signed(*value, value_bytes) < as_signed(*operand, value_bytes)
                     ? *value
                     : *operand;
        break;
    case BH_MAX_SIGNED:
        *value = there && as_signed(*value, value_bytes) > as_signed(*operand, value_bytes)
                     ? *value
                     : *operand;
        break;
    case BH_ADD_FLOAT: *value = there ? add_floats(*value, *operand, value_bytes) : *operand; break;
    default: check(false, "%d is no operation", (int)op);
    }
    *present = true;
    return there ? BH_ASSIGNED : BH_INSERTED;
}

bh_outcome model_apply(model *map, bh_op op, uint32_t value_bytes, uint64_t key, uint64_t *operand)
{
    uint64_t value = 0;
    bool before = model_get(map, key, &value);
    bool after = before;
    bh_outcome outcome = model_step(op, value_bytes, &after, &value, operand);

    if (after) {
        model_put(map, key, value);
    } else if (before) {
        (void)model_remove(map, key);
    }
    return outcome;
}
