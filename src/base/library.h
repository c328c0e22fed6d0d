/* Shared libraries that are looked for at run time. */
#ifndef BH_BASE_LIBRARY_H
#define BH_BASE_LIBRARY_H

/* The address of `symbol` in the shared library `path`, which stays loaded; NULL when there is
 * none. *reason then says why for each place that was tried, and lives until this thread's next call.
 * Names without a slash are looked for first beside the file that this code is in, then in its
 * ../lib, then where the system looks. */
const void *bh__library_symbol(const char *path, const char *symbol, const char **reason);

#endif
