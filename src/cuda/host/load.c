/* Finding the module with the device code; see module.h. */
#include "cuda/module.h"

#include "base/error.h"
#include "base/library.h"

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

bh_status bh__cuda_find(const char *wanted, const bh__cuda_module **module)
{
    const char *path = wanted && *wanted ? wanted : "libbulkhash_cuda.so." TEXT(BH_VERSION_MAJOR);
    const char *reason = "";
    const bh__cuda_module *found =
        (const bh__cuda_module *)bh__library_symbol(path, BH__CUDA_MODULE_SYMBOL, &reason);

    if (!found)
        return bh__fail(BH_ERR_UNSUPPORTED,
                        "the module for GPUs is not there (%.700s); build bulkhash where the CUDA "
                        "toolkit is, or name the module in BULKHASH_CUDA_MODULE",
                        reason ? reason : path);
    if (found->version != BH__CUDA_MODULE_VERSION)
        return bh__fail(BH_ERR_UNSUPPORTED,
                        "the module for GPUs, %.200s, is of another build of bulkhash", path);
    *module = found;
    return BH_OK;
}
