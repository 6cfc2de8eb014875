"""The helper by which `rulemill optimize` has models timed by onnxruntime, in turns; models.py says how they speak.

Question: {"models": paths, "threads", "seconds", "least_rounds", "shapes": {input: dims}}. Answer: {"rounds": [{"shapes":
text, "milliseconds": times by model and round}], "failures": {number of a model: why it does not run}}, or {"failure"}.
The first model is the one that the others stand for. A model with open dimensions is timed at two choices of shapes. One
thread is this one: what counts is the time that it has a processor, which other processes take less part in.
"""

import math
import statistics
import sys
import time

sys.dont_write_bytecode = True

from models import CannotRun, draw, one_line, serve, session, shape_of

# Sizes of open dimensions: of first axes, mostly a batch, and of others; the first that the model takes, twice.
# The second is no more work than the first, which large models would take minutes for.
OPEN_SIZES = [(1, 224), (2, 128), (1, 128), (2, 96), (1, 64), (2, 32), (1, 512), (2, 384), (1, 1), (2, 4)]
SHORTEST = 2e-3  # seconds: a model that is faster runs several times for one measurement
MOST_ROUNDS = 101
PATIENCE = 4  # times the seconds: of work for the fewest rounds, by the clock for more than these
ALIKE = 0.02  # share by which two times differ that are alike
LEAST_GAIN = 0.01  # what a candidate must be faster by at least; see optimize/timing.h
PROMISING = LEAST_GAIN / 2  # a gain that more rounds may tell from noise
MORE = 1  # times the seconds, for these
CHANCE = 0.01  # how often chance alone may put a candidate behind another in as many rounds


def feeds_at(model, given, batch, other):
    sizes = {}
    size_of = lambda key, axis: sizes.setdefault(key, batch if axis == 0 else other)
    shapes = {info.name: shape_of(info, given, size_of) for info in model.get_inputs()}
    return draw(model.get_inputs(), shapes, 0), bool(sizes)


def chosen_feeds(model, given):
    """Inputs that the model takes: one choice, or two where its shapes are open."""
    chosen, failure = [], ""
    for batch, other in OPEN_SIZES:
        try:
            feeds, is_open = feeds_at(model, given, batch, other)
            model.run(None, feeds)
        except CannotRun:
            raise
        except Exception as error:
            failure = one_line(error)
            continue
        chosen.append(feeds)
        if len(chosen) == 2 or not is_open:
            return chosen
    if not chosen:
        raise CannotRun(f"it does not run the model: {failure}")
    return chosen


def seconds_of(model, feeds, repeats, clock=time.perf_counter):
    start = clock()
    for _ in range(repeats):
        model.run(None, feeds)
    return max((clock() - start) / repeats, 1e-9)


def ratios(times, number):
    """By round: the model's time, of its two runs the geometric mean, by the candidate's."""
    return [math.sqrt(a * b) / c for a, b, c in zip(times[0], times[1], times[number])]


def surely_above_one(quotients, share):
    """Whether they are, in the middle by more than the share, and in so many rounds that chance does not do it."""
    not_above = sum(quotient <= 1 for quotient in quotients)
    by_chance = sum(math.comb(len(quotients), few) for few in range(not_above + 1)) / 2 ** len(quotients)
    return statistics.median(quotients) > 1 + share and by_chance <= CHANCE


def surely_behind(one, best):
    return surely_above_one([b / a for a, b in zip(one, best)], ALIKE)


def worth_more_rounds(times, running):
    """Candidates that may be taken; none if more rounds would not change which is: all left are faster than the model, and
    the first of them, the cheapest, is not behind."""
    by_round = {number: ratios(times, number) for number in running if number > 1}
    if not by_round:
        return []
    middle = {number: statistics.median(each) for number, each in by_round.items()}
    best = max(middle, key=middle.get)
    left = [number for number in middle if not surely_behind(by_round[number], by_round[best]) and middle[number] > 1 - ALIKE]
    surely_faster = all(min(by_round[number]) > 1 + ALIKE for number in left)
    return [] if surely_faster and (not left or middle[left[0]] >= middle[best] * (1 - ALIKE / 2)) else left


def promising(times, running):
    """The best candidate, if it seems faster than the model and nothing is surely so yet."""
    by_round = {number: ratios(times, number) for number in running if number > 1}
    if not by_round or any(surely_above_one(each, LEAST_GAIN) for each in by_round.values()):
        return None
    best = max(by_round, key=lambda number: statistics.median(by_round[number]))
    return best if statistics.median(by_round[best]) > 1 + PROMISING else None


def run_rounds(models, feeds, seconds, least, clock):
    """Milliseconds by model and round; each round begins with the next model, so that none runs twice in a row. A candidate
    that falls behind has fewer rounds than the others; where none is surely faster when the seconds are over and one may be,
    this one has as many again: that it is asked twice makes chance twice as likely, and no more."""
    runners = {number: model for number, model in enumerate(models) if model is not None}
    once = [min(seconds_of(model, feeds, 1, clock) for _ in range(2)) for model in runners.values()]
    repeats = max(1, round(SHORTEST / max(min(once), 1e-6)))
    times = [[] for _ in models]
    start, began, allowed = time.perf_counter(), clock(), seconds
    for turn in range(MOST_ROUNDS):
        # On a busy machine rounds take longer by the clock: their work counts, and whoever asked stops waiting some time.
        worked = clock() - began
        if turn < least and worked >= PATIENCE * seconds:
            break
        if turn >= least and time.perf_counter() - start >= PATIENCE * seconds:
            break
        if turn >= least and worked >= allowed:
            best = promising(times, runners) if allowed == seconds else None
            if best is None:
                break
            allowed += MORE * seconds
            runners = {number: model for number, model in runners.items() if number in (0, 1, best)}
        if turn >= least and len(runners) > 2:
            left = worth_more_rounds(times, runners)
            if not left:
                break
            runners = {number: model for number, model in runners.items() if number < 2 or number in left}
        order = list(runners.items())
        first = turn % len(order)
        for number, model in order[first:] + order[:first]:
            times[number].append(seconds_of(model, feeds, repeats, clock) * 1e3)
    return times


def shapes_text(feeds):
    return ", ".join(f"{name} {'x'.join(map(str, values.shape)) or 'scalar'}" for name, values in feeds.items())


def answer(question):
    models, failures = [], {}
    for number, path in enumerate(question["models"]):
        try:
            models.append(session(path, question["threads"]))
        except Exception as error:
            if number < 2:
                return {"failure": f"it does not load the model: {one_line(error)}"}
            models.append(None)
            failures[number] = f"it does not load: {one_line(error)}"
    try:
        choices = chosen_feeds(models[0], question["shapes"])
    except CannotRun as error:
        return {"failure": str(error)}
    for number, model in enumerate(models):
        try:
            for feeds in choices if model is not None else ():
                model.run(None, feeds)
        except Exception as error:
            models[number], failures[number] = None, f"it does not run: {one_line(error)}"
    rounds = []
    clock = time.thread_time if question["threads"] == 1 else time.perf_counter
    for feeds in choices:
        times = run_rounds(models, feeds, question["seconds"] / len(choices), question["least_rounds"], clock)
        if len(times[0]) < question["least_rounds"]:
            return {"failure": f"{len(times[0])} rounds took {PATIENCE * question['seconds']:g} s, which is too few"}
        rounds.append({"shapes": shapes_text(feeds), "milliseconds": times})
    return {"rounds": rounds, "failures": failures}


def safe_answer(question):
    try:
        return answer(question)
    except MemoryError:
        return {"failure": "out of memory"}


if __name__ == "__main__":
    serve(safe_answer)
