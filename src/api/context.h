/* What a context is inside the library. */
#ifndef BH_API_CONTEXT_H
#define BH_API_CONTEXT_H

#include "cpu/backend.h"
#include "cuda/host/backend.h"

struct bh_context {
    bh_system system;           /* frees the context itself */
    const bh__backend *backend; /* the backend in `cpu` or in `cuda`, whichever is used */
    bh__cpu cpu;
    bh__cuda cuda;
};

#endif
