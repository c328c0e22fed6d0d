/*
 * The designs that only builds for tests have: a line each, as in src/tables/designs.h, and no file
 * outside a design's folder names one but this (scripts/check-rules.sh). A library that is shipped
 * answers BH_ERR_UNSUPPORTED.
 */
#include "probing/design.h"
