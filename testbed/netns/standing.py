"""`lab up` and `lab down`: a lab that stays, with its WAN running."""

import json
import pathlib
import shutil
import subprocess
import time
from collections.abc import Callable

from testbed.netns.errors import LabError
from testbed.netns.process import end_pids
from testbed.netns.topology import Topology
from testbed.netns.wan import WanSettings, wan_command

STATE = pathlib.Path("/run/weft-lab")


def stand(topology: Topology, wan_mtu: int, start: Callable[[pathlib.Path], None]) -> None:
    """Makes a lab and calls `start` with a folder for what runs in it; takes all of it down again when that fails."""
    topology.claim()
    folder = STATE / topology.name
    try:
        topology.create(wan_mtu)
        folder.mkdir(parents=True, exist_ok=True)
        start(folder)
    except BaseException:
        down(topology.name)
        raise


def up(name: str, settings: WanSettings, wan_mtu: int) -> None:
    topology = Topology(name)
    stand(topology, wan_mtu, lambda folder: _start_wan(topology, settings, folder))
    print(f"lab '{name}' is up; testbed/lab exec host-a --name {name} -- ping 10.2.0.2")


def _start_wan(topology: Topology, settings: WanSettings, folder: pathlib.Path) -> None:
    """weft-wan in a session of its own, so that it outlives this process; `down` finds it by its namespace."""
    log = folder / "wan.log"
    with open(log, "wb") as log_file:
        wan = subprocess.Popen(
            topology["wan"].command(wan_command(settings, folder)),
            stdin=subprocess.DEVNULL, stdout=log_file, stderr=log_file, start_new_session=True)
    end = time.monotonic() + 10
    while json.dumps({"ready": True}, separators=(",", ":")) not in log.read_text():
        if wan.poll() is not None or time.monotonic() > end:
            raise LabError(f"weft-wan did not start: {log.read_text().strip()}")
        time.sleep(0.02)


def down(name: str) -> None:
    """Ends every process in the lab's namespaces, by id, and removes them and the lab's folder: also what a killed run
    left behind."""
    topology = Topology(name)
    end_pids([pid for node in topology.nodes.values() for pid in node.pids()])
    topology.delete()
    shutil.rmtree(STATE / name, ignore_errors=True)
