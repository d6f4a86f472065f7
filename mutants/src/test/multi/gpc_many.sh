#!/bin/sh
# gpc_many.sh - trees of global procedure calls over 64 PEs of one node. Catches: an id lost, called twice or called by
# the wrong parent where the tree is deep, and calls that wait for each other for ever.
export FULMAR_TEST_PES=64 FULMAR_TEST_TIMEOUT="${FULMAR_TEST_TIMEOUT:-180}"
for program in gpc gpc_calls; do
    sh "$top_srcdir/test/pes" "$top_builddir/test/multi/$program.pes" | grep -v '^1\.\.'
done | awk '/^(not )?ok / { n++; sub(/ok [0-9]+/, "ok " n) } { print; fflush() } END { print "1.." n + 0 }'
