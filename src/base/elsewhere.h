/* Memory that has addresses on the host but that the host cannot read: that of a GPU. */
#ifndef BH_BASE_ELSEWHERE_H
#define BH_BASE_ELSEWHERE_H

#include <stdint.h>

/* Whether there may be such memory in a call of n elements: whether the program has loaded CUDA by now.
 * To be called once a call, and not for each array: it takes 10 ns, and the loader's lock. For the same
 * reason threads that have made many small calls without CUDA check only now and then. */
int bh__may_be_elsewhere(uint64_t n);

/* Whether an address is one of a GPU's memory that the host cannot read: so that a mistake gets an error
 * sentence, not a crash. The answer is what this thread knew at its last bh__may_be_elsewhere. */
int bh__is_elsewhere(const void *memory);

#endif
