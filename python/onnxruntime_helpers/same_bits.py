"""Compares two models of `rulemill optimize` bit by bit: the model before and after the clean-up.

Query: {"same_bits": true, "before", "after": paths, "inputs": count of random inputs, "shapes": {input: dims}, "given": [{input: NumPy
file}]}. Given inputs are compared first, then random ones."""

import numpy as np
from models import DYNAMIC_SIZES, CannotRun, feeds_of, given_feeds, one_line, plain_session


def difference(before, after):
    """Returns how two outputs differ, an empty text if they have the same bits."""
    if not isinstance(before, np.ndarray) or not isinstance(after, np.ndarray):
        raise CannotRun("an output is no tensor")
    if before.dtype != after.dtype or before.shape != after.shape:
        return f"{before.dtype}{list(before.shape)} became {after.dtype}{list(after.shape)}"
    if before.dtype == object:
        return "" if np.array_equal(before, after) else "texts changed"
    places = np.flatnonzero((np.ascontiguousarray(before).reshape(-1, 1).view(np.uint8) !=
                             np.ascontiguousarray(after).reshape(-1, 1).view(np.uint8)).any(axis=1)) if before.size else []
    if len(places) == 0:
        return ""
    return f"{len(places)} of {before.size} elements changed, element {places[0]} from {before.flat[places[0]]} to {after.flat[places[0]]}"


def plant_negative_zeros(feeds):
    for values in feeds.values():
        if values.dtype.kind == "f":
            values.reshape(-1)[::4] = -0.0


class Comparison:
    def __init__(self, query):
        try:
            self.before = plain_session(query["before"])
        except Exception as error:
            raise CannotRun(f"it does not load the model: {one_line(error)}")
        self.failure = ""
        try:
            self.after = plain_session(query["after"])
        except Exception as error:
            self.failure = f"it does not load the result: {one_line(error)}"

    def run(self, feeds, place):
        """Returns false if the model does not run on the inputs."""
        try:
            before = self.before.run(None, feeds)
        except Exception:
            return False
        try:
            after = self.after.run(None, feeds)
        except Exception as error:
            self.failure = f"it does not run the result on {place}: {one_line(error)}"
            return True
        for info, x, y in zip(self.before.get_outputs(), before, after):
            failure = difference(x, y)
            if failure and any(difference(x, y) for x, y in zip(before, self.before.run(None, feeds))):
                raise CannotRun("the model's outputs change from run to run")
            self.failure = self.failure or (failure and f"output {info.name}, {place}: {failure}")
        return True


def compare_bits(query):
    comparison, given, sizes = Comparison(query), given_feeds(query), list(DYNAMIC_SIZES)
    for number, feeds in enumerate(given):
        if not comparison.failure and not comparison.run(feeds, f"given input {number}"):
            raise CannotRun(f"it does not run the model on given input {number}")
    shapes = {name: list(values.shape) for name, values in given[0].items()} if given else query["shapes"]
    number = 0
    while number < query["inputs"] and not comparison.failure and sizes:
        feeds = feeds_of(comparison.before.get_inputs(), shapes, sizes[0], number)
        if number % 2 == 1:
            plant_negative_zeros(feeds)
        if comparison.run(feeds, f"random input {number}"):
            number += 1
        else:
            sizes.pop(0)
    if number == 0 and not given and not comparison.failure:
        raise CannotRun("it does not run the model")
    verdict = "different" if comparison.failure else "equal"
    return {"verdict": verdict, "reason": comparison.failure, "inputs": number, "given_inputs": len(given)}
