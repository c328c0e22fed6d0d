/* Memory that the host has addresses of and cannot reach: that of a GPU. */
#ifndef BH_BASE_ELSEWHERE_H
#define BH_BASE_ELSEWHERE_H

/* Whether there may be such memory: whether the program has loaded CUDA by now. It takes 10 ns, and the
 * loader's lock: so once a call, and not for each array. */
int bh__may_be_elsewhere(void);

/* Whether an address is one of a GPU's memory that the host cannot read: to answer a mistake with a
 * sentence and not a crash. Says what this thread knew when it asked the first question last. */
int bh__is_elsewhere(const void *memory);

#endif
