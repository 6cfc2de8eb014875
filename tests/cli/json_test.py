#!/usr/bin/env python3
"""The reports of `--json -` have exactly the keys that docs/json.md documents, with the documented types."""

import json
import pathlib
import re
import shutil
import tempfile
import unittest

from binary import ROOT, Case, rulemill

try:
    import onnx
    import onnx.parser
except ImportError:
    onnx = None

RULES = """rule twice(x[m, n])
  relu(relu(x)) => relu(x)
rule wrong(x[m, n])
  relu(x) => x
rule chain(x[m, k], a[k, l], b[l, n])
  matmul(matmul(x, a), b) => matmul(x, matmul(a, b))
rule join(x[m, k], a[k, n], b[k, n])
  add(matmul(x, a), matmul(x, b)) => matmul(x, add(a, b))
"""
SHARED = {"Task statistics", "Counterexample"}  # tables to which others refer
PYTHON_TYPES = {"text": str, "integer": int, "number": (int, float), "boolean": bool, "object": dict}
NOT_RUN = {"gpu time"}  # needs a GPU
STAGES = {"fingerprint", "join", "prove", "prune", "generalize"}  # documented with `discover`


def read_tables():
    """{heading: {key: (types, whether it must occur)}} of docs/json.md; references are resolved."""
    tables, heading = {}, ""
    for line in (ROOT / "docs" / "json.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ").strip("`")
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("| `"):
            continue
        for key in re.findall("`([^`]+)`", cells[0]):
            tables.setdefault(heading or "common", {})[key] = (cells[1], "†" not in cells[2])
    for name, table in tables.items():
        for key, (kind, required) in list(table.items()):
            if reference := re.match(r"\[(.+)\]\(#", kind):
                del table[key]
                for below, (below_kind, below_required) in tables[reference[1].capitalize()].items():
                    table[f"{key}.{below}"] = (below_kind, required and below_required)
    return tables


def flatten(value, key=""):
    """Yields (key, value) of each leaf; an empty list or object is a leaf whose value is None."""
    if isinstance(value, list):
        for item in value:
            yield from flatten(item, key + "[]")
        if not value:
            yield key + "[]", None
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from flatten(item, f"{key}.{name}" if key else name)
        if not value:
            yield key + ".*", None
    else:
        yield key, value


def matches(pattern, key):
    return re.fullmatch(re.escape(pattern).replace(r"\*", "[^\x00]+?"), key) is not None


class Reports(Case):
    @classmethod
    def setUpClass(cls):
        cls.tables = read_tables()
        cls.common = cls.tables.pop("JSON reports")
        cls.seen = {name: set() for name in cls.tables}
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="rulemill-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)

    def report(self, *words, code=0, env=None):
        """Runs the command with `--json -` and checks its report; other text goes to stderr."""
        process = rulemill(*words, "--json", "-", env=env)
        self.assertEqual(process.returncode, code, process.stderr)
        report = json.loads(process.stdout)
        name = report["command"]
        self.assertEqual(list(map(str, words[:name.count(" ") + 1])), name.split(" "))
        table = self.tables["discover" if name in STAGES else name]
        for key, value in flatten(report):
            documented = [pattern for pattern in {**self.common, **table} if matches(pattern, key)]
            if value is None and not documented:  # an empty list of objects, or null
                self.assertTrue([pattern for pattern in table if pattern.startswith(key.removesuffix(".*"))], f"{name}: {key}")
                continue
            self.assertTrue(documented, f"{name}: docs/json.md does not document {key} ({value!r})")
            self.seen["discover" if name in STAGES else name].update(documented)
            kinds = [kind for pattern in documented for kind in re.split(", | or ", ({**self.common, **table})[pattern][0])]
            if value is not None:
                self.assertTrue(any(isinstance(value, PYTHON_TYPES[kind]) for kind in kinds if kind != "object"),
                                f"{name}: {key} is {value!r}, documented as {kinds}")
        return report

    def test_every_report_is_documented_and_every_documented_key_occurs(self):
        run, db, rules, models = self.shared / "run", self.shared / "db.rmdb", self.shared / "a.rules", ROOT / "data" / "models"
        acnet, lora = models / "acnet_block.onnx", models / "lora_layer.onnx"
        rules.write_text(RULES)
        self.report("doctor", "--out", self.shared / "out")
        self.report("operators", "list", "--definitions", ROOT / "data" / "demos" / "gated")
        for name in ("masked_softmax", "split", "conv_bias"):
            self.report("operators", "show", name, "--definitions", ROOT / "data" / "demos" / "gated")
        self.report("operators", "check", ROOT / "data" / "properties" / "linear_algebra.properties")
        self.report("operators", "check", "--definitions", ROOT / "data" / "demos" / "gated", ROOT / "data" / "demos" / "gated" / "gated.properties", code=1)
        (self.shared / "x.json").write_text('{"x": {"shape": [1, 2], "values": [3, -4]}}')
        self.report("operators", "eval", "relu(x)", "--values", self.shared / "x.json")
        if onnx:
            value = [onnx.helper.make_tensor_value_info(name, 1, ["n"]) for name in "xy"]
            graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "graph", value[:1], value[1:])
            onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8), self.shared / "imported.onnx")
            self.report("operators", "import", self.shared / "imported.onnx")
            for name, body in (("dropped", "d = Log(x) s = Add(x, d) y = Sub(s, d)"), ("kept", "y = Identity(x)")):
                graph = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g (float[n] x) => (float[n] y) {{ {body} }}')
                onnx.save(graph, self.shared / f"{name}.onnx")
        self.report("discover", "--profile", ROOT / "tests" / "cli" / "small.toml", "--out", run)
        for stage in ("prune", "generalize"):
            self.report(stage, "--profile", ROOT / "tests" / "cli" / "small.toml", "--out", run)
        self.report("status", run)
        self.report("rules", "import", rules, "--out", db, code=1)
        self.report("rules", "list", db)
        self.report("rules", "list", run)
        self.report("rules", "list", run, "--candidates", "refuted,unknown,ill-typed")
        self.report("rules", "show", run, "r1")
        self.report("discover", "--profile", ROOT / "data" / "profiles" / "exponents.toml", "--generalize", "none", "--out", self.shared / "exponents")
        refuted = self.report("rules", "list", self.shared / "exponents", "--candidates", "refuted")["candidates"]
        self.assertEqual(self.report("rules", "show", self.shared / "exponents", refuted[0]["id"])["verdict"], "refuted")
        exported = self.shared / "exported.rules"
        self.report("rules", "export", run, exported)
        self.report("rules", "export", run, self.shared / "exported.pb", "--format", "taso")
        self.report("rules", "diff", rules, exported)
        self.report("rules", "diff", exported, rules)
        self.report("rules", "diff", rules, rules)
        self.report("rules", "gallery", db, "--out", self.shared / "page.html")
        self.report("rules", "generalize", run, "--out", self.shared / "general.rmdb")
        self.report("derive", rules, "--from", db, code=1)
        self.report("ci", rules, code=1)
        self.report("check", run, "--cross-check", "--core-minimality")
        faster = self.shared / "faster.onnx"
        self.report("optimize", acnet, "--rules", run, "--no-benchmark", "--verifier", "definitions", "--out", faster)
        self.report("optimize", lora, "--rules", db, "--no-benchmark", "--verifier", "definitions")
        self.report("equal", acnet, faster, "--rules", run, "--proof", self.shared / "models.proof")
        if onnx:
            self.report("equal", self.shared / "dropped.onnx", self.shared / "kept.onnx", "--rules", run, code=1)
        self.report("check", acnet, faster, "--proof", self.shared / "models.proof")
        self.report("info", self.shared / "models.proof")
        self.report("optimize", acnet, "--only-clean", "--out", faster, "--proof", self.shared / "models.proof")
        self.report("variants", acnet, "--rules", run, "--count", "1", "--out", self.shared / "variants")
        self.report("gpu", "plan", lora)
        (self.shared / "array" / "reports").mkdir(parents=True)
        (self.shared / "array" / "models.txt").write_text("absent.onnx\n")
        self.report("status", self.shared / "array")
        for file in (acnet, run, run / "shards" / "terms-00000.h5", run / "rules.rmdb", rules, run / "outcomes.json", run / "manifest.json",
                     run / "funnel.json", run / "timings.json", run / "events" / "rank-00000.jsonl", run / "answers.cache",
                     ROOT / "data" / "operators", ROOT / "data" / "profiles" / "quickstart.toml", self.shared / "page.html",
                     self.shared / "array", ROOT / "data" / "properties" / "linear_algebra.properties"):
            self.report("info", file)
        certificate = self.shared / "certificate"
        certificate.write_text(self.report("rules", "show", run, "r1")["certificate"])
        self.report("info", certificate)
        saved = self.shared / "report.json"
        rulemill("rules", "list", db, "--json", saved)
        self.report("info", saved)
        (self.shared / "data" / "profiles" / "models").mkdir(parents=True)
        (self.shared / "data" / "operators").symlink_to(ROOT / "data" / "operators")
        shutil.copy(ROOT / "tests" / "cli" / "small.toml", self.shared / "data" / "profiles" / "models")
        self.report("rules", "default", "--out", self.shared / "made", env={"RULEMILL_DATA": str(self.shared / "data")})

        for name, table in self.tables.items():
            if name not in NOT_RUN and name in self.seen and name not in SHARED:
                missing = {key for key, (_, required) in table.items() if required} - self.seen[name]
                with self.subTest(name):
                    self.assertFalse(missing, "docs/json.md documents keys that never occurred")

    def test_every_command_with_json_is_documented(self):
        def commands(words):
            text = rulemill(*words, "--help").stdout
            names = re.findall(r"^  (\S+)", text.partition("\nCommands:\n")[2].partition("\n\n")[0], re.M)
            if "--json" in text:
                yield " ".join(words)
            for name in names:
                yield from commands([*words, name])

        self.assertEqual(set(commands([])) - STAGES, set(self.tables) - SHARED)


if __name__ == "__main__":
    unittest.main(verbosity=2)
