/* One design, for whoever wants the scenes of all (tables/designs.h). */
extern const scene_design BH_OF_DESIGN(scenes);
