#!/usr/bin/env python3
"""Measures the figures of docs/figures.md, prints them with their goals, and stores them as JSON.

    bench/figures.py --out figures.json             three and four operators: a few minutes
    bench/figures.py --five --out figures.json      five operators, too: about an hour
    bench/figures.py --plot plot.svg A.json B.json  figures over time, as a share of their goals

Every run has a new folder. Times are the program's own, without the start of MPI.
"""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROFILE = ROOT / "data/profiles/reference.toml"
TASO_SECONDS = 117.0  # the published generator, three operators, this operator set


class Bench:
    def __init__(self, build: pathlib.Path, folder: pathlib.Path, cores: int):
        self.build = build
        self.folder = folder
        self.cores = cores
        self.figures: list[dict] = []

    def run(self, name: str, stages: list[str], max_ops: int, ranks: int = 0, options: tuple[str, ...] = ()) -> dict:
        """Runs stages one after the other in a new folder; returns their merged reports."""
        out = self.folder / name
        merged: dict = {"stages": {}, "task_statistics": {}}
        for stage in stages:
            report = self.folder / f"{name}.{stage}.json"
            command = [str(self.build / "rulemill"), stage, "--profile", str(PROFILE), "--max-ops", str(max_ops),
                       "--out", str(out), "--json", str(report), "--progress", "off", *options]
            if ranks:
                mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
                command = mpirun + command
            done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
            if done.returncode != 0:
                sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
            data = json.loads(report.read_text())
            for entry in data["stages"]:
                if not entry["already_done"]:
                    merged["stages"][entry["name"]] = entry["seconds"]
            merged["task_statistics"].update(data.pop("task_statistics", {}))
            merged.update({key: value for key, value in data.items() if key != "stages"})
        return merged

    def record(self, figure: str, value: float, unit: str, goal: float | None = None, higher_is_better: bool = False,
             remark: str = "") -> None:
        ratio = None
        if goal is not None and value:
            ratio = value / goal if higher_is_better else goal / value
        self.figures.append({"figure": figure, "value": value, "unit": unit, "goal": goal, "ratio": ratio,
                             "remark": remark})
        print(self.line(self.figures[-1]), flush=True)

    @staticmethod
    def line(figure: dict) -> str:
        value = f"{figure['value']:,.4g}" if isinstance(figure["value"], float) else f"{figure['value']:,}"
        goal = "" if figure["goal"] is None else f"{figure['goal']:,g}"
        ratio = "" if figure["ratio"] is None else f"{figure['ratio']:.2f}"
        return f"{figure['figure']:<52}{value:>14} {figure['unit']:<6}{goal:>10}{ratio:>9}  {figure['remark']}"

    def digest(self, name: str) -> str:
        """Returns a digest of all shards, candidates and rules, with their file names."""
        hasher = hashlib.sha256()
        out = self.folder / name
        for path in sorted([*out.glob("shards/*"), out / "candidates.rules", out / "rules.rmdb"]):
            if path.exists():
                hasher.update(path.name.encode() + path.read_bytes())
        return hasher.hexdigest()

    def throughput(self) -> dict[str, float]:
        """Returns billions of multiply-adds per second of one core, by operator, with the best instruction set."""
        text = subprocess.run([str(self.build / "executor_bench")], capture_output=True, text=True, cwd=ROOT).stdout
        rows = re.findall(r"^(\S.*?)\s{2,}.*?([\d.]+)$", text, re.MULTILINE)
        return {name: float(rate) for name, rate in rows}

    def three(self) -> None:
        report = self.run("three", ["fingerprint", "join", "prove", "prune", "generalize"], 3)
        stages = report["stages"]
        self.record("3 operators: definitions to shards", stages["fingerprint"], "s", 0.4, remark=self.node_count(report))
        self.record("3 operators: times as fast as TASO's generator", TASO_SECONDS / stages["fingerprint"], "x", 300, True)
        self.record("3 operators: join", stages["join"], "s")
        self.record("3 operators: prove", stages["prove"], "s")
        self.record("3 operators: prune", stages["prune"], "s")
        self.record("3 operators: generalize", stages["generalize"], "s")
        tasks = report["task_statistics"]["prove"]
        self.record("3 operators: a derivation", tasks["milliseconds_per_derivation_found"], "ms", 0.1)
        if "milliseconds_per_proof" in tasks:
            self.record("3 operators: a proof from the definitions", tasks["milliseconds_per_proof"], "ms", 10)
        funnel = report["funnel"]
        self.record("3 operators: candidates", funnel["candidates"], "")
        self.record("3 operators: false candidates expected", report["expected_false_candidates"], "")
        self.record("3 operators: refuted", funnel["refuted"], "")
        self.record("3 operators: unknown", funnel["unknown"], "")
        self.record("3 operators: core rules", funnel["core"], "")

    @staticmethod
    def node_count(report: dict) -> str:
        nodes = sum(level["nodes"] for level in report["levels"])
        return f"{nodes:,} nodes, {report['rows']:,} rows"

    def larger(self, ops: int, seconds: float, memory: float) -> dict:
        report = self.run(f"ops{ops}", ["fingerprint", "join"], ops)
        stages = report["stages"]
        total = stages["fingerprint"] + stages["join"]
        self.record(f"{ops} operators: definitions to shards", stages["fingerprint"], "s", remark=self.node_count(report))
        self.record(f"{ops} operators: join", stages["join"], "s")
        self.record(f"{ops} operators: shards written and joined", total, "s", seconds)
        self.record(f"{ops} operators: peak memory", report["peak_memory_bytes"] / 1e9, "GB", memory)
        self.record(f"{ops} operators: shards", report["shard_bytes"] / 1e6, "MB")
        self.record(f"{ops} operators: candidates", report["funnel"]["candidates"], "")
        self.record(f"{ops} operators: false candidates expected", report["expected_false_candidates"], "")
        products = sum(level["multiply_adds"] for level in report["levels"])
        rates = self.throughput()
        best = max(rates.values())
        floor = products / (best * 1e9) / self.cores
        self.record(f"{ops} operators: arithmetic floor", floor, "s", remark=f"{products / 1e9:,.1f} G at {best} G/s per core")
        self.record(f"{ops} operators: time over the floor", stages["fingerprint"] / floor, "x")
        return report

    def proofs_of_four(self) -> None:
        report = self.run("ops4", ["prove", "prune", "generalize"], 4, self.cores)
        seconds = report["stages"]["prove"] + report["stages"]["prune"]
        self.record("4 operators: candidates proved and pruned", seconds, "s", 120)
        self.record("4 operators: generalize", report["stages"]["generalize"], "s")
        for name in ("refuted", "unknown", "core", "derived rules"):
            self.record(f"4 operators: {name}", report["funnel"][name], "")

    def ranks(self) -> None:
        one = self.run("rank1", ["fingerprint", "join"], 4, 1, ("--threads", "1"))["stages"]
        two = self.run("rank2", ["fingerprint", "join"], 4, 2, ("--threads", "1"))["stages"]
        self.record("two ranks against one: shards", one["fingerprint"] / two["fingerprint"], "x", 1.9, True)
        self.record("two ranks against one: join", one["join"] / two["join"], "x")
        self.record("two ranks against one", sum(one.values()) / sum(two.values()), "x", 1.9, True)

    def identity(self) -> None:
        digests = set()
        for ranks in (1, 2, 4):
            self.run(f"same{ranks}", ["fingerprint", "join", "prove", "prune", "generalize"], 3, ranks, ("--threads", "1"))
            digests.add(self.digest(f"same{ranks}"))
        self.record("different files on 1, 2 and 4 ranks", len(digests) - 1, "", remark="shards, candidates, rules")

    def check(self) -> None:
        rules = self.folder / "three/rules.rmdb"
        report = self.folder / "check.json"
        command = [str(self.build / "rulemill"), "check", str(rules), "--cvc5", "--json", str(report)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        self.record("3 operators: certificates that fail", 0 if done.returncode == 0 else 1, "",
                  remark=done.stdout.strip().splitlines()[-1][:100] if done.stdout.strip() else done.stderr.strip()[:100])


def plot(target: pathlib.Path, files: list[pathlib.Path]) -> None:
    """Draws the ratio of each figure to its goal over the dates of the runs; above the line the goal is met."""
    runs = sorted((json.loads(path.read_text()) for path in files), key=lambda run: run["date"])
    names = [f["figure"] for f in runs[-1]["figures"] if f["ratio"]]
    width, row, left = 900, 34, 380
    height = row * len(names) + 40
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
             'font-size="12">', f'<rect width="{width}" height="{height}" fill="white"/>']
    for i, name in enumerate(names):
        y = 30 + row * i
        values = [next((f["ratio"] for f in run["figures"] if f["figure"] == name), None) for run in runs]
        top = max(2.0, max(v for v in values if v))
        points = [(left + (width - left - 90) * (k / max(1, len(runs) - 1)), y + 24 - 24 * min(v, top) / top)
                  for k, v in enumerate(values) if v]
        goal = y + 24 - 24 / top
        parts.append(f'<text x="8" y="{y + 16}" fill="#333">{name}</text>')
        parts.append(f'<line x1="{left}" x2="{width - 90}" y1="{goal:.1f}" y2="{goal:.1f}" stroke="#bbb"/>')
        path = " ".join(f"{x:.1f},{v:.1f}" for x, v in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="#26c" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{v:.1f}" r="3" fill="#26c"/>' for x, v in points]
        parts.append(f'<text x="{width - 80}" y="{y + 16}" fill="#333">{values[-1]:.2f} of goal</text>')
    target.write_text("\n".join(parts) + "\n</svg>\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file to write")
    parser.add_argument("--five", action="store_true", help="measure five operators, too")
    parser.add_argument("--plot", type=pathlib.Path, help="plot the given files over time instead")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.plot:
        plot(arguments.plot, arguments.files)
        return
    cores = len(os.sched_getaffinity(0))
    print(f"{'figure':<52}{'measured':>14} {'unit':<6}{'goal':>10}{'ratio':>9}   ({cores} cores; ratio 1 or more: met)")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.build.resolve(), pathlib.Path(folder), cores)
        bench.three()
        bench.check()
        bench.larger(4, 20, 4)
        bench.proofs_of_four()
        bench.ranks()
        bench.identity()
        if arguments.five:
            bench.larger(5, 3600, 16)
        commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=ROOT).stdout.strip()
        result = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "commit": commit,
                  "machine": platform.processor() or platform.machine(), "cores": cores,
                  "backend": "cpu", "figures": bench.figures}
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
