/*
 * In place of cuco_peers.cu where CMake was not told of the sources of cuCollections, and in the program
 * that counts lines.
 */
#include "gpu_peers.h"

#include <stddef.h>

const gpu_peer gpu_peers[] = {{.library = NULL}};

const char gpu_peers_commit[] = "unknown";

const char gpu_peers_missing[] =
    "this program has no peers on a GPU: build it with cmake -DBULKHASH_CUCO=FOLDER, where FOLDER is a "
    "copy of https://github.com/NVIDIA/cuCollections";
