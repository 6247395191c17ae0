// The kernel's and libbpf's headers in the order they need: libbpf's helpers use types of linux/bpf.h without
// including it.
#ifndef WEFT_BPF_KERNEL_H
#define WEFT_BPF_KERNEL_H

// clang-format off
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
// clang-format on

#endif
