#!/bin/sh
# gpc_many.sh - trees of global procedure calls over 64 PEs of one node. Catches: an id lost, called twice or called by
# the wrong parent where the tree is deep, and calls that wait for each other for ever.
FULMAR_TEST_PES=64 FULMAR_TEST_TIMEOUT=${FULMAR_TEST_TIMEOUT:-180} exec sh "$top_srcdir/test/pes" "$top_builddir/test/multi/gpc.pes"
