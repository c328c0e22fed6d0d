/* How kernels of look.h are launched, for one pair of widths of one design. An include-template, included behind it. */

/* Elements that a lane takes in turn, at most `most`, and blocks. */
static uint32_t BH_DESIGN(look_rounds)(const bh__gpu *gpu, uint64_t count, uint32_t most)
{
    const uint32_t rounds = bh__gpu_rounds(gpu, count);

    return rounds < most ? rounds : most;
}

static unsigned BH_DESIGN(look_blocks)(uint64_t count, uint32_t rounds)
{
    return bh__gpu_blocks(bh__gpu_warps(count, rounds) * 32);
}

static int BH_DESIGN(launch_look)(void (*kernel)(const bh__cuda_job, uint32_t), bh__gpu *gpu,
                                  const bh__cuda_job *job, uint64_t count, uint32_t most)
{
    const uint32_t rounds = BH_DESIGN(look_rounds)(gpu, count, most);

    kernel<<<BH_DESIGN(look_blocks)(count, rounds), BH_CUDA_BLOCK, 0, gpu->stream>>>(*job, rounds);
    return (int)cudaGetLastError();
}
