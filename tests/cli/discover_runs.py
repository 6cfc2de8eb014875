"""Runs of `rulemill discover` and their results, for tests."""

import json
import pathlib
import resource
import subprocess

from binary import BINARY, ROOT, rulemill

SMALL = pathlib.Path(__file__).with_name("small.toml")
STAGES = ["fingerprint", "join", "prove", "prune", "generalize"]
REFERENCE = ROOT / "data" / "profiles" / "reference.toml"


def limited_run(words, limit, value):
    """Runs one process under a limit of the operating system."""
    return subprocess.run([str(BINARY), *map(str, words)], capture_output=True, text=True, check=False, timeout=300,
                          preexec_fn=lambda: resource.setrlimit(limit, (value, resource.getrlimit(limit)[1])))


def discover(out, *options, profile=SMALL, command="discover", **settings):
    return rulemill(command, "--profile", profile, "--out", out, "--progress", "off", *options, **settings)


def results(out):
    """Returns the bytes of every result by name; of the manifest only its list of files, because it also has times. Timings and events
    are times, and the order of cached answers is arbitrary."""
    files = {}
    for path in sorted(out.rglob("*")):
        name = str(path.relative_to(out))
        if path.is_file() and path.parent.name != "events" and path.name not in ("manifest.json", "manifest.copy.json", ".lock", "verdicts.journal", "timings.json", "answers.cache", "generalizations.cache"):
            files[name] = path.read_bytes()
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    files["listed"] = [(entry["name"], entry["checksum"]) for entry in manifest["files"] if "journal" not in entry["name"]]
    return files
