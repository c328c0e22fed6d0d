/* Memory that the host has addresses of and cannot reach: that of a GPU. */
#ifndef BH_BASE_ELSEWHERE_H
#define BH_BASE_ELSEWHERE_H

#include <stdint.h>

/* Whether there may be such memory in a call of n elements: whether the program has loaded CUDA by now.
 * To be asked once a call, and not for each array: it takes 10 ns, and the loader's lock. So threads
 * that have made many small calls before there is CUDA look now and then only. */
int bh__may_be_elsewhere(uint64_t n);

/* Whether an address is one of a GPU's memory that the host cannot read: to answer a mistake with a
 * sentence and not a crash. Says what this thread knew when it asked the first question last. */
int bh__is_elsewhere(const void *memory);

#endif
