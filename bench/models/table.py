#!/usr/bin/env python3
"""Prints the results of measure.py as a table with means: `table.py OUT.json`."""

import collections
import json
import statistics
import sys

FASTER, SLOWER = 1.03, 0.99
PEERS = ("onnxslim", "onnxsim", "onnxscript", "onnxoptimizer", "transformers")
HEAD = f"""| model | ms | 1 thread | 2 threads | by hand | {' | '.join(PEERS)} | s | MB | products, % |
|{'---|' * (8 + len(PEERS))}"""


def factor(form):
    return f"{form['ratio']:.2f} ({form['quartiles'][0]:.2f}–{form['quartiles'][1]:.2f})" if form else ""


def percent(form):
    return f"{form['products'] * 100:.0f}" if form.get("products") is not None else "?"


def line(row):
    if "failure" in row:
        return f"| {row['model']} | not measured: {' '.join(row['failure'].split())[:120]} |{' |' * (6 + len(PEERS))}"
    forms, two = row["forms"], row.get("threads_2", {}).get("forms", {})
    same = ", unchanged" if not row["changed"] else "" if row["fired"] else ", cleaned"
    others = [f"{forms[peer]['ratio']:.2f}" if peer in forms else "fails" if peer in row.get("failures",
                                                                                             {}) else "" for peer in PEERS]
    cells = [row["model"], f"{forms['model']['milliseconds']:.1f}", factor(forms["rulemill"]) + same, factor(two.get("rulemill")),
             f"{forms['by hand']['ratio']:.2f}" if "by hand" in forms else "", *others, f"{row['seconds']:.0f}",
             f"{row['peak_bytes'] / 1e6:.0f}", f"{percent(forms['model'])} → {percent(forms['rulemill'])}"]
    return "| " + " | ".join(cells) + " |"


def mean(ratios):
    return f"{statistics.geometric_mean(ratios):.3f} ({len(ratios)})" if ratios else "-"


def unless_measured_again(row, place):
    """Returns the ratio of a result, of the repeated measurement if there is one."""
    found = row if place is None else row.get(place)
    if not found:
        return None
    again = found.get("repeated" if place is None else "again")
    return (again or found)["forms"]["rulemill"]["ratio"]


def summary_of(rows, place, title):
    ratios = {row["model"]: unless_measured_again(row, place) for row in rows}
    ratios = {model: ratio for model, ratio in ratios.items() if ratio}
    if not ratios:
        return
    slower = [f"{model} {ratio:.2f}" for model, ratio in ratios.items() if ratio < SLOWER]
    print(f"\n{title}: {len(ratios)} models; geometric mean {mean(list(ratios.values()))}")
    for form in dict.fromkeys(row.get("form") for row in rows):
        print(f"- in {form} form: {mean([ratios[row['model']] for row in rows if row.get('form') == form and row['model'] in ratios])}")
    for kind in dict.fromkeys(row.get("kind") for row in rows):
        print(f"- {kind}: {mean([ratios[row['model']] for row in rows if row.get('kind') == kind and row['model'] in ratios])}")
    once = [row["model"] for row in rows if (row if place is None else row.get(place,
                                                                               {})).get("repeated" if place is None else "again")]
    print(f"- at {FASTER} or more: {sum(ratio >= FASTER for ratio in ratios.values())}")
    print(f"- below {SLOWER} in the first measurement: {', '.join(once) or 'none'}; in the second, too: {', '.join(slower) or 'none'}")


def summary_of_peers(rows, place, title):
    """The means of rulemill and of each other optimizer over the models that this optimizer handles."""
    for peer in (*PEERS, "by hand"):
        both = [(row if place is None else row[place])["forms"] for row in rows if place is None or place in row]
        both = [(forms["rulemill"]["ratio"], forms[peer]["ratio"]) for forms in both if peer in forms]
        if both:
            failed = sum(peer in row.get("failures", {}) for row in rows)
            below = sum(theirs < SLOWER for _, theirs in both)
            print(f"- {peer}, {title}: {len(both)} models, {failed} failures; geometric mean {mean([b for _, b in both])}, rulemill's of these "
                  f"{mean([a for a, _ in both])}; at {FASTER} or more: {sum(b >= FASTER for _, b in both)}, below {SLOWER}: {below}")


def summarize(results):
    rows = [row for row in results if "forms" in row]
    for place, title in ((None, "one thread"), ("threads_2", "two threads")):
        summary_of(rows, place, title)
        summary_of_peers(rows, place, title)
    shares = [(row["forms"]["model"].get("products"), row["forms"]["rulemill"].get("products")) for row in rows]
    shares = [pair for pair in shares if None not in pair]
    if shares:
        before, after = (statistics.median(each) for each in zip(*shares))
        print(f"\nproducts take {before:.0%} of the model's time and {after:.0%} of the result's (medians of {len(shares)} models)")
    seconds = sorted(row["seconds"] for row in rows)
    if seconds:
        print(f"the command: median {statistics.median(seconds):.0f} s, longest {seconds[-1]:.0f} s; at most "
              f"{max(row['peak_bytes'] for row in rows) / 1e6:.0f} MB")
    loads = [load for row in rows for load in row.get("load") or []]
    if loads:
        print(f"load average {min(loads):.1f} to {max(loads):.1f}, median {statistics.median(loads):.1f}")
    fired, models = collections.Counter(), collections.Counter()
    for row in rows:
        fired.update(row["fired"])
        models.update(row["fired"].keys())
    if fired:
        print("\nrules that fired most: times, models, rule")
    for rule, times in fired.most_common(20):
        print(f"{times:6} {models[rule]:4}  {rule}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1]) as file:
        results = json.load(file)["results"]
    print(HEAD)
    for row in results:
        print(line(row))
    summarize(results)


if __name__ == "__main__":
    main()
