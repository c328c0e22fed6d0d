/* Shared libraries that are looked for at run time. */
#ifndef BH_BASE_LIBRARY_H
#define BH_BASE_LIBRARY_H

/* The address of `symbol` in the shared library `path`, which stays loaded; NULL, and a reason
 * that lives until the next call, when there is none. Names without a slash are looked for beside
 * the file that this code is in first, then in its ../lib, then where the system looks. */
const void *bh__library_symbol(const char *path, const char *symbol, const char **reason);

#endif
