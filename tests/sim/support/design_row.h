/* One row of scene.c's designs. */
{BH_DESIGN_NUMBER, &BH_OF_DESIGN(scenes)},
