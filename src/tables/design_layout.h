/* One design, for whoever wants the layouts of all (tables/designs.h). */
#include BH_DESIGN_LAYOUT
