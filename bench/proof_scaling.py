#!/usr/bin/env python3
"""How far the proofs of a finished run would scale: `proof_scaling.py OUT`.

OUT is the folder of a `discover` run on one rank with one thread; its event log has the processor seconds of each batch of items, of
its longest item and of the longest one that took an item's place. A batch on P ranks takes at most work/P + longest * (1 - 1/P), and not
less than the first rank needs to make its items and to keep and pass on their answers; the next one begins when it has ended. The rest
of a stage is the first rank's work between batches. Waits for disks are left out. Prints a Markdown table of seconds and speedup by
stage.
"""

import argparse
import json
import pathlib

RANKS = [2**k for k in range(0, 13, 2)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    log = parser.parse_args().out / "events" / "rank-00000.jsonl"
    if not log.is_file():
        parser.error(f"{log}: expected the event log of a run")
    events = [json.loads(line) for line in log.read_text().splitlines()]
    last = max(i for i, event in enumerate(events) if event["event"] == "begin")
    events = events[last:]
    if events[0]["ranks"] != 1:
        parser.error("expected a run on one rank")
    print("| stage | batches | items | work, s | first rank within batches, s | between, s |", *(f"{ranks:,} ranks |" for ranks in RANKS[1:]))
    print("|---" * (5 + len(RANKS)) + "|")
    started = 0.0
    for stage in (event for event in events if event["event"] == "stage end"):
        batches = [event for event in events if event["event"] == "tasks" and event["stage"] == stage["stage"]]
        within = sum(batch["own_seconds"] for batch in batches)
        alone = stage["processor_seconds"] - started - within
        started = stage["processor_seconds"]
        if not batches:
            continue
        work = sum(batch["work_seconds"] for batch in batches)

        def seconds_of(batch: dict, ranks: int) -> float:
            by_workers = batch["work_seconds"] / ranks + batch["longest_seconds"] * (1 - 1 / ranks)
            return max(by_workers, batch["own_seconds"])

        def seconds(ranks: int) -> float:
            return alone + sum(seconds_of(batch, ranks) for batch in batches)

        print(f"| {stage['stage']} | {len(batches)} | {sum(batch['items'] for batch in batches):,} | {work:.1f} | {within:.1f} | {alone:.1f} |",
              *(f"{seconds(ranks):.1f} s, {seconds(1) / seconds(ranks):.1f} |" for ranks in RANKS[1:]))


if __name__ == "__main__":
    main()
