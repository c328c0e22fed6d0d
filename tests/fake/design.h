/* What module.c must know of each pass of one design. */
static const uint64_t BH_OF_DESIGN(job_bytes)[] = {BH_DESIGN_PASSES(PASS_BYTES)};
static const uint8_t BH_OF_DESIGN(how)[] = {BH_DESIGN_PASSES(PASS_HOW)};
