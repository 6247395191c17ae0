#!/usr/bin/env -S /usr/bin/python3 -B
"""The lab's arithmetic: what follows from a scenario, and what a results.json says about given measurements."""

import dataclasses
import pathlib
import sys
import tempfile
import tomllib
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from testbed.netns import agents, policy, results, topology, traffic, units  # noqa: E402
from testbed.netns.endpoints import Transfer  # noqa: E402
from testbed.netns.errors import LabError, VoidRun, UsageError  # noqa: E402
from testbed.netns.demo import CELLS, POLICIES, closing  # noqa: E402
from testbed.netns.measure import Measurement, check_punctual, wan_settings  # noqa: E402
from testbed.netns.namespace import call  # noqa: E402
from testbed.netns.run import Sweep, judge, measure_all  # noqa: E402
from testbed.netns.scenario import Scenario  # noqa: E402
from testbed.netns.wan import PROGRAMS  # noqa: E402
from tests.support.results_schema import faults  # noqa: E402


class Scenarios(unittest.TestCase):
    def test_windows_fit_pipe_and_queue_with_room_for_repairs(self):
        for rtt in ("10ms", "30ms", "60ms"):
            for qps in (1, 16, 64):
                for pmtu in (256, 1024, 4096):
                    scenario = Scenario(rtt=rtt, qps=qps, pmtu=pmtu)
                    packets = scenario.window_bytes // pmtu * qps
                    on_the_way = packets * (pmtu + 44) * 1.35
                    self.assertLessEqual(on_the_way, 3 * scenario.bdp_bytes)
                    self.assertGreater(scenario.window_bytes * qps, 0.95 * scenario.bdp_bytes, "the link can be filled")

    def test_timeout(self):
        self.assertEqual([Scenario(rtt=rtt).timeout_ms for rtt in ("10ms", "30ms", "60ms")], [134, 134, 268])

    def test_nonsense_is_refused(self):
        for wrong in ({"pmtu": 1500}, {"qps": 0}, {"loss": "2"}, {"loss": "x"}, {"loss": "0,0,0"}, {"rtt": "30"},
                      {"rate": "0mbit"}, {"message_bytes": ""}, {"message_bytes": "4q"}, {"messages": 0}, {"op": "flush"}, {"role": "router"},
                      {"psn": 1 << 24}, {"burst": 0.5}, {"burst": float("nan")}, {"burst": float("inf")}):
            with self.assertRaises(UsageError, msg=str(wrong)):
                Scenario(**wrong)

    def test_units(self):
        self.assertEqual(units.rate_bits("1.5gbit"), 1.5e9)
        self.assertEqual(units.milliseconds("500us"), 0.5)
        self.assertEqual(units.byte_count("4mib"), 4 << 20)


class Names(unittest.TestCase):
    def test_one_lab_of_a_name_at_a_time(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(topology, "LOCKS", pathlib.Path(folder)):
            first, second = topology.Topology("t-once"), topology.Topology("t-once")
            first.claim()
            topology.Topology("t-other").claim()
            with self.assertRaises(LabError):
                second.claim()

    def test_results_go_to_a_folder(self):
        with tempfile.NamedTemporaryFile() as file, self.assertRaises(UsageError):
            measure_all("t-out", Sweep([Scenario()], [], [1]), pathlib.Path(file.name))


class Policies(unittest.TestCase):
    def test_every_committed_policy_loads(self):
        self.assertLessEqual({"gbn", "lossless", "smart", "uniform-fec", "weft"}, set(policy.names()))
        for name in policy.names():
            policy.load(name)

    def test_agents_take_every_committed_policy(self):
        with tempfile.TemporaryDirectory() as folder:
            key_file = pathlib.Path(folder, "peer.key")
            key_file.touch(mode=0o600)
            key_file.write_text(call(str(PROGRAMS / "weftctl"), "genkey"))
            for name in policy.names():
                config = pathlib.Path(folder, f"{name}.toml")
                config.write_text(agents.configuration_text(
                    "gw-a", policy.load(name), Scenario(workload="training"), key_file))
                self.assertIn("good", call(str(PROGRAMS / "weftctl"), "check", "--config", str(config)))

    def test_agents_on_the_hosts_take_what_their_endpoints_send(self):
        for gateway, addresses in (("gw-a", ["10.1.0.2", "fd00:1::2"]), ("gw-b", ["10.2.0.2", "fd00:2::2"])):
            told = agents.configuration(gateway, policy.load("weft"), Scenario(role="host"), pathlib.Path("peer.key"))
            self.assertEqual(told["role"], {"kind": "host", "addresses": addresses})

    def test_marks_of_the_traffic_are_told_to_every_policy_alike(self):
        key_file = pathlib.Path("peer.key")
        told = [agents.configuration("gw-b", policy.load(name), Scenario(workload="training"), key_file)["tags"]
                for name in ("smart", "uniform-fec", "weft")]
        self.assertEqual(told, [told[0]] * 3)
        self.assertEqual(told[0]["dscp"]["39"], "pp:7")
        self.assertNotIn("tags", agents.configuration("gw-b", policy.load("weft"), Scenario(), key_file))

    def test_the_bound_loses_nothing(self):
        scenario = Scenario(loss="1e-2", burst=4)
        self.assertTrue(policy.load("lossless").lossless)
        self.assertFalse(policy.load("gbn").lossless)
        self.assertEqual(wan_settings(scenario, lossless=True).loss, "0")
        self.assertEqual(wan_settings(scenario, lossless=False).loss, "1e-2")

    def test_what_agents_are_given_reads_as_it_was_meant(self):
        tables = {"mode": "protect", "role": {"kind": "gateway"}, "tags": {"dscp": {"10": "dp-high", "0": "none"}},
                  "class": {"dp-low": {"fill_budget": 1e-2, "after": ["fill", "release"], "k": 32, "on": True}}}
        self.assertEqual(tomllib.loads(agents.toml(tables)), tables)

    def test_unknown_keys_are_refused(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write("agents = false\nendpoints = 3\n")
            file.flush()
            with self.assertRaisesRegex(UsageError, "unknown key 'endpoints'"):
                policy.load(file.name)


class Sweeps(unittest.TestCase):
    def test_policies_are_interleaved_and_every_seed_begins_with_its_bound(self):
        sweep = Sweep([Scenario(loss="1e-3"), Scenario(loss="1e-2")],
                      [policy.load(name) for name in ("lossless", "gbn", "weft")], seeds=[1, 2])
        steps = [(chosen.name, scenario.seed, scenario.loss) for chosen, scenario in sweep.steps()]
        self.assertEqual(steps, [
            (name, seed, loss) for seed in (1, 2) for name, loss in
            (("lossless", "1e-3"), ("gbn", "1e-3"), ("weft", "1e-3"), ("gbn", "1e-2"), ("weft", "1e-2"))])
        self.assertEqual(sweep.runs, len(steps))

    def test_the_demo_has_a_p99_and_every_class(self):
        for cell in CELLS:
            self.assertGreaterEqual(cell.messages, results.SAMPLES_FOR_P99)
            kinds = {(message.class_name, message.level) for message in cell.traffic.messages}
            self.assertEqual(kinds, {("exact", 0), ("dp-high", 0), ("dp-low", 0), *(("pp", level) for level in range(8))})
        self.assertLessEqual(set(POLICIES), set(policy.names()))

    def test_the_demo_ends_with_its_own_figures(self):
        runs = [results.run_of(dataclasses.replace(measurement([10 * slower] * 100), policy=policy.load(name)),
                               measurement([10] * 100)) for name, slower in
                (("lossless", 1), ("gbn", 7), ("uniform-fec", 2), ("smart", 3), ("weft", 1.5))]
        self.assertRegex(closing({"runs": runs}), r"(?s)7\.0 for.*1\.5 with weft.*2\.0 when")

    def test_corrupt_bytes_and_failed_queue_pairs_fail_a_run(self):
        run = results.run_of(measurement([1, 1]), measurement([1, 1]))
        judge({"runs": [run]})
        with self.assertRaisesRegex(LabError, "queue pairs"):
            judge({"runs": [run, {**run, "qp_errors": 1}]})
        with self.assertRaisesRegex(LabError, "3 packets dropped"):
            judge({"runs": [run, {**run, "wan": {**run["wan"], "tail_drops": 3}}]})
        run["classes"]["b"]["corrupt_bytes"] = 5
        with self.assertRaisesRegex(LabError, "5 bytes"):
            judge({"runs": [run]})


    def test_a_late_emulator_voids_a_run(self):
        check_punctual({"late_us": {"p99": 9_000}}, Scenario(rtt="30ms"))
        check_punctual({"late_us": {"p99": None}}, Scenario(rtt="30ms"))
        with self.assertRaisesRegex(VoidRun, "800 ms late"):
            check_punctual({"late_us": {"p99": 800_000}}, Scenario(rtt="30ms"))


class TrainingTraffic(unittest.TestCase):
    def test_the_seed_alone_draws_it(self):
        one, same, other = (traffic.load("training", 50, seed).json_lines() for seed in (1, 1, 2))
        self.assertEqual(one, same)
        self.assertNotEqual(one, other)

    def test_what_endpoints_are_told_follows_from_it(self):
        scenario = Scenario(workload="training", messages=50)
        self.assertEqual(scenario.bytes_total, sum(message.bytes for message in scenario.traffic.messages))
        self.assertEqual(scenario.params()["workload"], "training")
        self.assertLessEqual(set(scenario.params()["message_bytes"]), {message.bytes for message in scenario.traffic.messages})

    def test_a_folder_will_do_and_a_wrong_one_is_named(self):
        self.assertEqual(traffic.load(str(traffic.NAMED["training"]), 9, 1), traffic.load("training", 9, 1))
        with self.assertRaisesRegex(UsageError, "nowhere"):
            traffic.load("nowhere", 9, 1)


def measurement(fct_ms: list[float], losses=(), qpn_base=100) -> Measurement:
    """Messages of 1000 bytes, every other one of class `b`."""
    names = ["a" if i % 2 == 0 else "b" for i in range(len(fct_ms))]
    sent = [{"id": i, "class": name, "bytes": 1000, "qpn": 17, "post_ns": i, "fct_ns": round(fct * 1e6),
             "complete_ns": round(fct * 1e6) + i} for i, (name, fct) in enumerate(zip(names, fct_ms))]
    arrived = [{"id": i, "class": name, "qpn": qpn_base + i % 2} for i, name in enumerate(names)]
    count = {name: names.count(name) for name in ("a", "b")}
    direction = {"bytes": 1050, "packets": 100, "lost": 2, "loss_runs": 1, "tail_drops": 0,
                 "kinds": {kind: {"bytes": size} for kind, size in
                           (("source", 1000), ("repair", 0), ("retransmit", 50), ("control", 0))}}
    return Measurement(
        policy.load("gbn"), Scenario(messages=len(fct_ms)),
        Transfer({"messages": sent, "totals": {"timeouts": 9, "timeout_wait_ns": 10, "qp_errors": 0},
                  "classes": {name: {"messages": n, "bytes": 1000 * n, "retransmitted_packets": 7, "timeouts": 2,
                                     "timeout_wait_ns": 3_000_000}
                              for name, n in count.items()}},
                 {"messages": arrived,
                  "classes": dict.fromkeys(count, {"filled_bytes": 0, "declared_fill_bytes": 0, "corrupt_bytes": 0})}),
        {"forward": direction, "reverse": direction, "late_us": {}}, list(losses), {})


class Results(unittest.TestCase):
    def test_percentiles_are_nearest_rank(self):
        ordered = list(range(1, 101))
        self.assertEqual([results.percentile(ordered, f) for f in (0, 0.5, 0.95, 0.99, 1)], [1, 50, 95, 99, 100])
        self.assertEqual(results.percentile([7], 0.5), 7)

    def test_high_percentiles_need_samples(self):
        self.assertIsNone(results.distribution(range(99))["p99"])
        self.assertEqual(results.distribution(range(1, 101))["p99"], 99)
        self.assertIsNone(results.distribution(range(999))["p999"])
        self.assertEqual(results.distribution(range(1, 1001))["p999"], 999)
        self.assertIsNone(results.distribution([])["mean"])

    def test_time_lost_to_timeouts_is_that_of_messages_that_count(self):
        run = results.run_of(measurement([10, 40]), measurement([10, 10]))
        self.assertEqual((run["timeouts"], run["timeout_wait_ms"]), (4, 6))

    def test_slowdown_is_per_message(self):
        run = results.run_of(measurement([10, 40, 30, 20]), measurement([10, 10, 10, 20]))
        self.assertEqual([sample["slowdown"] for sample in run["samples"]], [1, 4, 3, 1])
        self.assertEqual(run["slowdown"]["mean"], 2.25)
        self.assertEqual(run["classes"]["a"]["slowdown"]["mean"], 2)
        self.assertEqual(run["classes"]["b"]["fct_ms"]["mean"], 30)

    def test_messages_that_did_not_complete_do_not_count(self):
        failed = measurement([10, 20])
        failed.transfer.requester["messages"][1].update(fct_ns=None, complete_ns=None)
        self.assertEqual(len(results.run_of(failed, measurement([10, 20]))["samples"]), 1)
        self.assertEqual(len(results.run_of(measurement([10, 20]), failed)["samples"]), 1)

    def test_losses_count_for_the_class_of_their_queue_pair(self):
        def loss(qpn, kind="source", response=False, direction="forward"):
            return {"kind": kind, "direction": direction, "flow": {"dst_qpn": qpn, "response": response}}
        losses = [loss(100), loss(100), loss(101), loss(100, kind="retransmit"), loss(17, response=True),
                  loss(100, direction="reverse"), {"kind": "repair", "direction": "forward", "flow": None}]
        classes = results.run_of(measurement([1, 1], losses), measurement([1, 1]))["classes"]
        self.assertEqual([classes[name]["lost_packets"] for name in "ab"], [2, 1])

    def test_wan_figures_are_of_both_directions(self):
        run = results.run_of(measurement([1]), measurement([1]))
        self.assertEqual(run["wan_bytes"], {"source": 2000, "repair": 0, "retransmit": 100, "control": 0})
        self.assertEqual(run["wan"]["realised"], {"loss": 0.02, "burst": 2})

    def test_the_document_is_valid_and_the_validator_notices_what_is_not(self):
        document = results.document([results.run_of(measurement([1, 2]), measurement([1, 2]))])
        self.assertEqual(faults(document), [])
        del document["runs"][0]["classes"]["a"]["corrupt_bytes"]
        document["runs"][0]["seed"] = "1"
        document["runs"][0]["timeouts"] = True
        self.assertEqual(faults(document), [
            "results.runs[0].seed is str", "results.runs[0].classes.a.corrupt_bytes is missing",
            "results.runs[0].timeouts is bool"])
        self.assertEqual(faults([]), ["results is no object"])

    def test_throughput_is_that_of_payload_and_of_the_wan(self):
        throughput = results.run_of(measurement([10, 20]), measurement([10, 20]))["throughput"]
        self.assertAlmostEqual(throughput["payload_mbit"], 2000 * 8 / 20e3, places=5)
        self.assertAlmostEqual(throughput["link_mbit"], 1050 * 8 / 20e3, places=5)

    def test_what_the_far_agent_recovered_is_counted_by_class(self):
        times = {"samples": 3, "p50": 2.5, "p99": None}
        far = {"peers": [{"events": {"recovered": {"a": 1, "b": 2}, "held": {"b": 9}}, "recovery_ms": times}]}
        run = results.run_of(dataclasses.replace(measurement([1, 1]), agents={"a": {}, "b": far}), measurement([1, 1]))
        self.assertEqual([run["classes"][name]["recovered_packets"] for name in "ab"], [1, 2])
        self.assertEqual(run["recovery_ms"], {"p50": 2.5, "p99": None})
        self.assertEqual(run["agent"]["b"], far)

    def test_two_losses_are_kept_apart(self):
        skewed = dataclasses.replace(measurement([1]), scenario=Scenario(loss="1e-3,0"))
        self.assertEqual(results.run_of(skewed, measurement([1]))["wan"]["loss"], [1e-3, 0])


if __name__ == "__main__":
    unittest.main()
