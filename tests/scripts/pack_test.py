#!/usr/bin/env python3
"""Runs the packed tarball in an empty root with only a shell and the C library: no Open MPI, no HDF5, no Z3."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

from binary import ROOT, Case, rulemill

SMALL = ROOT / "tests" / "cli" / "small.toml"
MACHINES_OWN = re.compile(r"/(ld-linux[^/]*|lib(c|m|dl|pthread|rt|resolv|util|tinfo|selinux|pcre2-8))\.so[.0-9]*$")
IN_A_ROOT = ["unshare", "--mount", "--pid", "--fork"]


def why_not():
    if os.geteuid() != 0:
        return "only root can change its root"
    tried = subprocess.run([*IN_A_ROOT, "true"], capture_output=True, text=True, check=False)
    return f"no namespaces here: {tried.stderr.strip()}" if tried.returncode != 0 else None


@unittest.skipIf(why_not(), f"SKIPPED: {why_not()}")
class Pack(Case):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        preset = pathlib.Path(os.environ.get("RULEMILL", "build/release/rulemill")).parent.name
        archive = self.folder / "rulemill.tar.gz"
        packed = subprocess.run([ROOT / "scripts" / "pack.sh", archive, preset], capture_output=True, text=True, check=False)
        self.assertEqual(packed.returncode, 0, packed.stderr)
        print(packed.stdout, flush=True)
        for folder in ("dev", "proc", "sys", "tmp", "data", "opt"):
            (self.root / folder).mkdir(parents=True)
        for program in ("bash", "readlink", "ls"):
            self.install(pathlib.Path(shutil.which(program)))
        subprocess.run(["tar", "-C", self.root / "opt", "-xzf", archive], check=True)
        shutil.copy(SMALL, self.root / "data")

    def install(self, program):
        """Copies a program of this machine with its libraries."""
        (self.root / "bin").mkdir(exist_ok=True)
        shutil.copy(program, self.root / "bin" / program.name)
        for library in re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout):
            self.assertRegex(library, MACHINES_OWN)
            place = self.root / library.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, place)

    def install_c_library(self):
        names = ("libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2", "libutil.so.1")
        place = next(self.root.rglob("libc.so.6")).parent
        for name in names:
            shutil.copy(pathlib.Path("/") / place.relative_to(self.root) / name, place)

    def inside(self, command):
        script = (f'mount --bind /dev "{self.root}/dev" && mount -t proc proc "{self.root}/proc" && mount --bind /sys "{self.root}/sys" && '
                  f'exec chroot "{self.root}" /bin/bash -c "$1"')
        return subprocess.run([*IN_A_ROOT, "bash", "-c", script, "-", command], capture_output=True, text=True, check=False,
                              timeout=300, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp"})

    def test_it_runs_on_one_and_two_ranks_where_nothing_is_installed(self):
        self.install_c_library()
        self.assertNotEqual(self.inside("ls /usr/share /etc/openmpi").returncode, 0)
        doctor = self.inside("/opt/rulemill/bin/rulemill doctor")
        self.assert_works(doctor)
        self.assertIn("operators in /opt/rulemill/share/rulemill/operators", doctor.stdout)
        expected = self.folder / "expected"
        self.assert_works(rulemill("discover", "--profile", SMALL, "--out", expected, "--progress", "off"))
        for ranks, launcher in ((1, ""), (2, "/opt/rulemill/bin/mpirun --allow-run-as-root --oversubscribe -n 2 ")):
            with self.subTest(ranks=ranks):
                run = self.inside(f"{launcher}/opt/rulemill/bin/rulemill discover --profile /data/small.toml --out /data/{ranks}")
                self.assert_works(run)
                self.assertNotIn("mca_base_component", run.stderr)
                for name in ("candidates.rules", "outcomes.json", "rules.rmdb"):
                    self.assertEqual((self.root / "data" / str(ranks) / name).read_bytes(), (expected / name).read_bytes(), name)
        gallery = self.inside("/opt/rulemill/bin/rulemill rules gallery /data/1 --out /data/page.html")
        self.assert_works(gallery)
        for folder in ("imports", "python/rulemill/ci", "python/rulemill/exchange"):
            self.assertTrue(list((self.root / "opt/rulemill/share/rulemill" / folder).iterdir()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
