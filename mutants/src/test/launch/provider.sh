#!/bin/sh
# provider.sh - the provider and interface that the library chooses on machines that test/fabric imitates, as oshinfo shows
# them.
. "${top_srcdir:=.}/test/tap.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
unset SHMEM_OFI_PROVIDER SHMEM_OFI_DOMAIN FI_PROVIDER

# chosen PROFILES, SHMEM_OFI_PROVIDER, what oshinfo must print with blanks squeezed
chosen() {
    LD_LIBRARY_PATH=$top_builddir/test/fabric/.libs FABRIC_PROFILE=$1 SHMEM_OFI_PROVIDER=$2 "$top_builddir/src/tools/oshinfo" \
        2>&1 | tr -s ' ' > "$work/log"
    grep -qF "$3" "$work/log"
    ok $? "on a machine with $1, SHMEM_OFI_PROVIDER='$2': $3" "$work/log"
}

# Catches: a provider with less message order hidden by one that has more; a provider requested by name that is not used.
chosen cxi,tcp '' 'cxi cxi0 SAS WAW ENDPOINT ALLOCATED PROV_KEY 192 4G 8 no chosen'
chosen cxi-key,tcp '' 'cxi cxi0 SAS WAW ENDPOINT ALLOCATED 192 4G 8 no chosen'
chosen efa,efa-direct,tcp '' 'efa rdmap0s6-rdm SAS VIRT_ADDR ALLOCATED PROV_KEY 0 1G 4 no chosen'
chosen opx,cxi '' 'opx hfi1_0 none none 16 2G 4 no a better one was found'
chosen opx,tcp '' 'no chosen'
chosen cxi,tcp cxi 'no chosen'
chosen cxi,psm3 psm3 'psm3 psm3_0 SAS WAW<=4K none 64 4G 4 no chosen'
chosen cxi,verbs verbs 'verbs;ofi_rxm mlx5_0 SAS SAW WAW VIRT_ADDR ALLOCATED PROV_KEY 15.9K 1G 4 no chosen'

# Catches: a provider or an interface refused with the reason of another.
chosen cxi,tcp efa 'SHMEM_OFI_PROVIDER=efa: this libfabric does not have it'
chosen efa-direct,cxi efa 'SHMEM_OFI_PROVIDER=efa: it needs a memory registration or a mode that this library does not have'
chosen cxi,tcp tcp 'no libfabric provider can be used with SHMEM_OFI_PROVIDER=tcp: tcp on lo: loopback reaches this node only'
FI_PROVIDER=tcp chosen cxi,tcp cxi 'FI_PROVIDER=tcp restricts the providers'
export SHMEM_OFI_DOMAIN=cxi7
chosen cxi,tcp '' 'SHMEM_OFI_DOMAIN=cxi7: no libfabric provider has such an interface'
chosen cxi,tcp cxi 'SHMEM_OFI_DOMAIN=cxi7: provider cxi has no such interface'
unset SHMEM_OFI_DOMAIN

# Catches: a misspelt interface in a list that is ignored, or reported by each PE of the node.
LD_LIBRARY_PATH=$top_builddir/test/fabric/.libs FABRIC_PROFILE=cxi,tcp SHMEM_OFI_DOMAIN=cxi0,lo,cxi7 SHMEM_TRANSPORT=ofi timeout 120 \
    $OSHRUN -n 2 "$top_builddir/test/multi/const.pes" > "$work/log" 2>&1 &&
    [ "$(grep -c 'warning: SHMEM_OFI_DOMAIN=cxi0,lo,cxi7: cxi has no interface lo on this node' "$work/log")" = 1 ]
ok $? "an interface that the provider does not have: one line" "$work/log"

# Catches: PEs that send longer messages than others take, so that the job waits until the heartbeat ends it.
if "$top_builddir/src/tools/oshinfo" | grep -q 'tcp;ofi_rxm'; then
    SHMEM_OFI_PROVIDER='tcp;ofi_rxm' SHMEM_TRANSPORT=ofi timeout 120 $OSHRUN -n 2 sh -c \
        '[ "$PMIX_RANK" = 0 ] || export FI_OFI_RXM_BUFFER_SIZE=32768; exec "$0"' "$top_builddir/test/multi/const.pes" > "$work/log" 2>&1
    [ $? = 1 ] && [ "$(grep -c ': PE [01] exchanges messages of up to [0-9]* bytes, this PE up to' "$work/log")" = 1 ]
    ok $? "limits of messages that differ: one line" "$work/log"
else
    skip "limits of messages that differ" "no tcp;ofi_rxm in this libfabric"
fi

# shared PROFILE, SHMEM_OFI_DOMAIN, number of NICs that four PEs must use together
shared() {
    LD_LIBRARY_PATH=$top_builddir/test/fabric/.libs FABRIC_PROFILE=$1 FABRIC_MORE_NICS=1 SHMEM_OFI_DOMAIN=$2 SHMEM_TRANSPORT=ofi \
        SHMEM_DEBUG=1 timeout 120 $OSHRUN -n 4 "$top_builddir/test/multi/const.pes" > "$work/log" 2>&1
    status=$?
    [ $status = 0 ] && [ "$(grep -o 'libfabric provider .* on [^;]*' "$work/log" | sort -u | wc -l)" = $3 ]
    ok $? "$3 NICs are used on a machine with two of $1, SHMEM_OFI_DOMAIN='$2'" "$work/log"
}

# Catches: PEs of a node that all use the same NIC; PEs that cannot communicate between NICs; interfaces with IP addresses,
# which may not reach each other, used without a request.
shared cxi '' 2
shared efa '' 2
shared cxi cxi0.1 1
shared cxi cxi0,cxi0.1 2

# The same over the TCP provider of this machine's libfabric, in a network with two interfaces.
if unshare -n ip link add nic1 type bridge 2> /dev/null; then
    SHMEM_OFI_DOMAIN=nic1,nic2 SHMEM_TRANSPORT=ofi SHMEM_DEBUG=1 timeout 120 unshare -n sh -c '
        ip link set lo up
        for i in 1 2; do
            ip link add nic$i type bridge && ip link set nic$i up && ip addr add 10.9.0.$i/24 dev nic$i || exit
        done
        exec "$@"' sh $OSHRUN -n 4 "$top_builddir/test/multi/const.pes" > "$work/log" 2>&1
    status=$?
    [ $status = 0 ] && [ "$(grep -o 'libfabric provider .* on [^;]*' "$work/log" | sort -u | wc -l)" = 2 ]
    ok $? "two interfaces with IP addresses are used" "$work/log"
else
    skip "two interfaces with IP addresses are used" "no right to make network interfaces"
fi

# Catches: receives of ofi_rxm for which each PE touches 70 MB; a value of the user that is not used.
cat > "$work/peak.py" << 'END'
import os, sys
pid = os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, used = os.wait4(pid, 0)
print("KiB", used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status) != 0)
END
peak() { # KiB of the larger of two PEs over tcp;ofi_rxm
    SHMEM_OFI_PROVIDER='tcp;ofi_rxm' SHMEM_TRANSPORT=ofi timeout 120 $OSHRUN -n 2 python3 "$work/peak.py" \
        "$top_builddir/test/multi/const.pes" > "$work/log" 2>&1 && sed -n 's/^KiB //p' "$work/log" | sort -n | tail -n 1
}
name='an endpoint of tcp;ofi_rxm takes 30 MB less than with the receives that libfabric posts by itself'
if [ -d /sys/class/infiniband ] || ! "$top_builddir/src/tools/oshinfo" | grep -q 'tcp;ofi_rxm'; then
    skip "$name" "no tcp;ofi_rxm in this libfabric, or an RDMA device is there"
else
    ours=$(peak)
    theirs=$(FI_OFI_RXM_MSG_RX_SIZE=4096 peak)
    if [ "${ours:-0}" -gt 0 ] && [ -z "$theirs" ] && grep -q 'this libfabric does not have it' "$work/log"; then
        skip "$name" "this libfabric's tcp refuses more than 1,024 receives"
    else
        [ "${ours:-0}" -gt 0 ] && [ $((ours + 30000)) -lt "${theirs:-0}" ]
        ok $? "$name" "$work/log"
    fi
fi

export FABRIC_MORE_NICS=1
chosen cxi,tcp '' 'cxi cxi0.1 SAS WAW ENDPOINT ALLOCATED PROV_KEY 192 4G 8 no chosen'
unset FABRIC_MORE_NICS

# Catches: attributes that the JSON lacks or that differ from the provider's.
LD_LIBRARY_PATH=$top_builddir/test/fabric/.libs FABRIC_PROFILE=psm3,tcp "$top_builddir/src/tools/oshinfo" --json | python3 -c '
import json, sys
psm3, tcp = json.load(sys.stdin)["providers"]
assert psm3["taken"] and psm3["message_order"] == ["SAS", "WAW"] and psm3["waw_bytes"] == 4096, psm3
assert psm3["inject_bytes"] == 64 and psm3["immediate_bytes"] == 4 and psm3["mr_mode"] == [] and not psm3["hmem"], psm3
assert not tcp["taken"] and "loopback" in tcp["why_not"] and tcp["message_order"] == ["SAS", "SAW", "WAW"], tcp'
ok $? "the attributes as JSON"
plan
