#!/usr/bin/env python3
"""Prints the results of measure.py as a table with means: `table.py OUT.json [--faster | --gains | --trained] [--into FILE]`.

With `--faster`, prints the models that became faster, without other optimizers, and the means of all. With `--gains`, prints who gains:
one line for each kind of models. With `--trained`, prints models of packages (wheels.py) with their proofs. With `--into`, they replace what FILE (such as docs/results.md) has between the lines
`<!-- table.py -->` and `<!-- end -->`.

Factors are times as fast as the model, with quartiles. *cleaned*: no rule fired, only the clean-up changed the model; *unchanged*: the
result is the model. *wrong*: the result computes something else, and is not counted. *products*: the share of time that convolutions
and matrix products take, before and after. *limit*: times as fast as the model if only the result's products took time.
"""

import argparse
import collections
import contextlib
import io
import json
import pathlib
import statistics
import sys

FASTER, SLOWER = 1.03, 0.99
WRONG = 1e-2  # the largest difference of an output, relative to its largest value, from which on a result is no form of the model
PEERS = ("onnxslim", "onnxsim", "onnxscript", "onnxoptimizer", "transformers")
COLUMNS = ("model", "ms", "1 thread", "2 threads", "by hand", *PEERS, "s", "MB", "products, %", "limit")
OF_PAGE = (0, 1, 2, 3, 4, len(COLUMNS) - 1)  # the columns of `--faster`


def measured(row, threads):
    """Returns the ratios by form with this number of threads, and the ratio of a second measurement; None: not measured."""
    found = row if threads == 1 else row.get(f"threads_{threads}", {})
    if "forms" not in found:
        return None
    again = found.get("repeated" if threads == 1 else "again")
    ratios = {form: each["ratio"] for form, each in found["forms"].items() if not is_wrong(row, form)}
    return ratios, again and again["forms"]["rulemill"]["ratio"]


def is_wrong(row, form):
    return not row["forms"][form].get("difference", 0.0) < WRONG  # also if it is NaN


def peer_cell(row, peer):
    if peer not in row["forms"]:
        return "fails" if peer in row.get("failures", {}) else ""
    return "wrong" if is_wrong(row, peer) else f"{row['forms'][peer]['ratio']:.2f}"


def effect(row):
    return "unchanged" if not row["changed"] else "rules" if row["fired"] else "cleaned"


def factor(form):
    return f"{form['ratio']:.2f} ({form['quartiles'][0]:.2f}–{form['quartiles'][1]:.2f})" if form else ""


def percent(form):
    return f"{form['products'] * 100:.0f}" if form.get("products") is not None else "?"


def limit(row):
    result = row["forms"]["rulemill"]
    return result["ratio"] / result["products"] if result.get("products") else None


def cells(row):
    if "failure" in row:
        return [row["model"], f"not measured: {' '.join(row['failure'].split())[:120]}"] + [""] * (len(COLUMNS) - 2)
    forms, two = row["forms"], row.get("threads_2", {}).get("forms", {})
    note = "" if effect(row) == "rules" else f", {effect(row)}"
    others = [peer_cell(row, peer) for peer in PEERS]
    return [row["model"], f"{forms['model']['milliseconds']:.1f}", factor(forms["rulemill"]) + note, factor(two.get("rulemill")),
            f"{forms['by hand']['ratio']:.2f}" if "by hand" in forms else "", *others, f"{row['seconds']:.0f}",
            f"{row['peak_bytes'] / 1e6:.0f}", f"{percent(forms['model'])} → {percent(forms['rulemill'])}", f"{limit(row):.2f}" if limit(row) else "?"]


def is_faster(row):
    return any(found and found[0]["rulemill"] >= FASTER for found in (measured(row, threads) for threads in (1, 2)))


def line(texts, columns=range(len(COLUMNS))):
    return "| " + " | ".join(texts[column] for column in columns) + " |"


def print_head(columns=range(len(COLUMNS))):
    print(line(COLUMNS, columns))
    print("|" + "---|" * len(columns), flush=True)


def counts(ratios):
    if not ratios:
        return "none"
    return (f"{len(ratios)} models, geometric mean {statistics.geometric_mean(ratios):.3f}; {sum(each >= FASTER for each in ratios)} at "
            f"{FASTER} or more, {sum(each < SLOWER for each in ratios)} below {SLOWER}")


def summary_of(rows, threads, mean_only):
    """The mean of the first measurements; unless `mean_only`, also by form, effect and kind, and the models that are slower."""
    found = [(row, *measured(row, threads)) for row in rows if measured(row, threads)]
    if not found:
        return
    ours = [ratios["rulemill"] for _, ratios, _ in found]
    print(f"\n{threads} thread{'s' * (threads > 1)}: {counts(ours)}.", end="\n" if mean_only else "\n\n")
    if mean_only:
        return
    for name, property_of in (("form", lambda row: row.get("form")), ("effect", effect), ("kind", lambda row: row.get("kind"))):
        groups = collections.defaultdict(list)
        for row, ratios, _ in found:
            groups[property_of(row)].append(ratios["rulemill"])
        if name == "kind":
            print("- kinds: " + ", ".join(f"{kind} {statistics.geometric_mean(each):.3f}" for kind, each in groups.items()))
        else:
            for value, each in groups.items():
                print(f"- {name} {value}: {counts(each)}")
    twice = [f"{row['model']} ({effect(row)}) {ratios['rulemill']:.3f} and {again:.3f}" for row, ratios, again in found if again]
    print(f"- below {SLOWER}, first and second measurement: {', '.join(twice) or 'none'}")
    print(f"- below {SLOWER} in both: {sum(again < SLOWER for *_, again in found if again)}")
    for other in (*PEERS, "by hand"):
        both = [(ratios["rulemill"], ratios[other]) for _, ratios, _ in found if other in ratios]
        if both:
            ours, theirs = zip(*both)
            print(f"- {other}: {counts(theirs)}; {sum(other in row.get('failures', {}) for row, *_ in found)} without a result, "
                  f"{sum(other in row['forms'] and is_wrong(row, other) for row, *_ in found)} wrong; "
                  f"rulemill on the same models: {statistics.geometric_mean(ours):.3f}")


def summarize(results, means_only=False):
    rows = [row for row in results if "forms" in row]
    if not rows:
        return
    for threads in (1, 2):
        summary_of(rows, threads, means_only)
    if means_only:
        return
    shares = [[row["forms"][form].get("products") for form in ("model", "rulemill")] for row in rows]
    shares = [pair for pair in shares if None not in pair]
    if shares:
        before, after = (statistics.median(each) for each in zip(*shares))
        print(f"\nproducts: {before:.0%} of the model's time, {after:.0%} of the result's (medians of {len(shares)} models)")
    for form in dict.fromkeys(row.get("form") for row in rows):
        limits = [(limit(row), row["forms"]["rulemill"]["ratio"]) for row in rows if limit(row) and row.get("form") == form]
        if limits:
            print(f"limit, form {form}: geometric mean {statistics.geometric_mean(each for each, _ in limits):.3f}, of which the results "
                  f"have {statistics.geometric_mean(ratio for _, ratio in limits):.3f}")
    seconds = [row["seconds"] for row in rows]
    print(f"the command: median {statistics.median(seconds):.0f} s, longest {max(seconds):.0f} s, at most "
          f"{max(row['peak_bytes'] for row in rows) / 1e6:.0f} MB")
    loads = [load for row in rows for load in row.get("load") or []]
    if loads:
        print(f"load average: {min(loads):.1f} to {max(loads):.1f}, median {statistics.median(loads):.1f}")
    warnings = collections.defaultdict(list)
    for row in rows:
        if row.get("warning"):
            warnings[row["warning"]].append(row["model"])
    for warning, models in warnings.items():
        print(f"{warning}: {', '.join(models)}")
    equal = [row["model"] for row in rows if row.get("equal_parameters")]
    if equal:
        print(f"models with weights whose elements are all equal, which a trained model does not have: {', '.join(equal)}")
    models = collections.Counter(row["rules"][rule] for row in rows for rule in row["fired"])
    if models:
        print("\nrules that fired on most models:\n")
    for rule, number in models.most_common(8):
        words = " ".join(rule.split())
        print(f"- {number}: `{words.partition(') ')[2].removeprefix('derived ').removeprefix('core ') or words}`")


def print_gains(rows):
    """A line for models as trained, one for each kind of models in inference form of which some gain, and one for the other kinds."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups["as they are trained" if row["form"] == "training" else row["kind"]].append((row["forms"]["rulemill"]["ratio"], row["model"]))
    others = [kind for kind, found in groups.items() if max(found)[0] < FASTER]
    groups[", ".join(others)] = [each for kind in others for each in groups.pop(kind)]
    print(f"| models | measured | at least {FASTER} times as fast | geometric mean | range | largest |\n{'|---' * 6}|")
    for kind, found in sorted(groups.items(), key=lambda group: -statistics.geometric_mean(ratio for ratio, _ in group[1])):
        ratios = [ratio for ratio, _ in found]
        names = [f"{model.removeprefix('timm:')} {ratio:.2f}" for ratio, model in sorted(found, reverse=True)[:2] if ratio >= FASTER]
        print(f"| {kind} | {len(found)} | {sum(ratio >= FASTER for ratio in ratios)} | {statistics.geometric_mean(ratios):.2f} | "
              f"{min(ratios):.2f}–{max(ratios):.2f} | {', '.join(names) or 'none'} |")


def proof_cell(row):
    proof = row["proof"]
    if proof["bytes"] == 0:
        return [f"no: {proof['gap']}", "", ""]
    return [f"refused: {proof['refused']}" if proof["refused"] else f"{proof['bytes']} bytes", f"{proof['seconds']:.1f}", f"{proof['check_seconds']:.2f}"]


def print_trained(rows):
    """A line for each model of a package; the gain by the model is that of the written result, the other one that of the cheapest graph."""
    print("| package: file | kind | nodes | covered, % | gain by the model: written, found | times as fast | rules | proof | s to make | s to check | "
          f"s | MB |\n{'|---' * 12}|")
    for row in rows:
        form, (package, _, path) = row["forms"]["rulemill"], row["model"].partition(":")
        measured_gain = factor(form) + ("" if row["fired"] else f", {effect(row)}")
        print(line([f"{package}: {'/'.join(path.split('/')[-2:])}", row["kind"], f"{row['nodes']} → {form['nodes']}", f"{row['covered'][0] * 100:.0f}",
                    f"{row['gain']:.2f}, {row['found_gain']:.2f}", measured_gain, str(sum(row["fired"].values()) or ""), *proof_cell(row),
                    f"{row['processor_seconds']:.0f}", f"{row['peak_bytes'] / 1e6:.0f}"], range(12)))
    ratios = [row["forms"]["rulemill"]["ratio"] for row in rows]
    by_rules = [row for row in rows if row["fired"]]
    proved = [row for row in rows if row["proof"]["bytes"] and not row["proof"]["refused"]]
    print(f"\n{counts(ratios)}. Rules led to {len(by_rules)} results, {counts([row['forms']['rulemill']['ratio'] for row in by_rules])}. "
          f"{len(proved)} of {len(rows)} results are proved, {sum(row in proved for row in by_rules)} of those by rules.")
    for name, values in (("bytes of a proof by rules", [row["proof"]["bytes"] for row in by_rules if row in proved]),
                         ("processor seconds to check one", [row["proof"]["check_seconds"] for row in proved]),
                         ("processor seconds of the command", [row["processor_seconds"] for row in rows]),
                         ("MB of the command", [row["peak_bytes"] / 1e6 for row in rows]), ("load", [load for row in rows for load in row["load"]])):
        print(f"- {name}: median {statistics.median(values or [0]):.3g}, largest {max(values or [0]):.3g}")


BEGIN, END = "<!-- table.py -->\n", "<!-- end -->\n"


def replaced(text, printed):
    """Returns the text of a page with `printed` between the two lines."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"expected the lines {BEGIN.strip()} and {END.strip()}")
    return before + begin + printed + end + after


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("json", type=pathlib.Path)
    parser.add_argument("--into", type=pathlib.Path)
    printed_part = parser.add_mutually_exclusive_group()
    printed_part.add_argument("--faster", action="store_true")
    printed_part.add_argument("--gains", action="store_true")
    printed_part.add_argument("--trained", action="store_true")
    given = parser.parse_args()
    try:
        results = json.loads(given.json.read_text())["results"]
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"{given.json}: expected the JSON that measure.py writes: {type(error).__name__}: {error}")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if given.gains:
            print_gains([row for row in results if "forms" in row])
        elif given.trained:
            print_trained([row for row in results if "forms" in row])
        else:
            columns = OF_PAGE if given.faster else range(len(COLUMNS))
            print_head(columns)
            for row in filter(is_faster, results) if given.faster else results:
                print(line(cells(row), columns))
            summarize(results, given.faster)
    if not given.into:
        print(printed.getvalue(), end="")
        return
    try:
        given.into.write_text(replaced(given.into.read_text(), printed.getvalue()))
    except ValueError as error:
        sys.exit(f"{given.into}: {error}")


if __name__ == "__main__":
    main()
