"""One virtual machine: QEMU in a network namespace, and commands run inside."""

import dataclasses
import os
import pathlib
import subprocess
import time
from collections.abc import Sequence

from testbed.netns.errors import LabError, MachineError
from testbed.netns.namespace import Namespace, call
from testbed.netns.wan import ROOT
from testbed.vm.kernel import Kernel

_GUEST = pathlib.Path(__file__).parent / "guest"
# Half a minute where nothing else runs and the processor is emulated.
BOOT_PATIENCE_S = 300.0
# A kernel that starts under KVM does so in a second. Under a nested hypervisor a stock kernel may hang instead.
_KVM_PROBE_S = 20.0
_TCG_PROBE_S = 300.0
_MEMORY = "1G"
_MACHINE = ("-cpu", "max", "-smp", "1", "-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio")
_KERNEL_ARGUMENTS = "console=ttyS0 quiet panic=-1 nokaslr mitigations=off"
ACCELERATORS = {"kvm": "kvm", "tcg": "tcg,thread=multi"}
# guest/init knows the first and gives itself the second.
_CONTROL_MAC = "02:57:45:46:54:ff"
_CONTROL_NETWORK, _CONTROL_ADDRESS = "192.168.255.0/24", "192.168.255.15"
_CONTROL_PORT = 7000


@dataclasses.dataclass(frozen=True)
class Nic:
    """eth0, eth1... in the order given; `tap` is the other end, in the namespace."""

    tap: str
    mac: str
    mtu: int


@dataclasses.dataclass(frozen=True)
class Boot:
    """How guests are started."""

    kernel: Kernel
    initramfs: pathlib.Path
    accelerator: str

    def qemu(self, kernel_arguments: str, devices: Sequence[str]) -> list[str]:
        return ["qemu-system-x86_64", "-accel", ACCELERATORS[self.accelerator], *_MACHINE, "-m", _MEMORY,
                "-kernel", str(self.kernel.image), "-initrd", str(self.initramfs),
                "-append", f"{_KERNEL_ARGUMENTS} {kernel_arguments}", *devices]

    def starts(self) -> bool:
        """Whether the kernel comes as far as its first program."""
        patience_s = _KVM_PROBE_S if self.accelerator == "kvm" else _TCG_PROBE_S
        try:
            return subprocess.run(self.qemu("weft.probe", []), stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=patience_s, check=False).returncode == 0
        except (subprocess.TimeoutExpired, FileNotFoundError):
            return False


def prepare(kernel: Kernel, folder: pathlib.Path, sure: bool = False) -> Boot:
    """KVM where a guest has been seen to start with it, emulation otherwise; the latter is tried only to be `sure`."""
    initramfs = folder / "initramfs.img"
    kernel.write_initramfs(initramfs)
    if os.access("/dev/kvm", os.R_OK | os.W_OK) and (boot := Boot(kernel, initramfs, "kvm")).starts():
        return boot
    boot = Boot(kernel, initramfs, "tcg")
    if sure and not boot.starts():
        raise MachineError(f"QEMU does not start Linux {kernel.release} here, neither with KVM nor without")
    return boot


def _shared(tag: str, path: pathlib.Path, writable: bool = False) -> list[str]:
    access = [] if writable else ["readonly=on"]
    escaped = str(path).replace(",", ",,")
    options = ",".join(["local", f"id={tag}", f"path={escaped}", "security_model=none", "multidevs=remap", *access])
    return ["-fsdev", options, "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]


class Guest:
    """The virtual machine in a namespace. It stands where a Namespace does for whoever runs programs in a node."""

    def __init__(self, namespace: Namespace):
        self._namespace = namespace

    def qemu(self, boot: Boot, nics: Sequence[Nic], share: pathlib.Path) -> list[str]:
        """The command that is the machine, as long as it runs. `share` is writable inside, at the same path."""
        devices = [*_shared("hostroot", pathlib.Path("/")), *_shared("modules", boot.kernel.modules),
                   *_shared("share", share, writable=True)]
        for number, nic in enumerate(nics):
            # Without vnet_hdr no frame is left for later: neither its checksum nor its being cut.
            devices += ["-netdev", f"tap,id=n{number},ifname={nic.tap},script=no,downscript=no,vnet_hdr=off",
                        "-device", f"virtio-net-pci,netdev=n{number},mac={nic.mac},host_mtu={nic.mtu},romfile="]
        devices += ["-netdev", f"user,id=control,restrict=on,ipv6=off,net={_CONTROL_NETWORK},"
                               f"hostfwd=tcp:127.0.0.1:{_CONTROL_PORT}-{_CONTROL_ADDRESS}:{_CONTROL_PORT}",
                    "-device", f"virtio-net-pci,netdev=control,mac={_CONTROL_MAC},romfile="]
        inside = f'"weft.server={_GUEST / "server.py"}" "weft.share={share}"'
        return self._namespace.command(boot.qemu(inside, devices))

    def command(self, command: Sequence[str], patience_s: float = 0) -> list[str]:
        """The command line that runs `command` inside; signals and exit status pass through."""
        return self._namespace.command(["/usr/bin/python3", "-B", str(_GUEST / "client.py"), "--wait",
                                        str(patience_s), "--", *command])

    def call(self, *command: str) -> str:
        return call(*self.command(command))

    def wait_up(self, machine: subprocess.Popen, console: pathlib.Path) -> None:
        """Until it takes commands; `machine` is what qemu() started, `console` what it prints."""
        first_command = subprocess.Popen(self.command(["true"], BOOT_PATIENCE_S), stdin=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL)
        try:
            while machine.poll() is None and first_command.poll() is None:
                time.sleep(0.1)
        finally:
            first_command.terminate()
            status = first_command.wait()
        if machine.poll() is not None or status != 0:
            last = console.read_text(errors="replace").strip().splitlines()[-5:]
            raise LabError(f"{self._namespace.name} did not boot: {' / '.join(last) or '(it printed nothing)'}")

    def provision(self, script: str, *arguments: str) -> None:
        self.call(str(ROOT / "testbed/vm/provision" / script), *arguments)
