/*
 * An include-template's parameters: a file that is included once for each pair of
 * widths finds BH_KEY_BYTES (4 or 8) and BH_VALUE_BYTES (0, 4 or 8) defined, and
 * BH_APART as 1 where keys and values lie apart, else 0; and this header gives it
 * the types and names of that instance. It is included anew each time, so it has no
 * guard.
 */
#undef BH_KEY
#undef BH_VALUE
#undef BH_NAME
#undef BH_LOAD_KEY
#undef BH_STORE_KEY
#undef BH_READ_KEY
#undef BH_WRITE_KEY
#undef BH_LOAD_VALUE
#undef BH_STORE_VALUE
#undef BH_READ_VALUE
#undef BH_WRITE_VALUE
#undef BH_MATCH
#undef BH_MATCH_KEYS
#undef BH_WANTED
#undef BH_LOAD_VECTOR
#undef BH_PACK_KEYS
#undef BH_PACK_VALUES
#undef BH_CHOOSE_VALUES

#ifndef BH_INSTANCE_PASTE
#define BH_INSTANCE_PASTE2(name, key, value, apart) name##_k##key##v##value##_##apart
#define BH_INSTANCE_PASTE(name, key, value, apart) BH_INSTANCE_PASTE2(name, key, value, apart)
#endif
#define BH_NAME(name) BH_INSTANCE_PASTE(name, BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART)

#if BH_KEY_BYTES == 4
#define BH_KEY uint32_t
#define BH_LOAD_KEY bh_load32
#define BH_STORE_KEY bh_store32
#define BH_READ_KEY bh_read32
#define BH_WRITE_KEY bh_write32
#define BH_MATCH bh_line_match32
#define BH_MATCH_KEYS bh_keys_match32
#define BH_WANTED bh_wanted32
#define BH_LOAD_VECTOR bh_vec_load32
#define BH_PACK_KEYS bh_pack32
#elif BH_KEY_BYTES == 8
#define BH_KEY uint64_t
#define BH_LOAD_KEY bh_load64
#define BH_STORE_KEY bh_store64
#define BH_READ_KEY bh_read64
#define BH_WRITE_KEY bh_write64
#define BH_MATCH bh_line_match64
#define BH_MATCH_KEYS bh_keys_match64
#define BH_WANTED bh_wanted64
#define BH_LOAD_VECTOR bh_vec_load64
#define BH_PACK_KEYS bh_pack64
#else
#error "BH_KEY_BYTES must be 4 or 8"
#endif

/* A set has values of no bytes; the text handles them as words that are never loaded or stored. */
#if BH_VALUE_BYTES == 8
#define BH_VALUE uint64_t
#define BH_LOAD_VALUE bh_load64
#define BH_STORE_VALUE bh_store64
#define BH_READ_VALUE bh_read64
#define BH_WRITE_VALUE bh_write64
#define BH_PACK_VALUES bh_pack64
#define BH_CHOOSE_VALUES bh_choose64
#elif BH_VALUE_BYTES == 4 || BH_VALUE_BYTES == 0
#define BH_VALUE uint32_t
#define BH_LOAD_VALUE bh_load32
#define BH_STORE_VALUE bh_store32
#define BH_READ_VALUE bh_read32
#define BH_WRITE_VALUE bh_write32
#define BH_PACK_VALUES bh_pack32
#define BH_CHOOSE_VALUES bh_choose32
#else
#error "BH_VALUE_BYTES must be 0, 4 or 8"
#endif
