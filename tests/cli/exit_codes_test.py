#!/usr/bin/env python3
"""Exit codes of all commands, as docs/commands.md states them: 0 done, 1 failed (or: not proved, not valid, not equal), 2 usage, 3 bad
input. Each code but 0 comes with one line on stderr."""

import re
import unittest

import database_form as form
from binary import QuickstartCase, ROOT, rulemill

MODELS = ROOT / "data" / "models"
TEXTS = {
    "true.rules": "rule r(x[m, n], y[m, n])\n  relu(add(x, y)) => relu(add(y, x))\n",
    "false.rules": "rule r(x[m, n])\n  relu(x) => x\n",
    "narrowed.rules": "rule r(x:4, k:4)\n  conv2d(x, k; pad=valid) => conv2d(x, k)\n",
    "ill_typed.rules": "rule r(x[m, n])\n  add(x, concat(x, x; axis=0)) => x\n",
    "unreadable.rules": "rule r(x[m, n])\n  no_such_operator(x) => x\n",
    "unrelated.rules": "rule r(x[m, n], w[n, k])\n  matmul(relu(x), w) => relu(matmul(x, w))\n",
    "true.properties": "property p(x[m, n], y[m, n])\n  add(x, y) = add(y, x)\n",
    "false.properties": "property p(x[m, n])\n  relu(x) = x\n",
    "bad.op": "operator nothing(\n",
    "bad.onnx": "not a model",
    "bad.rmdb": "not a database",
    "bad.toml": "name = 7\n",
}
# Each command with its operands. $ is the folder of the files above, @ the folder of a database, % that of sample models.
CASES = {
    0: ["optimize %/acnet_block.onnx --rules @ --no-benchmark --verifier definitions",
        "optimize %/acnet_block.onnx --only-clean",
        "equal %/lora_layer.onnx %/lora_layer.onnx --rules @",
        "check @",
        "ci $/true.rules",
        "derive --from @ $/true.rules",
        "discover --profile @/../small.toml --out $/run",
        "status $/run",
        "fingerprint --profile @/../small.toml --out $/begun",
        "rules import $/true.rules --out $/imported",
        "rules list @",
        "rules show @ r1",
        "rules export @ $/exported.rules",
        "rules diff @ @",
        "rules diff $/true.rules $/false.rules",
        "rules gallery $/imported --out $/page.html",
        "rules generalize $/imported --out $/general.rmdb",
        "operators list", "operators show relu",
        "operators check $/true.properties",
        "info %/acnet_block.onnx", "info @",
        "doctor", "completion bash", "man optimize", "--version", "--help"],
    1: ["check $/uncertified.rmdb",
        "rules import $/narrowed.rules --out $/n",
        "ci $/true.rules $/false.rules",
        "derive --from $/true.rules $/unrelated.rules",
        "rules import $/false.rules --out $/f",
        "operators check $/false.properties",
        "discover --profile @/../small.toml --out $/small --memory 1MB",
        "info /proc/self/mem", "rules import /proc/self/mem --out $/m"],  # an error of the device
    2: ["", "optimise", "optimize", "optimize %/acnet_block.onnx --no-such-option", "optimize %/acnet_block.onnx --alpha 0",
        "optimize %/acnet_block.onnx --rules @ --explain r0", "optimize %/acnet_block.onnx --rules @ --out %/acnet_block.onnx",
        "check", "ci", "ci $/true.rules --allow refuted", "derive $/true.rules", "discover", "equal %/lora_layer.onnx", "variants %/lora_layer.onnx", "rules", "rules show @", "rules show @ r0",
        "rules export @", "rules diff @", "operators", "operators show", "operators show reluu", "operators check --depth", "completion ksh", "man no_such_command", "info",
        "rules list @ --sort no_such_order"],
    3: ["optimize $/bad.onnx", "optimize $/none.onnx", "optimize %/acnet_block.onnx --rules $/bad.rmdb",
        "optimize %/acnet_block.onnx --rules $/none.rmdb",
        "equal %/lora_layer.onnx $/bad.onnx --rules @", "equal %/lora_layer.onnx %/acnet_block.onnx --rules @",
        "check $/bad.rmdb", "check $/none.rmdb", "ci $/false.rules $/unreadable.rules", "ci $/bad.onnx $/bad.onnx", "derive --from $/bad.rmdb $/true.rules", "derive --from @ $/unreadable.rules", "derive --from @ $/ill_typed.rules",
        "discover --profile $/bad.toml --out $/x", "discover --profile $/none.toml --out $/x",
        "fingerprint --profile $/bad.toml --out $/x",
        "join --profile $/bad.toml --out $/x", "status $/none",
        "rules import $/ill_typed.rules --out $/i", "rules import $/unreadable.rules --out $/u", "rules import $/none.rules --out $/n",
        "rules list $/bad.rmdb", "rules show $/bad.rmdb r1", "rules export $/bad.rmdb $/e.rules", "rules diff $/bad.rmdb @",
        "rules gallery $/bad.rmdb --out $/p.html", "rules generalize $/bad.rmdb --out $/g.rmdb",
        "operators check $/bad.op", "operators check $/none.op", "info $/none", "gpu plan $/bad.onnx"],
    4: ["status $/begun --require-stage prune"],
}


class ExitCodes(QuickstartCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.shared / "small.toml").write_bytes((ROOT / "tests" / "cli" / "small.toml").read_bytes())

    def setUp(self):
        super().setUp()
        for name, text in TEXTS.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        database = form.DatabaseFile(self.rules / "rules.rmdb")
        for part in database.parts:
            if part[0] == form.RULE:
                part[1] = form.message([field for field in form.fields(part[1]) if field[0] != form.CERTIFICATE])
        database.save(self.folder / "uncertified.rmdb")

    def run_case(self, text):
        places = {"$": self.folder, "@": self.rules, "%": MODELS}
        return rulemill(*(re.sub(r"[$@%]", lambda place: str(places[place.group()]), word) for word in text.split()))

    def test_each_command_ends_with_the_code_of_its_result(self):
        for code, cases in CASES.items():
            for case in cases:
                with self.subTest(case):
                    process = self.run_case(case)
                    if code == 0:
                        self.assert_works(process)
                    else:
                        self.assert_fails(process, code)

    def test_each_command_has_a_case(self):
        listed = re.findall(r"^  ([a-z]+) ", rulemill("--help").stdout, re.M)
        self.assertGreater(len(listed), 10)
        tried = {case.split(" ")[0] for cases in CASES.values() for case in cases}
        self.assertEqual(set(listed) - tried, {"prove", "prune", "generalize"})  # stages, as `join`


if __name__ == "__main__":
    unittest.main(verbosity=2)
