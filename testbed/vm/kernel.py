"""Debian's kernels, unpacked from their packages and never installed, and the initramfs that starts a guest."""

import dataclasses
import fcntl
import lzma
import pathlib
import re
import shutil
import subprocess
import tempfile

from testbed.netns.errors import MachineError
from testbed.netns.namespace import call
from testbed.netns.wan import ROOT

# Version -> the package that depends on the newest build of it.
PACKAGES = {"6.1": "linux-image-amd64", "6.12": "linux-image-6.12-amd64"}
FOLDER = ROOT / "build/vm"
_INIT = pathlib.Path(__file__).parent / "guest/init"
# What it takes to reach the host's file system, where all other modules are.
_FIRST_MODULES = ("virtio_pci", "virtio_net", "9pnet_virtio", "9p", "overlay")
# Most of a kernel package are drivers of hardware no guest has.
_NEEDLESS = ("drivers/gpu", "drivers/media", "drivers/net/ethernet", "drivers/net/wireless", "drivers/staging", "sound")


@dataclasses.dataclass(frozen=True)
class Kernel:
    folder: pathlib.Path

    @property
    def image(self) -> pathlib.Path:
        return next(self.folder.glob("boot/vmlinuz-*"))

    @property
    def modules(self) -> pathlib.Path:
        """What is /lib/modules in a guest."""
        return self.folder / "lib/modules"

    @property
    def release(self) -> str:
        return self.image.name.removeprefix("vmlinuz-")

    def write_initramfs(self, path: pathlib.Path) -> None:
        """busybox, guest/init and the modules it loads, in order; uncompressed, since it is read once."""
        with tempfile.TemporaryDirectory() as scratch:
            root = pathlib.Path(scratch)
            for name in ("bin", "modules", "proc", "sys", "dev", "host", "overlay", "newroot"):
                (root / name).mkdir()
            shutil.copy("/bin/busybox", root / "bin/busybox")
            shutil.copy(_INIT, root / "init")
            for number, module in enumerate(self._first_modules()):
                text = module.read_bytes()
                if module.suffix == ".xz":
                    text = lzma.decompress(text)
                (root / "modules" / f"{number:02}-{module.name.removesuffix('.xz')}").write_bytes(text)
            listing = "\n".join(str(entry.relative_to(root)) for entry in (root, *sorted(root.rglob("*"))))
            archive = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=listing.encode(),
                                     capture_output=True, check=True).stdout
        path.write_bytes(archive)

    def _first_modules(self) -> list[pathlib.Path]:
        needed = [line.split()[1] for name in _FIRST_MODULES
                  for line in call("modprobe", "-d", str(self.folder), "-S", self.release, "--show-depends",
                                   name).splitlines() if line.startswith("insmod ")]
        return [pathlib.Path(module) for module in dict.fromkeys(needed)]


def _package(version: str) -> str:
    """The name of the package with the kernel itself."""
    pattern = re.compile(rf"Depends: (linux-image-{re.escape(version)}\.\S+)")
    for fresh in (False, True):
        if fresh:
            subprocess.run(["apt-get", "-q", "update"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        listed = subprocess.run(["apt-cache", "depends", PACKAGES[version]], capture_output=True, text=True, check=False)
        if found := pattern.search(listed.stdout):
            return found[1]
    raise MachineError(f"apt knows no {PACKAGES[version]} with a Linux {version}",
                       "it is in Debian 12 (bookworm) and its security updates; see /etc/apt/sources.list.d")


def _unpack(version: str, folder: pathlib.Path) -> None:
    package = _package(version)
    print(f"lab: getting {package}, once", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        fetched = subprocess.run(["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", package], cwd=scratch,
                                 capture_output=True, text=True, check=False)
        if fetched.returncode != 0:
            raise MachineError(f"apt-get download {package}: {fetched.stderr.strip()}", "is there a network?")
        archive = next(pathlib.Path(scratch).glob("*.deb"))
        folder.mkdir(parents=True)
        with subprocess.Popen(["dpkg", "--fsys-tarfile", str(archive)], stdout=subprocess.PIPE) as contents:
            subprocess.run(["tar", "-x", "-C", str(folder), *(f"--exclude=*/kernel/{name}" for name in _NEEDLESS),
                            "./boot", "./lib"], stdin=contents.stdout, check=True)
    kernel = Kernel(folder)
    # Its complaints are about the modules left out.
    subprocess.run(["depmod", "-b", str(folder), kernel.release], capture_output=True, check=True)


def get(version: str) -> Kernel:
    """From build/vm, where it is put the first time."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    folder = FOLDER / version
    with open(FOLDER / f"{version}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = FOLDER / f"{version}.unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            _unpack(version, unfinished)
            unfinished.rename(folder)
    return Kernel(folder)
