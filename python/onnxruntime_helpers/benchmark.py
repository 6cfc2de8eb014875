"""Measures models for `rulemill optimize`: runs them in turns and answers with their times.

The first query opens the model: {"model": path, "runtime": a name in runtimes.py, "threads", "shapes": {input: dims}, "given": [{input:
NumPy file}]}; answer {"inputs": a text for each choice of inputs, "load_seconds", "run_seconds", and "runtime": name and version of
another runtime than onnxruntime}. A query for each candidate loads it: {"candidate": path}; answer
{"reason": why it does not run, or ""}. Then any number of rounds: {"round": numbers of models in the order of running, "turns",
"fresh": whether to load them again}; answer {"milliseconds": medians of the turns by position and choice of inputs, "seconds": used}.
Models are numbered in the order of their queries. An answer {"failure"} ends the timing. A model is timed on all given inputs, or on
random ones: for two choices of shapes if it has dynamic dimensions. clock_of() in runtimes.py chooses the clock."""

import statistics
import sys
import time

sys.dont_write_bytecode = True

from models import LARGE_BYTES, CannotRun, bytes_on_disk, draw, given_feeds, one_line, serve, shapes_of
from runtimes import add_name, clock_of, runtime_of

# Sizes of dynamic dimensions: of first axes (mostly a batch) and of other axes. The first two that the model accepts are used.
# Each second choice has no more elements than the first, because large models would take minutes.
DYNAMIC_SIZES = [(1, 224), (2, 128), (1, 128), (2, 96), (1, 64), (2, 32), (1, 512), (2, 384), (1, 1), (2, 4)]
MANY_INPUTS = 4  # of one shape
MIN_SECONDS = 2e-3  # of one measurement; faster models run several times


def draw_feeds(model, given, batch, other):
    sizes = {}
    size_of = lambda key, axis: sizes.setdefault(key, batch if axis == 0 else other)
    return draw(model.get_inputs(), shapes_of(model.get_inputs(), given, size_of), 0), bool(sizes)


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


def shapes_text(feeds):
    """Lists the inputs of one shape as one if they are many, such as the keys and values of a decoder's layers."""
    names = {}
    for name, values in feeds.items():
        names.setdefault("x".join(map(str, values.shape)) or "scalar", []).append(name)
    listed = {name: f"{name} {shape}" for shape, same in names.items() if len(same) < MANY_INPUTS for name in same}
    listed |= {same[0]: f"{same[0]} and {len(same) - 1} others {shape}" for shape, same in names.items() if len(same) >= MANY_INPUTS}
    return ", ".join(listed[name] for name in feeds if name in listed)


class Benchmark:
    """A model and its candidates, with one session each until the first round of fresh sessions."""

    def __init__(self, query, load=None):
        # Sessions of large models are loaded where they are needed.
        self.keeps_sessions = load is not None or bytes_on_disk(query["model"]) <= LARGE_BYTES
        load = load or runtime_of(query)
        self.load, self.paths, self.threads = load, [query["model"]], query["threads"]
        self.clock = clock_of(query)
        start = self.clock()
        model = load(query["model"], self.threads)
        self.load_seconds = self.clock() - start
        self.choices = given_feeds(query) or choose_feeds(model, query["shapes"])
        self.load_seconds += self.run_all(model)
        self.repeats = [self.repeats_of(model, feeds) for feeds in self.choices]
        self.run_seconds = sum(self.measure(model, choice) * self.repeats[choice] for choice in range(len(self.choices)))
        self.sessions = [model]

    def opening(self):
        return {"inputs": [shapes_text(feeds) for feeds in self.choices], "load_seconds": self.load_seconds, "run_seconds": self.run_seconds}

    def run_all(self, model):
        start = self.clock()
        for feeds in self.choices:
            model.run(None, feeds)
        return self.clock() - start

    def repeats_of(self, model, feeds):
        return max(1, round(MIN_SECONDS / seconds_of(model, feeds, 1, self.clock)))

    def measure(self, model, choice):
        return seconds_of(model, self.choices[choice], self.repeats[choice], self.clock)

    def add_candidate(self, path):
        """Returns why it does not run."""
        self.paths.append(path)
        self.sessions.append(None)
        try:
            model = self.load(path, self.threads)
        except Exception as error:
            return f"it does not load: {one_line(error)}"
        try:
            self.run_all(model)
        except Exception as error:
            return f"it does not run: {one_line(error)}"
        if self.keeps_sessions:
            self.sessions[-1] = model
        return ""

    def fresh_sessions(self, order):
        self.sessions = []  # to save memory
        models = [self.load(self.paths[number], self.threads) for number in order]
        for model in models:
            self.run_all(model)
        return models

    def time_round(self, order, turns, fresh):
        start = self.clock()
        models = self.fresh_sessions(order) if fresh else [self.sessions[number] or self.load(self.paths[number], self.threads) for number in order]
        times = [[[] for _ in self.choices] for _ in order]
        for choice in range(len(self.choices)):
            for _ in range(turns):
                for position, model in enumerate(models):
                    times[position][choice].append(self.measure(model, choice) * 1e3)
        return {"milliseconds": [[statistics.median(each) for each in row] for row in times], "seconds": self.clock() - start}


class Server:
    def __init__(self):
        self.benchmark = None

    def answer(self, query):
        if "model" in query:
            try:
                self.benchmark = Benchmark(query)
            except CannotRun:
                raise
            except Exception as error:
                raise CannotRun(f"it does not load the model: {one_line(error)}")
            return add_name(self.benchmark.opening(), query)
        if "candidate" in query:
            return {"reason": self.benchmark.add_candidate(query["candidate"])}
        return self.benchmark.time_round(query["round"], query["turns"], query["fresh"])

    def safe_answer(self, query):
        try:
            return self.answer(query)
        except CannotRun as error:
            return {"failure": str(error)}
        except MemoryError:
            return {"failure": "out of memory"}
        except Exception as error:
            return {"failure": f"it does not run a model: {one_line(error)}"}


if __name__ == "__main__":
    serve(Server().safe_answer)
