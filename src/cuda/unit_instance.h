/* One pair of widths of the device code of unit.cu: both designs' kernels. */
#include "cuda/kernels.h"
#if !BH_APART
#include "cuda/hashfight_kernels.h"
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
