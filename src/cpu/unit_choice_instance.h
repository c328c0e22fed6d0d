/* One pair of widths in a unit's choice of kernels. */
#if BH_UNIT_HAS
if (options->key_bytes == BH_KEY_BYTES && options->value_bytes == BH_VALUE_BYTES &&
    BH_DESIGN_WANTS_APART(options) == BH_APART)
    return &BH_DESIGN(kernels);
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
