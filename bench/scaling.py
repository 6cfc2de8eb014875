#!/usr/bin/env python3
"""A cost model of discovery up to the candidates, from one rank's measured parts to 4,096 ranks.

    bench/scaling.py --measure build/release --max-ops 4 --out parts.json   measures one rank with one core
    bench/scaling.py --parts parts.json --plot docs/scaling.svg             prints the model's table, draws the plot

The model's terms and assumptions are in docs/scaling.md.
"""

import argparse
import json
import math
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROFILE = ROOT / "data/profiles/reference.toml"
LATENCY = 5e-6  # seconds per message
BANDWIDTH = 1e9  # bytes per second and rank, all ranks exchanging at the same time
STORAGE = 20e9  # bytes per second, write bandwidth of the shared file system
RECORD = 40  # bytes of a row's fingerprint record
EXCHANGED_ROW = 80  # bytes of a row of the last level that one rank evaluates for another
EXCHANGED_LOWER_ROW = 200  # bytes of a row of the canonical level, including the values of expanded terms, a fifth as many
CHUNK = 2048  # rows of a shard that are evaluated at a time
CHUNKED_SHARDS = 2  # shards per rank that are evaluated in chunks: the last ones
RANKS = [2**k for k in range(13)]


def shards_of(rows: int) -> int:
    each = min(max(1 << (rows // 512).bit_length(), 1 << 15), 1 << 20)
    return math.ceil(rows / each)


def measure(build: pathlib.Path, max_ops: int) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        reports = []
        for stage in ("fingerprint", "join"):
            report = pathlib.Path(folder) / f"{stage}.json"
            subprocess.run([str(build / "rulemill"), stage, "--profile", str(PROFILE), "--max-ops", str(max_ops),
                            "--threads", "1", "--out", f"{folder}/out", "--json", str(report), "--progress", "off"],
                           check=True, capture_output=True, cwd=ROOT)
            reports.append(json.loads(report.read_text()))
    first, joined = reports
    return {
        "max_ops": max_ops,
        "rows": first["rows"],
        "shared_rows": first["levels"][-2]["rows"],
        "shard_bytes": first["shard_bytes"],
        "fingerprint_seconds": first["stages"][0]["seconds"],
        "fingerprint": first["fingerprint_steps"],
        "join_seconds": joined["stages"][-1]["seconds"],
        "join": joined["join_steps"],
        "candidates": joined["funnel"]["candidates"],
    }


def grown(parts: dict, rows: int, shared_rows: int, candidates: int) -> dict:
    """Returns the times for a larger table on the same machine, with the same time per row."""
    scale, shared, more = rows / parts["rows"], shared_rows / parts["shared_rows"], candidates / parts["candidates"]
    f, j = parts["fingerprint"], parts["join"]
    return {
        **parts, "rows": rows, "shared_rows": shared_rows, "candidates": candidates,
        "shard_bytes": parts["shard_bytes"] * scale,
        "fingerprint": {name: seconds * (shared if "level" in name else scale) for name, seconds in f.items()},
        "join": {name: seconds * (more if name == "write" else shared if name == "read" else scale)
                 for name, seconds in j.items()},
    }


def predict(parts: dict, ranks: int) -> dict[str, float]:
    """Returns seconds by component, of the slowest rank."""
    f, j = parts["fingerprint"], parts["join"]
    rows, shards = parts["rows"], shards_of(parts["rows"])
    share = math.ceil(shards / ranks) / shards  # of the shards, on the rank with most of them
    steps = math.log2(ranks) if ranks > 1 else 0
    loops = [name for name in f if name.endswith(", distributed")]
    shared = sum(f[name] for name in loops)
    serial = sum(f[name.removesuffix(", distributed")] for name in loops) - shared
    exchanged = parts["shared_rows"] * EXCHANGED_LOWER_ROW + EXCHANGED_ROW * min(CHUNKED_SHARDS * rows / shards, rows / ranks)
    exchange = rows * RECORD / ranks
    chunks = rows / CHUNK
    join = j["classes"] + j["pairs"] + j["filter"] + j["generalize"] + j["several outputs"]
    return {
        "serial": serial + j["read"],
        "lower levels": shared / ranks + (exchanged / BANDWIDTH + steps * LATENCY if ranks > 1 else 0),
        "evaluate": (f["evaluate and write"] - f["write"]) * (1 / ranks if chunks > ranks else 1 / chunks),
        "write": max(f["write"] * share, parts["shard_bytes"] / STORAGE),
        "exchange": (2 * exchange / BANDWIDTH + ranks * LATENCY) if ranks > 1 else 0,
        "join": join / ranks,
        "candidates' text": j["write"],
    }


def table(parts: dict) -> None:
    names = list(predict(parts, 1))
    print(f"{parts['max_ops']} operators, {parts['rows']:,} rows, {shards_of(parts['rows'])} shards")
    print(f"{'ranks':>6} {'seconds':>9} {'speed-up':>9} {'efficiency':>10}  {'largest part'}")
    one = sum(predict(parts, 1).values())
    for ranks in RANKS:
        cost = predict(parts, ranks)
        total = sum(cost.values())
        largest = max(names, key=lambda name: cost[name])
        print(f"{ranks:>6} {total:>9.3f} {one / total:>9.1f} {one / total / ranks:>10.2f}  {largest} {cost[largest]:.3f} s")


COLOURS = ["#8c6bb1", "#4292c6", "#41ab5d", "#f16913", "#bdbdbd", "#de2d26", "#fdae6b", "#636363"]


def draw(target: pathlib.Path, tables: list[dict], seen: list[tuple[int, int, float]]) -> None:
    """Draws seconds by component over the number of ranks (logarithmic), one panel per table, measured runs as crosses."""
    height, left, top, panel = 330, 64, 46, 330
    width = left + len(tables) * (panel + 90) - 40
    parts_svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + 74}" font-family="sans-serif" '
                 f'font-size="12"><rect width="{width}" height="{height + 74}" fill="white"/>']
    for index, parts in enumerate(tables):
        x0 = left + index * (panel + 90)
        totals = [sum(predict(parts, r).values()) for r in RANKS]
        low = 10 ** math.floor(math.log10(min(min(predict(parts, r).values()) for r in RANKS if r > 1) + 1e-3))
        low = max(low, 10 ** math.floor(math.log10(min(totals)) - 2))
        high = 10 ** math.ceil(math.log10(max([*totals, *(s for ops, _, s in seen if ops == parts["max_ops"])])))
        place = lambda ranks: x0 + panel * math.log2(ranks) / 12
        level = lambda s: top + (height - top) * (1 - math.log10(max(s, low) / low) / math.log10(high / low))
        parts_svg.append(f'<text x="{x0}" y="24" font-size="14" fill="#222">{parts["max_ops"]} operators, '
                         f'{parts["rows"]:,} rows</text>')
        decade = low
        while decade <= high * 1.01:
            y = level(decade)
            parts_svg.append(f'<line x1="{x0}" x2="{x0 + panel}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
                             f'<text x="{x0 - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#555">{decade:g} s</text>')
            decade *= 10
        for ranks in RANKS[::2]:
            parts_svg.append(f'<text x="{place(ranks):.1f}" y="{height + 18}" text-anchor="middle" fill="#555">'
                             f'{ranks:,}</text>')
        for colour, name in zip(COLOURS, predict(parts, 1)):
            points = [(place(r), level(predict(parts, r)[name])) for r in RANKS if predict(parts, r)[name] > low]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            parts_svg.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        path = " ".join(f"{place(r):.1f},{level(t):.1f}" for r, t in zip(RANKS, totals))
        parts_svg.append(f'<polyline points="{path}" fill="none" stroke="black" stroke-width="2.5"/>')
        ideal = " ".join(f"{place(r):.1f},{level(totals[0] / r):.1f}" for r in RANKS if totals[0] / r > low)
        parts_svg.append(f'<polyline points="{ideal}" fill="none" stroke="black" stroke-dasharray="4 4"/>')
        for ops, ranks, seconds in seen:
            if ops != parts["max_ops"]:
                continue
            x, y = place(ranks), level(seconds)
            parts_svg.append(f'<path d="M{x - 5:.1f} {y - 5:.1f}l10 10m0 -10l-10 10" stroke="#c00" stroke-width="2"/>')
    for i, (colour, name) in enumerate([("black", "all"), *zip(COLOURS, predict(tables[0], 1))]):
        x, y = left + (i % 5) * (width - left) / 5, height + 44 + (i // 5) * 18
        parts_svg.append(f'<line x1="{x}" x2="{x + 18}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="3"/>'
                         f'<text x="{x + 24}" y="{y + 4}" fill="#333">{name}</text>')
    target.write_text("\n".join(parts_svg) + "\n</svg>\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", type=pathlib.Path, help="build folder: measure one rank with one core")
    parser.add_argument("--max-ops", type=int, default=4)
    parser.add_argument("--out", type=pathlib.Path, help="where the measured parts go")
    parser.add_argument("--parts", type=pathlib.Path, help="measured parts to predict from")
    parser.add_argument("--grow", nargs=4, type=int, action="append", default=[],
                        metavar=("OPS", "ROWS", "SHARED_ROWS", "CANDIDATES"), help="predict for a larger table, too")
    parser.add_argument("--seen", nargs=3, action="append", default=[], metavar=("OPS", "RANKS", "SECONDS"),
                        help="a measured run, drawn as a cross")
    parser.add_argument("--plot", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.measure:
        parts = measure(arguments.measure.resolve(), arguments.max_ops)
        arguments.out.write_text(json.dumps(parts, indent=1) + "\n")
    else:
        parts = json.loads(arguments.parts.read_text())
    tables = [parts]
    for ops, rows, shared, candidates in arguments.grow:
        tables.append({**grown(parts, rows, shared, candidates), "max_ops": ops})
    for each in tables:
        table(each)
    if arguments.plot:
        draw(arguments.plot, tables, [(int(o), int(r), float(s)) for o, r, s in arguments.seen])


if __name__ == "__main__":
    main()
