#!/bin/sh
# gpc_net.sh - global procedure calls over the network of one host. Catches: what comes in another order there than through
# shared memory, such as a call on a new team that arrives before its PE has returned from the split.
export SHMEM_TRANSPORT=ofi
FULMAR_TEST_PES="2 3" exec sh "$top_srcdir/test/pes" "$top_builddir/test/multi/gpc.pes"
