#!/usr/bin/env python3
"""Measures the communication of the stages fingerprint and join between two ranks on two network namespaces of this machine, joined
by a link of limited bandwidth, and compares it with the model of docs/scaling.md. Needs root, `ip` and `tc`.

    bench/network.py [--max-ops 3] [--rates 0 1000 100 20] [--latencies 0]

Rates in Mbit/s, 0: unlimited; latencies in ms per message, if the kernel has netem."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NODES = {"rulemill-a": "10.77.0.1", "rulemill-b": "10.77.0.2"}


def run(*words, check=True):
    return subprocess.run([str(word) for word in words], check=check, capture_output=True, text=True)


class Link:
    """A context manager for the namespaces and the link between them."""

    def __enter__(self):
        self.__exit__()
        for node in NODES:
            run("ip", "netns", "add", node)
        run("ip", "link", "add", "rulemill-va", "type", "veth", "peer", "name", "rulemill-vb")
        for (node, address), end in zip(NODES.items(), ("rulemill-va", "rulemill-vb")):
            run("ip", "link", "set", end, "netns", node)
            run("ip", "-n", node, "link", "set", end, "name", "wire")
            run("ip", "-n", node, "addr", "add", f"{address}/24", "dev", "wire")
            run("ip", "-n", node, "link", "set", "wire", "up")
            run("ip", "-n", node, "link", "set", "lo", "up")
        return self

    def __exit__(self, *_):
        for node in NODES:
            run("ip", "netns", "del", node, check=False)

    def limit(self, rate, latency):
        """Limits both directions. Returns False if the kernel does not support it."""
        for node in NODES:
            run("ip", "netns", "exec", node, "tc", "qdisc", "del", "dev", "wire", "root", check=False)
            if latency:
                words = ["netem", "delay", f"{latency}ms", *(["rate", f"{rate}mbit"] if rate else [])]
            elif rate:
                words = ["tbf", "rate", f"{rate}mbit", "burst", "256kb", "latency", "200ms"]
            else:
                continue
            if run("ip", "netns", "exec", node, "tc", "qdisc", "add", "dev", "wire", "root", *words, check=False).returncode:
                return False
        return True


def agent(folder):
    """Writes the script with which mpirun starts its second daemon, instead of ssh."""
    path = folder / "agent"
    path.write_text("#!/bin/bash\n# HOST COMMAND...: runs the command in the second namespace\nshift\n"
                    f"exec ip netns exec {list(NODES)[1]} bash -c \"$*\"\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def stage(name, words, folder, out):
    command = ["ip", "netns", "exec", next(iter(NODES)), "mpirun", "--allow-run-as-root", "--quiet", "-n", 2, "--map-by", "node",
               "--host", ",".join(f"{address}:1" for address in NODES.values()), "--mca", "plm_rsh_agent", folder / "agent",
               "--mca", "btl", "tcp,self", "--mca", "pml", "ob1", "--mca", "btl_tcp_if_include", "wire",
               "--mca", "oob_tcp_if_include", "wire", words.binary, name, "--profile", words.profile, "--max-ops", words.max_ops,
               "--out", out, "--threads", 1, "--progress", "off", "--definitions", ROOT / "data" / "operators"]
    done = run(*command, check=False)
    if done.returncode:
        sys.exit(f"{name}: exit code {done.returncode}: {done.stderr}")
    ends = []
    for log in sorted((out / "events").iterdir()):
        events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        ends.append([event for event in events if event.get("event") == "stage end" and event["stage"] == name][-1])
    return ends


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build" / "release" / "rulemill")
    parser.add_argument("--profile", type=pathlib.Path, default=ROOT / "data" / "profiles" / "reference.toml")
    parser.add_argument("--max-ops", type=int, default=3)
    parser.add_argument("--rates", type=float, nargs="+", default=[0, 1000, 100, 20])
    parser.add_argument("--latencies", type=float, nargs="+", default=[0])
    words = parser.parse_args()
    print("Mbit/s  ms  stage        bytes sent per rank   seconds  waiting seconds   model: bytes / rate")
    with tempfile.TemporaryDirectory(prefix="rulemill-network-") as scratch, Link() as link:
        folder = pathlib.Path(scratch)
        agent(folder)
        expected = None
        for rate, latency in ((r, l) for l in words.latencies for r in words.rates):
            if not link.limit(rate, latency):
                print(f"{rate:6g}  {latency:2g}  not supported by this kernel")
                continue
            out = folder / "out"
            shutil.rmtree(out, ignore_errors=True)
            for name in ("fingerprint", "join"):
                ends = stage(name, words, folder, out)
                sent = max(end["bytes_sent"] for end in ends)
                model = f"{sent * 8 / rate / 1e6:.2f}" if rate else ""
                print(f"{rate:6g}  {latency:2g}  {name:11}  {sent:20,}  {max(end['seconds'] for end in ends):7.2f}  "
                      f"{max(end['waiting'] for end in ends):16.2f}  {model}", flush=True)
            candidates = (out / "candidates.rules").read_bytes()
            if expected not in (None, candidates):
                sys.exit("the candidates differ")
            expected = candidates


if __name__ == "__main__":
    os.environ.pop("OMPI_MCA_plm_rsh_agent", None)
    main()
