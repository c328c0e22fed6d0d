/*
 * In place of peers.cpp and sort_peers.cpp where there are no peers: without a C++ compiler, under
 * sanitizers, with BULKHASH_PEERS=OFF, and in the program that counts lines, which times nothing.
 */
#include "peers.h"
#include "sort_peers.h"

#include <stddef.h>

const peer peers[] = {{.name = NULL}};

const sort_peer sort_peers[] = {{.name = NULL}};

const char peers_missing[] = "libcuckoo-dev libtbb-dev libboost1.81-dev libabsl-dev";
