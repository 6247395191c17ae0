"""Measurements as results.json (weft-results/1)."""

import math
import os
import platform
import subprocess
from collections import Counter
from collections.abc import Sequence
from typing import Any

from testbed.netns.agents import event_count
from testbed.netns.measure import Measurement, tail_drops
from testbed.netns.wan import ROOT

SCHEMA = "weft-results/1"
DIRECTIONS = ("forward", "reverse")
# A percentile of fewer samples than this is one sample's luck.
SAMPLES_FOR_P99 = 100
SAMPLES_FOR_P999 = 1000


def percentile(ordered: Sequence[float], fraction: float) -> float:
    """Nearest rank: the smallest sample with at least this share of samples at or below it."""
    return ordered[max(1, math.ceil(fraction * len(ordered))) - 1]


def distribution(samples: Sequence[float], with_p95: bool = False) -> dict[str, float | None]:
    ordered = sorted(samples)
    if not ordered:
        return dict.fromkeys(("mean", "p50", *(["p95"] if with_p95 else []), "p99", "p999"))
    figures: dict[str, float | None] = {"mean": sum(ordered) / len(ordered), "p50": percentile(ordered, 0.5)}
    if with_p95:
        figures["p95"] = percentile(ordered, 0.95)
    figures["p99"] = percentile(ordered, 0.99) if len(ordered) >= SAMPLES_FOR_P99 else None
    figures["p999"] = percentile(ordered, 0.999) if len(ordered) >= SAMPLES_FOR_P999 else None
    return figures


def _samples(measurement: Measurement, reference: Measurement) -> list[dict[str, Any]]:
    """One per completed message that completed in the lossless run as well."""
    lossless_ns = {row["id"]: row["fct_ns"] for row in reference.transfer.requester["messages"]}
    return [{"id": row["id"], "class": row["class"], "bytes": row["bytes"], "fct_ms": row["fct_ns"] / 1e6,
             "slowdown": row["fct_ns"] / lossless_ns[row["id"]]}
            for row in measurement.transfer.requester["messages"] if row["fct_ns"] and lossless_ns.get(row["id"])]


def _lost_by_class(measurement: Measurement) -> Counter[str]:
    """First transmissions of requests the WAN lost, by the class of their queue pair."""
    class_of = {row["qpn"]: row["class"] for row in measurement.transfer.responder["messages"]}
    return Counter(class_of.get(line["flow"]["dst_qpn"], "unknown") for line in measurement.losses
                   if line["kind"] == "source" and line["direction"] == "forward" and line["flow"]
                   and not line["flow"]["response"])


def _classes(measurement: Measurement, samples: list[dict[str, Any]]) -> dict[str, Any]:
    lost = _lost_by_class(measurement)
    receiver = measurement.agents.get("b", {})
    classes = {}
    for name, sent in measurement.transfer.requester["classes"].items():
        arrived = measurement.transfer.responder["classes"][name]
        own = [sample for sample in samples if sample["class"] == name]
        classes[name] = {
            "messages": sent["messages"], "bytes": sent["bytes"],
            "fct_ms": distribution([sample["fct_ms"] for sample in own], with_p95=True),
            "slowdown": distribution([sample["slowdown"] for sample in own]),
            "lost_packets": lost[name], "recovered_packets": event_count(receiver, "recovered", name),
            "retransmitted_packets": sent["retransmitted_packets"], "nack_retransmitted_packets": 0,
            "filled_bytes": arrived["filled_bytes"], "declared_fill_bytes": arrived["declared_fill_bytes"],
            "corrupt_bytes": arrived["corrupt_bytes"]}
    return classes


def _realised(wan: dict[str, Any]) -> dict[str, float | None]:
    packets, lost, runs = (sum(wan[direction][key] for direction in DIRECTIONS)
                           for key in ("packets", "lost", "loss_runs"))
    return {"loss": lost / packets if packets else None, "burst": lost / runs if runs else None}


def _recovery_ms(measurement: Measurement) -> dict[str, float | None]:
    """How long the agent at the responder knew of a lost packet before FEC brought it."""
    peers = measurement.agents.get("b", {}).get("peers", [])
    return {key: peers[0]["recovery_ms"][key] if peers else None for key in ("p50", "p99")}


def run_of(measurement: Measurement, reference: Measurement) -> dict[str, Any]:
    """One entry of `runs`; `reference` is the lossless measurement of the same scenario."""
    scenario, wan = measurement.scenario, measurement.wan
    samples = _samples(measurement, reference)
    # Totals would count the warm-up, too.
    sent = measurement.transfer.requester["classes"].values()
    losses = scenario.loss_fractions
    kind_bytes = {kind: sum(wan[direction]["kinds"][kind]["bytes"] for direction in DIRECTIONS)
                  for kind in ("source", "repair", "retransmit", "control")}
    return {
        "policy": measurement.policy.name, "seed": scenario.seed, "params": scenario.params(),
        "wan": {"loss": losses[0] if len(losses) == 1 else losses, "burst": scenario.burst, "rtt_ms": scenario.rtt_ms,
                "rate_mbit": scenario.rate_bits / 1e6, "realised": _realised(wan),
                "tail_drops": tail_drops(measurement), "late_us": wan["late_us"]},
        "fct_ms": distribution([sample["fct_ms"] for sample in samples], with_p95=True),
        "slowdown": distribution([sample["slowdown"] for sample in samples]),
        "classes": _classes(measurement, samples), "wan_bytes": kind_bytes,
        "throughput": throughput(measurement),
        "recovery_ms": _recovery_ms(measurement), "timeouts": sum(figures["timeouts"] for figures in sent),
        "timeout_wait_ms": sum(figures["timeout_wait_ns"] for figures in sent) / 1e6,
        "qp_errors": measurement.transfer.requester["totals"]["qp_errors"],
        "agent": {side: measurement.agents.get(side, {}) for side in ("a", "b")},
        "skipped": list(measurement.skipped), "samples": samples}


def throughput(measurement: Measurement) -> dict[str, float | None]:
    """From the first post to the last completion: payload of completed messages, and IP bytes of all packets that
    entered the WAN towards the responder, which is what `rate` counts."""
    done = [row for row in measurement.transfer.requester["messages"] if row["complete_ns"]]
    if not done:
        return {"payload_mbit": None, "link_mbit": None}
    elapsed_us = (max(row["complete_ns"] for row in done) - min(row["post_ns"] for row in done)) / 1e3
    return {"payload_mbit": sum(row["bytes"] for row in done) * 8 / elapsed_us,
            "link_mbit": measurement.wan["forward"]["bytes"] * 8 / elapsed_us}


def _git() -> str:
    done = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True,
                          check=False)
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def document(runs: list[dict[str, Any]]) -> dict[str, Any]:
    machine = f"{platform.system()} {platform.release()}, {os.cpu_count()} CPUs, {platform.machine()}"
    return {"schema": SCHEMA, "git": _git(), "machine": machine, "runs": runs}
