#!/usr/bin/env python3
"""Time, memory and results of every shipped profile as a table. The default rules are those of data/profiles/models.

    bench/profiles.py [--threads N] [PROFILE.toml ...]

Times are the program's own. `general` is the number of rules that state the core in general form; the time includes this stage.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def measure(binary: pathlib.Path, profile: pathlib.Path, threads: int, folder: pathlib.Path) -> dict:
    report = folder / "report.json"
    subprocess.run([binary, "discover", "--fresh", "--profile", profile, "--threads", str(threads), "--out", folder / "out",
                    "--progress", "off", "--json", report], check=True, stdout=subprocess.DEVNULL)
    return json.loads(report.read_text(encoding="utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profiles", nargs="*", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    profiles = arguments.profiles or sorted((ROOT / "data/profiles").rglob("*.toml"))
    print("| profile | operators | nodes | candidates | refuted, unknown | core | derived | general | time | memory |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for profile in profiles:
        with tempfile.TemporaryDirectory() as folder:
            run = measure(arguments.build / "rulemill", profile, arguments.threads, pathlib.Path(folder))
        funnel = run["funnel"]
        print(f"| {profile.stem} | {run['max_ops']} | {funnel['nodes']:,} | {funnel['candidates']:,} | {funnel['refuted']}, "
              f"{funnel['unknown']} | {funnel['core']} | {funnel['derived rules']:,} | {funnel['general']} | {run['seconds']:.1f} s | "
              f"{run['peak_memory_bytes'] / 1e6:.0f} MB |", flush=True)


if __name__ == "__main__":
    main()
