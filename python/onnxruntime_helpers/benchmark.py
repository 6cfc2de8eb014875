"""Times models in turns for `rulemill optimize`.

Query: {"models": paths, "threads", "seconds", "min_rounds", "shapes": {input: dims}}. Answer: {"rounds": [{"shapes": text,
"milliseconds": times by model and round}], "failures": {number of a model: why it does not run}}, or {"failure"}. Models 0 and 1 are
the original, the others are candidates. A model with dynamic dimensions is timed for two choices of shapes. With one thread, its
processor time is measured, which other processes affect less."""

import math
import statistics
import sys
import time

sys.dont_write_bytecode = True

from models import CannotRun, draw, one_line, serve, session, shape_of

# Sizes of dynamic dimensions: of first axes (mostly a batch) and of other axes. The first two that the model accepts are used.
# Each second choice has no more elements than the first, because large models would take minutes.
DYNAMIC_SIZES = [(1, 224), (2, 128), (1, 128), (2, 96), (1, 64), (2, 32), (1, 512), (2, 384), (1, 1), (2, 4)]
MIN_SECONDS = 2e-3  # of one measurement; faster models run several times
MAX_ROUNDS = 101
MAX_OVERRUN = 4  # times the requested seconds: processor time for the minimum rounds, wall-clock time for more
EQUAL_WITHIN = 0.02  # relative difference of times that count as equal
MIN_GAIN = 0.01  # min_noise in optimize/verify/benchmark.h
PROMISING_GAIN = MIN_GAIN / 2  # may be significant after more rounds
EXTENSION = 1  # times the requested seconds, for a promising candidate
MAX_P_VALUE = 0.01  # max_p_value in optimize/verify/benchmark.cc


def draw_feeds(model, given, batch, other):
    sizes = {}
    size_of = lambda key, axis: sizes.setdefault(key, batch if axis == 0 else other)
    shapes = {info.name: shape_of(info, given, size_of) for info in model.get_inputs()}
    return draw(model.get_inputs(), shapes, 0), bool(sizes)


def choose_feeds(model, given):
    """Returns inputs that the model accepts: for one choice of shapes, or two if it has dynamic dimensions."""
    chosen, failure = [], ""
    for batch, other in DYNAMIC_SIZES:
        try:
            feeds, is_dynamic = draw_feeds(model, given, batch, other)
            model.run(None, feeds)
        except CannotRun:
            raise
        except Exception as error:
            failure = one_line(error)
            continue
        chosen.append(feeds)
        if len(chosen) == 2 or not is_dynamic:
            return chosen
    if not chosen:
        raise CannotRun(f"it does not run the model: {failure}")
    return chosen


def seconds_of(model, feeds, repeats, clock=time.perf_counter):
    start = clock()
    for _ in range(repeats):
        model.run(None, feeds)
    return max((clock() - start) / repeats, 1e-9)


def speedups(times, number):
    """Returns the speedups of a candidate by round. The model's time is the geometric mean of its two runs."""
    return [math.sqrt(a * b) / c for a, b, c in zip(times[0], times[1], times[number])]


def is_significantly_above_one(quotients, min_gain):
    """Returns true if the median exceeds one by more than `min_gain` and a sign test is significant."""
    not_above = sum(quotient <= 1 for quotient in quotients)
    p_value = sum(math.comb(len(quotients), few) for few in range(not_above + 1)) / 2 ** len(quotients)
    return statistics.median(quotients) > 1 + min_gain and p_value <= MAX_P_VALUE


def is_significantly_behind(one, best):
    return is_significantly_above_one([b / a for a, b in zip(one, best)], EQUAL_WITHIN)


def undecided_candidates(times, running):
    """Returns the candidates that may be selected; none if more rounds would not change the selection: all of these are faster than
    the model, and the first, which is the cheapest, is not behind."""
    by_round = {number: speedups(times, number) for number in running if number > 1}
    if not by_round:
        return []
    median = {number: statistics.median(each) for number, each in by_round.items()}
    best = max(median, key=median.get)
    left = [number for number in median if not is_significantly_behind(by_round[number], by_round[best]) and median[number] > 1 - EQUAL_WITHIN]
    all_faster = all(min(by_round[number]) > 1 + EQUAL_WITHIN for number in left)
    return [] if all_faster and (not left or median[left[0]] >= median[best] * (1 - EQUAL_WITHIN / 2)) else left


def promising_candidate(times, running):
    """Returns the best candidate if it seems faster than the model and no candidate is significantly faster yet."""
    by_round = {number: speedups(times, number) for number in running if number > 1}
    if not by_round or any(is_significantly_above_one(each, MIN_GAIN) for each in by_round.values()):
        return None
    best = max(by_round, key=lambda number: statistics.median(by_round[number]))
    return best if statistics.median(by_round[best]) > 1 + PROMISING_GAIN else None


def run_rounds(models, feeds, seconds, min_rounds, clock):
    """Returns milliseconds by model and round. Each round starts with the next model, so that none runs twice in a row. Candidates
    that fall behind get fewer rounds. If no candidate is significantly faster after `seconds` but one may be, it gets the same time
    again; testing it twice at most doubles the probability of an error."""
    runners = {number: model for number, model in enumerate(models) if model is not None}
    once = [min(seconds_of(model, feeds, 1, clock) for _ in range(2)) for model in runners.values()]
    repeats = max(1, round(MIN_SECONDS / max(min(once), 1e-6)))
    times = [[] for _ in models]
    wall_start, start, limit = time.perf_counter(), clock(), seconds
    for turn in range(MAX_ROUNDS):
        # On a busy machine rounds take more wall-clock time, so the processor time counts until the caller would stop waiting.
        used = clock() - start
        if turn < min_rounds and used >= MAX_OVERRUN * seconds:
            break
        if turn >= min_rounds and time.perf_counter() - wall_start >= MAX_OVERRUN * seconds:
            break
        if turn >= min_rounds and used >= limit:
            best = promising_candidate(times, runners) if limit == seconds else None
            if best is None:
                break
            limit += EXTENSION * seconds
            runners = {number: model for number, model in runners.items() if number in (0, 1, best)}
        if turn >= min_rounds and len(runners) > 2:
            left = undecided_candidates(times, runners)
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


def answer(query):
    models, failures = [], {}
    for number, path in enumerate(query["models"]):
        try:
            models.append(session(path, query["threads"]))
        except Exception as error:
            if number < 2:
                return {"failure": f"it does not load the model: {one_line(error)}"}
            models.append(None)
            failures[number] = f"it does not load: {one_line(error)}"
    try:
        choices = choose_feeds(models[0], query["shapes"])
    except CannotRun as error:
        return {"failure": str(error)}
    for number, model in enumerate(models):
        try:
            for feeds in choices if model is not None else ():
                model.run(None, feeds)
        except Exception as error:
            models[number], failures[number] = None, f"it does not run: {one_line(error)}"
    rounds = []
    clock = time.thread_time if query["threads"] == 1 else time.perf_counter
    for feeds in choices:
        times = run_rounds(models, feeds, query["seconds"] / len(choices), query["min_rounds"], clock)
        if len(times[0]) < query["min_rounds"]:
            return {"failure": f"{len(times[0])} rounds took {MAX_OVERRUN * query['seconds']:g} s, which is too few"}
        rounds.append({"shapes": shapes_text(feeds), "milliseconds": times})
    return {"rounds": rounds, "failures": failures}


def safe_answer(query):
    try:
        return answer(query)
    except MemoryError:
        return {"failure": "out of memory"}


if __name__ == "__main__":
    serve(safe_answer)
