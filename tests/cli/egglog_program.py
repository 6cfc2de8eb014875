"""Runs a program of `rules export --format egglog --goals FILE` in egglog."""

import re
import time

from egglog.bindings import EGraph


def verdicts(program, rounds, max_tuples, seconds=float("inf")):
    """Yields each goal with its verdict: equal, not shown within the limits, or saturated without being equal."""
    parts = re.split(r"^; goal (.*)$", program, flags=re.M)
    graph = EGraph()
    execute = lambda text: graph.run_program(*graph.parse_program(text))  # noqa: E731
    execute(parts[0])
    for name, block in zip(parts[1::2], parts[2::2]):
        outputs = len(re.findall(r"\.source\.\d+ ", block))
        execute("(push)" + block)
        check = "(check " + " ".join(f"(= ${name}.source.{k} ${name}.target.{k})" for k in range(outputs)) + ")"
        verdict, before, end = "limit", None, time.monotonic() + seconds
        for _ in range(rounds):
            execute("(run 1)")
            try:
                execute(check)
                verdict = "equal"
                break
            except Exception as error:  # pylint: disable=broad-except
                if "Check failed" not in str(error):
                    raise
            tuples = sum(map(int, re.findall(r"\d+", re.sub(r"shape\d|-[\w.-]*", "", str(execute("(print-size)"))))))
            if tuples == before:
                verdict = "saturated"
                break
            before = tuples
            if tuples > max_tuples or time.monotonic() > end:
                break
        execute("(pop)")
        yield name, verdict
