/* One pair of widths in the choice of a design's kernels. */
#if BH_APART < BH_DESIGN_INSTANCES && BH_CUDA_HAS
if (options->key_bytes == BH_KEY_BYTES && options->value_bytes == BH_VALUE_BYTES &&
    BH_DESIGN_WANTS_APART(options) == BH_APART)
    return &BH_DESIGN(gpu_all);
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
