#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Tracepoints: those that Documentation/tracing.rst names are there and tell what
# happens.
# timeout: 120
. "${0%/*}/lib.sh"

tracing=/sys/kernel/tracing
[ -d $tracing/events ] || mount -t tracefs nodev $tracing 2>/dev/null
[ -d $tracing/events ] || skip_all "this kernel has no tracing"

begin()
{
	echo 1 >$tracing/events/kgni/enable
	echo >$tracing/trace
}

# What was traced since begin, without the columns before.
end()
{
	echo 0 >$tracing/events/kgni/enable
	sed -n 's/.* \(kgni_[a-z]*: \)/\1/p' $tracing/trace >/tmp/traced
}

# times REGEX: how often that was traced.
times()
{
	grep -Ec "$1" /tmp/traced
}

copy()
{
	mkdir -p /tmp/served
	gnicp serve --dir /tmp/served >/tmp/output 2>&1 &
	succeeds "a file is copied" gnicp put /tmp/file
	kill $!
	wait $!
}

load_kgni nics=2
echo 4096 >$tracing/buffer_size_kb
is "$(cd $tracing/events/kgni && echo kgni_*)" "kgni_attach kgni_complete kgni_deregister \
kgni_detach kgni_dgram kgni_error kgni_post kgni_register kgni_window_open \
kgni_window_revoke" "the tracepoints"

head -c 300000 /dev/urandom >/tmp/file
begin
copy
end
is "$(times '^kgni_attach: dev=0 nic=[12] ptag=[0-9]+ cookie=0x[0-9a-f]+ inst=0x')" 2 \
	"both sides attach"
is "$(times '^kgni_detach: dev=0 nic=[12] ')" 2 "and end"
is "$(times '^kgni_post: dev=0 nic=[12] RDMA_PUT pe=1 addr=0x[0-9a-f]+ length=[0-9]+ .* OK$')" 3 \
	"three blocks are posted"
is "$(times '^kgni_complete: dev=0 nic=[12] RDMA_PUT .* OK$')" 3 "and complete"
is "$(times '^kgni_complete: .* AMO ')" 3 "counted by three atomic operations"
is "$(($(times '^kgni_register: dev=0 nic=[12] mdh=[0-9]+ addr=0x') > 0))" 1 "memory is registered"
is "$(times '^kgni_register: ')" "$(times '^kgni_deregister: ')" "and let go"
is "$(times '^kgni_dgram: dev=0 nic=[12] .* PENDING peer pe=1 ')" 1 "a datagram is posted to the server"
is "$(times '^kgni_dgram: dev=0 nic=[12] .* COMPLETED peer pe=1 ')" 2 "and completes on both sides"
is "$(times '^kgni_error:')" 0 "nothing fails"

begin
gni_guard >/tmp/output 2>&1
end
is "$(($(times '^kgni_post: .* BOUNDS$') > 0))" 1 "a post beyond a region"
is "$(times '^kgni_post: .* (BOUNDS|MDD_INVALID|PROTECTION)$')" \
	"$(times '^kgni_complete: .* (BOUNDS|MDD_INVALID|PROTECTION)$')" "completes as it must"
is "$(($(times '^kgni_error: dev=0 code=0x2 category=0x[0-9a-f]+ ptag=[0-9]+$') > 0))" 1 \
	"with an error event"

# As the page says, by a filter.
echo 'length >= 65536' >$tracing/events/kgni/kgni_complete/filter
begin
copy
end
echo 0 >$tracing/events/kgni/kgni_complete/filter
is "$(times '^kgni_complete: ')" "$(times '^kgni_complete: .* RDMA_PUT ')" "large transfers only"
unload_kgni
done_testing
