#!/usr/bin/env -S /usr/bin/python3
"""The workload's arithmetic against figures worked out by hand, and its errors."""

import collections
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from testbed.workload import messages, model, plan  # noqa: E402

SHIPPED = ROOT / "testbed/workload/qwen3-3b"


class Workload(unittest.TestCase):
    def setUp(self):
        self.model = model.read_model(SHIPPED / "config.json")
        self.plan = plan.read_plan(SHIPPED / "plan.toml")
        self.step = messages.training_step(self.model, self.plan)

    def test_parameters_are_counted_as_the_architecture_says(self):
        layer = 2 * 2048 * 4096 + 2 * 2048 * 1024 + 3 * 2048 * 8192 + 2 * 2048
        self.assertEqual(self.model.layer_parameters, layer)
        self.assertEqual(self.model.parameters, 36 * layer + 151936 * 2048 + 2048)

    def test_bytes_of_a_step(self):
        total = collections.Counter()
        for message in self.step:
            total[message.class_name] += message.bytes * self.plan.scale
        # Rounding up to the smallest message may add a little to the last bucket of a tensor.
        slack = 40 * self.plan.smallest_message_bytes * self.plan.scale
        self.assertEqual(total["pp"], 8 * 16 * 2 * 4096 * 2048)
        self.assertAlmostEqual(total["dp-high"] + total["dp-low"], 4 * (self.model.parameters - 2048), delta=slack)
        self.assertAlmostEqual(total["exact"], 2 * self.model.parameters, delta=slack)

    def test_classes_and_marks(self):
        table = self.plan.dscp_table()
        for message in self.step:
            name = f"pp:{message.level}" if message.class_name == "pp" else message.class_name
            self.assertEqual(table[message.dscp], name)
        high = {message.layer for message in self.step if message.class_name == "dp-high"}
        self.assertEqual(high, set(range(13)))

    def test_sample_keeps_the_mix_and_the_seed(self):
        chosen = messages.sample(self.step, 300, seed=7)
        self.assertEqual(len(chosen), 300)
        self.assertEqual(chosen, messages.sample(self.step, 300, seed=7))
        self.assertNotEqual(chosen, messages.sample(self.step, 300, seed=8))
        share = collections.Counter(message.class_name for message in self.step)
        drawn = collections.Counter(message.class_name for message in chosen)
        for name, count in share.items():
            self.assertAlmostEqual(drawn[name], 300 * count / len(self.step), delta=8)

    def test_wrong_files_name_the_place(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "config.json"
            good = json.loads((SHIPPED / "config.json").read_text())
            for change in ({"hidden_size": None}, {"num_hidden_layers": "36"}, {"vocab_size": 0}, {"hidden_size": True}):
                path.write_text(json.dumps({k: v for k, v in (good | change).items() if v is not None}))
                with self.assertRaisesRegex(model.WorkloadError, "config.json"):
                    model.read_model(path)
            broken = pathlib.Path(folder) / "plan.toml"
            text = (SHIPPED / "plan.toml").read_text()
            for old, new in (("pipeline_stages = 8", "pipeline_stages = 9"), ("exact = 26", "exact = 64"), ("scale = 16", "")):
                broken.write_text(text.replace(old, new))
                with self.assertRaisesRegex(model.WorkloadError, "plan.toml"):
                    plan.read_plan(broken)


if __name__ == "__main__":
    unittest.main()
