/* What module.c must know of each pass of one design. */
static const uint64_t BH_OF_DESIGN(job_bytes)[] = {BH_DESIGN_PASSES(PASS_BYTES)};

/* Whether a table's large calls may go region by region, on a GPU. */
static bool BH_OF_DESIGN(has_regions)(const bh_table_options *options)
{
    (void)options;
#ifdef BH_DESIGN_REGIONS
    return BH_DESIGN_WANTS_APART(options) ==
           BH_DESIGN_APART_DEFAULT(options->key_bytes, options->value_bytes);
#else
    return false;
#endif
}

static const uint8_t BH_OF_DESIGN(how)[] = {BH_DESIGN_PASSES(PASS_HOW)};

_Static_assert(sizeof(BH_DESIGN_GEOMETRY) <= BH__CUDA_DESCRIPTOR, "room for it in the mailbox");
