/* text.cu's design, at one pair of widths. */
#define BH_KEY_BYTES 8
#define BH_VALUE_BYTES 8
#define BH_APART 0
#include "cuda/device/kernels.h"
