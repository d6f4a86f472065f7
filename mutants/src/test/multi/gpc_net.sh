#!/bin/sh
# gpc_net.sh - global procedure calls over the network of one host. Catches: an order of arrival that shared memory does
# not have, such as a call on a new team that arrives before its PE has returned from the split.
export SHMEM_TRANSPORT=ofi
for program in gpc gpc_calls gpc_nest; do
    FULMAR_TEST_PES="2 3" sh "$top_srcdir/test/pes" "$top_builddir/test/multi/$program.pes" | grep -v '^1\.\.'
done | awk '/^(not )?ok / { n++; sub(/ok [0-9]+/, "ok " n) } { print; fflush() } END { print "1.." n + 0 }'
