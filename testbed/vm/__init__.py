"""The lab with guests: what `testbed.netns` shows with this project's own endpoint and WAN, shown with the kernel's.

    [host-a] --- tap --- host-a --- gw-a --- wan --- gw-b --- host-b --- tap --- [host-b]
     rdma_rxe                            tap | tap                              rdma_rxe
                                          [wan]
                                         tc-netem

The five nodes are those of testbed/lab. host-a, host-b and wan are virtual machines with stock Debian kernels; their
namespaces hold QEMU and a bridge between its tap devices and the wires of the lab, so that agents, captures and
everything else of testbed.netns work as they do there. `kernel` gets a kernel, `guest` boots it and runs commands in
it, `topology` makes a lab of guests, `cli` is what people call. What runs inside is in guest/; provision/ are the
scripts that make a machine a soft-RoCE host or a WAN.
"""
