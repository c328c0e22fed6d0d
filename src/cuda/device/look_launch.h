/* How kernels of look.h are launched, for one pair of widths of one design. An include-template, included behind it. */

/* Elements that a lane takes in turn, and blocks. */
static uint32_t BH_DESIGN(look_rounds)(const bh__gpu *gpu, uint64_t count)
{
    const uint32_t most = bh__gpu_rounds(gpu, count);

    return most < BH_DESIGN_IN_TURN ? most : BH_DESIGN_IN_TURN;
}

static unsigned BH_DESIGN(look_blocks)(const bh__gpu *gpu, uint64_t count)
{
    return bh__gpu_blocks(bh__gpu_warps(count, BH_DESIGN(look_rounds)(gpu, count)) * 32);
}

static int BH_DESIGN(launch_look)(void (*kernel)(const bh__cuda_job, uint32_t), bh__gpu *gpu,
                                  const bh__cuda_job *job, uint64_t count)
{
    kernel<<<BH_DESIGN(look_blocks)(gpu, count), BH_CUDA_BLOCK, 0, gpu->stream>>>(
        *job, BH_DESIGN(look_rounds)(gpu, count));
    return (int)cudaGetLastError();
}
