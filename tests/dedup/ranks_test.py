"""Shards and candidates have the same bytes for any number of ranks and threads."""

import hashlib
import unittest

from binary import ROOT, Case, needs_mpi, rulemill


def digests(folder):
    files = sorted([*folder.glob("shards/*"), folder / "candidates.rules"])
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@needs_mpi
class Ranks(Case):
    def run_on(self, ranks, name="quickstart.toml"):
        profile = ROOT / "data" / "profiles" / name
        out = self.folder / f"{profile.stem}-ranks{ranks}"
        for stage in ("fingerprint", "join"):
            self.assert_works(rulemill(stage, "--profile", profile, "--out", out, ranks=ranks))
        return digests(out)

    def test_the_same_bytes_on_any_number_of_ranks(self):
        golden = self.run_on(1)
        self.assertIn("candidates.rules", golden)
        self.assertIn("shards/terms-00000.h5", golden)
        for ranks in (2, 3, 4, 7):
            self.assertEqual(self.run_on(ranks), golden)

    def test_the_same_bytes_over_the_reals(self):
        golden = self.run_on(1, "models/shifted_rows.toml")
        self.assertIn("softmax", (self.folder / "shifted_rows-ranks1" / "candidates.rules").read_text(encoding="utf-8"))
        for ranks in (2, 3):
            self.assertEqual(self.run_on(ranks, "models/shifted_rows.toml"), golden)


if __name__ == "__main__":
    unittest.main()
