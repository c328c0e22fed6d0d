/* The designs that builds for tests have besides: a library that is shipped answers BH_ERR_UNSUPPORTED. */
#include "probing/design.h"
