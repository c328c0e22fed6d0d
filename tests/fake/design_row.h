/* One row of module.c's designs. */
{BH_DESIGN_NUMBER,
 sizeof(BH_DESIGN_GEOMETRY),
 BH_DESIGN_SCRATCH,
 BH_OF_DESIGN(job_bytes),
 BH_OF_DESIGN(how),
 BH_OF_DESIGN(has_regions),
#ifdef BH_DESIGN_REGIONS
 BH_OF_DESIGN(fake_by_region)},
#else
 NULL},
#endif
