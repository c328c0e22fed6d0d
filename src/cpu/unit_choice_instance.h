/* One pair of widths of a design in a unit: whether it is that of the options. */
#if BH_UNIT_HAS
if (options->key_bytes == BH_KEY_BYTES && options->value_bytes == BH_VALUE_BYTES &&
    BH_DESIGN_WANTS_APART(options) == BH_APART)
    return &BH_DESIGN(kernels);
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
