// AF_XDP constants that newer kernels know and Debian 12's headers (6.1) lack. Linux 6.6 added both.
#pragma once

#include <linux/if_xdp.h>

#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)  // bind flag: frames may span several descriptors
#endif
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0)  // descriptor option: the frame goes on in the next descriptor
#endif
