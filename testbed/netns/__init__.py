"""The lab in network namespaces: five nodes in a row, a WAN in the middle, RoCE endpoints at the ends.

    host-a --- gw-a --- wan --- gw-b --- host-b
     eth0   lan0 wan0  a0  b0  wan0 lan0   eth0

A gateway is a Linux bridge with the ports lan0 and wan0; an agent attaches to them. `wan` runs weft-wan between a0 and
b0. `namespace` wraps the kernel's objects, `topology` makes a lab of them, `process` keeps what runs in it, `scenario`
says what to measure, `measure` does it, `results` writes it down, `cli` is what people call.
"""
