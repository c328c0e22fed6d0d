/* One design in the module: its kernels for the options of a table, NULL where there are none. */
const bh__gpu_kernels *BH_OF_DESIGN(gpu_kernels)(const bh_table_options *options);

/* The kernels of the schedule that the options ask for; NULL: it is not compiled for this design or these
 * widths. */
static const bh__gpu_kernels *BH_OF_DESIGN(scheduled)(const bh_table_options *o)
{
    const bh__gpu_kernels *k = BH_OF_DESIGN(gpu_kernels)(o);

    if (!k || !o->experimental->gpu_schedule)
        return k;
#if defined(BH_CUDA_COMPARED) && !defined(BH_DESIGN_LOOKUPS_ONLY)
#define BH_COMPARED_ROW(name, tile, way)                                                           \
    if (o->experimental->gpu_schedule == BH_GPU_SCHEDULE_##name && k->has_compared_widths) {       \
        extern const bh__gpu_schedule BH_OF_DESIGN(gpu_schedule_##tile##_##way);                   \
        static const bh__gpu_kernels made = with(k, &BH_OF_DESIGN(gpu_schedule_##tile##_##way));   \
                                                                                                   \
        return &made;                                                                              \
    }
    BH_COMPARED_ROWS(BH_COMPARED_ROW)
#undef BH_COMPARED_ROW
#endif
    return nullptr;
}
