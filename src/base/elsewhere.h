/* Memory that the host has addresses of and cannot reach: that of a GPU. */
#ifndef BH_BASE_ELSEWHERE_H
#define BH_BASE_ELSEWHERE_H

/* Whether an address is one of a GPU's memory that the host cannot read: to answer a mistake with a
 * sentence and not a crash. Cheap (10 ns) as long as the program has not loaded CUDA. */
int bh__is_elsewhere(const void *memory);

#endif
