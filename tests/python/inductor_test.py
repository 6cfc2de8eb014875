#!/usr/bin/env python3
"""`rulemill.inductor`: patterns that a package registers, right and wrong ones, and those of the installed torch."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

from package_case import rulemill

try:
    import torch

    import rulemill.inductor as inductor
except (ImportError, rulemill.Error):
    torch = None

OWN = """
import torch
from torch._inductor.pattern_matcher import fwd_only, register_replacement
from torch._inductor.fx_passes.post_grad import pass_patterns

def both(x, w, v):
    return x @ w + x @ v

def one(x, w, v):
    return x @ (w + v)

def twice(x, w, v):
    return x @ (w + v + v)

def register(device):
    x, w = torch.empty(4, 8, device=device), torch.empty(8, 8, device=device)
    register_replacement(both, one, [x, w, w.clone()], fwd_only, pass_patterns)

def register_wrong():
    x, w = torch.empty(4, 8), torch.empty(8, 8)
    register_replacement(one, twice, [x, w, w.clone()], fwd_only, pass_patterns)
"""


@unittest.skipIf(torch is None, "needs PyTorch")
class Inductor(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "own_patterns.py").write_text(OWN, encoding="utf-8")
        sys.path.insert(0, folder.name)
        self.addCleanup(sys.path.remove, folder.name)
        self.addCleanup(sys.modules.pop, "own_patterns", None)

    def run_command(self, *words):
        """The exit code, and what is printed."""
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            try:
                code = inductor.main([str(word) for word in words])
            except SystemExit as ended:
                code = ended.code
        return code, out.getvalue() + errors.getvalue()

    def test_a_right_replacement_is_equal_and_a_wrong_one_is_different(self):
        code, text = self.run_command("own_patterns:register", "--json", self.folder / "found.json")
        self.assertEqual((code, text.count(": equal,")), (0, 1), text)
        found = json.loads((self.folder / "found.json").read_text(encoding="utf-8"))["results"]
        self.assertEqual([(each["pattern"], each["status"], each["shapes"]) for each in found], [("both", "equal", [[4, 8], [8, 8], [8, 8]])])
        code, text = self.run_command("own_patterns:register", "own_patterns:register_wrong")
        self.assertEqual((code, text.count(": different,")), (1, 1), text)
        self.assertIn("own_patterns: 1 equal, 1 different", text)

    def test_what_torch_registers_is_not_registered_again(self):
        """The registrars run, and torch's own tables do not change."""
        from torch._inductor.fx_passes import fuse_attention, joint_graph
        before = len(joint_graph.patterns.patterns)
        found = inductor.registered()
        self.assertGreater(len(found), 40)
        self.assertIn("_sfdp_pattern_1", {pattern.name for pattern in found})
        self.assertEqual(len(joint_graph.patterns.patterns), before)
        self.assertEqual(fuse_attention.gen_register_replacement.__name__, "gen_register_replacement")

    def test_what_cannot_be_found_is_a_usage_error(self):
        for words, reason in ((("own_patterns:nothing",), "expected MODULE:FUNCTION"), (("no_such_module:f",), "expected MODULE:FUNCTION"),
                              (("own_patterns:register", "--only", "x+y"), "none of 1 patterns"),
                              (("own_patterns:register", "--json", self.folder / "no" / "x.json"), "expected a file in a folder")):
            code, text = self.run_command(*words)
            self.assertEqual((code, reason in text), (2, True), text)


if __name__ == "__main__":
    unittest.main()
