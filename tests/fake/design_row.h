/* One row of module.c's designs. */
{BH_DESIGN_NUMBER,        sizeof(BH_DESIGN_GEOMETRY), BH_DESIGN_SCRATCH,
 BH_OF_DESIGN(job_bytes), BH_OF_DESIGN(how),          BH_OF_DESIGN(has_regions)},
