/* Shared libraries that are looked for at run time. */
#ifndef BH_BASE_LIBRARY_H
#define BH_BASE_LIBRARY_H

/* The address of `symbol` in the shared library `path`, which stays loaded; NULL when there is
 * none, and a reason for each place that was tried, which lives until this thread's next call.
 * Names without a slash are looked for beside the file that this code is in first, then in its
 * ../lib, then where the system looks. */
const void *bh__library_symbol(const char *path, const char *symbol, const char **reason);

#endif
