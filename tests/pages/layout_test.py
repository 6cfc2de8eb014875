#!/usr/bin/env python3
"""The layout of drawings (pages/layout.js) in a browser, on drawn random graphs."""

import json
import pathlib
import random
import tempfile
import unittest

from binary import ROOT
from browser import Browser, needs_browser
from page_case import CROSSINGS

GRAPHS, DRAWN, SEED = 600, 60, 1000
GAP = 13.5  # widths may be odd
INPUT, OPERATOR, OUTPUT, NEIGHBOR = range(4)
# The layout of a drawing as lists of numbers: its size; x, y, width and height of each node; the bends of each edge.
LAYOUT = """(drawing => {
  const {width, height, nodes, edges} = layout(drawing, 64);
  return [[width, height], nodes.map(node => [node.x, node.y, node.width, node.height]), edges.map(edge => edge.bends.map(bend => [bend.x, bend.y]))];
})"""


def node(kind, label, detail=""):
    return [kind, label, detail, "", ""]


def random_graph(random):
    """Inputs, operators that each have one to three earlier nodes as arguments, and outputs; nodes without users stay."""
    nodes = [node(INPUT, f"x{i}", "[" + "m" * random.randrange(12) + "]") for i in range(random.randrange(1, 6))]
    edges = []
    for i in range(random.randrange(1, 14)):
        recent = random.choice((3, len(nodes)))  # chains, and edges over many rows
        arguments = [random.randrange(max(0, len(nodes) - recent), len(nodes)) for _ in range(random.randrange(1, 4))]
        nodes.append(node(random.choice((OPERATOR, NEIGHBOR)), "o" * random.randrange(1, 16), random.choice(("", "axis=1, at=m + n"))))
        edges += [[argument, len(nodes) - 1, random.choice(("", "", "a", "b", "c"))] for argument in arguments]
    for i in range(random.randrange(4)):
        nodes.append(node(OUTPUT, f"out {i + 1}"))
        edges.append([random.randrange(len(nodes) - 1 - i), len(nodes) - 1, ""])
    return {"n": nodes, "e": edges}


class Layout(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="rulemill-test-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.page = pathlib.Path(cls.folder.name) / "page.html"
        scripts = "".join((ROOT / "pages" / name).read_text(encoding="utf-8") for name in ("layout.js", "page.js"))
        cls.page.write_text(f'<!doctype html><meta charset="utf-8"><main id="main"></main><script>"use strict";{scripts}</script>', encoding="utf-8")

    def setUp(self):
        self.browser = self.enterContext(Browser())
        self.browser.open(self.page)
        self.assertEqual(self.browser.errors, [])

    def layout(self, nodes, edges):
        return self.browser.run(f"{LAYOUT}({json.dumps({'n': nodes, 'e': edges})})")

    @needs_browser
    def test_random_graphs_have_no_overlaps_and_no_edges_behind_boxes(self):
        seeded = random.Random(SEED)
        graphs = [random_graph(seeded) for _ in range(GRAPHS)]
        layouts = self.browser.run(f"{json.dumps(graphs)}.map({LAYOUT})")
        self.assertEqual(self.browser.run(f"{json.dumps(graphs)}.map({LAYOUT})"), layouts)
        for number, (graph, ((width, height), places, bends)) in enumerate(zip(graphs, layouts)):
            with self.subTest(graph=number):
                last = max(y for _, y, _, _ in places)
                for (kind, *_), (x, y, w, h) in zip(graph["n"], places):
                    self.assertTrue(w / 2 <= x <= width - w / 2 and h / 2 <= y <= height - h / 2)
                    self.assertTrue(kind != OUTPUT or y == last)
                for a, (x, y, w, _) in enumerate(places):
                    for other_x, other_y, other_w, _ in places[:a]:
                        self.assertTrue(y != other_y or abs(x - other_x) >= (w + other_w) / 2 + GAP)
                    self.assertTrue(all(y != bend_y or abs(x - bend_x) >= w / 2 + GAP for own in bends for bend_x, bend_y in own))
                for (above, below, _), own in zip(graph["e"], bends):
                    rows = [places[above][1], *(y for _, y in own), places[below][1]]
                    self.assertEqual(rows, list(range(rows[0], rows[-1] + 1, 64)))
                    self.assertGreater(len(rows), 1)
        self.browser.run(f"{json.dumps(graphs[:DRAWN])}.forEach(drawing => show(graph(drawing, '')))")
        self.assertEqual(self.browser.run(CROSSINGS), [])

    @needs_browser
    def test_arguments_stay_in_order_and_inputs_are_just_above_their_first_user(self):
        # Two inputs, a product of both, two users of it, and an output.
        nodes = [*(node(INPUT, name) for name in "ba"), *(node(OPERATOR, "op") for _ in range(3)), node(OUTPUT, "out")]
        _, places, _ = self.layout(nodes, [[0, 2, ""], [1, 2, ""], [2, 3, ""], [2, 4, ""], [3, 5, ""]])
        self.assertEqual([(y - 25) // 64 for _, y, _, _ in places], [0, 0, 1, 2, 2, 3])
        self.assertLess(places[0][0], places[1][0])
        # An input is above the middle of its users.
        _, ((x, *_), (left, *_), (right, *_)), _ = self.layout([node(INPUT, "x"), node(OPERATOR, "op" * 10), node(OPERATOR, "op")], [[0, 1, ""], [0, 2, ""]])
        self.assertAlmostEqual(x, (left + right) / 2, delta=1)
        # A chain of three, and an input of its last node.
        _, places, _ = self.layout([node(OPERATOR, "op")] * 5, [[0, 1, ""], [1, 2, ""], [2, 3, ""], [4, 3, ""]])
        self.assertEqual([(y - 25) // 64 for _, y, _, _ in places], [0, 1, 2, 3, 2])

    @needs_browser
    def test_rows_are_ordered_so_that_edges_do_not_cross(self):
        order = [3, 0, 5, 1, 4, 2]  # the users of six inputs
        nodes = [*(node(INPUT, f"x{i}") for i in range(6)), *(node(OPERATOR, "op") for _ in order)]
        _, places, _ = self.layout(nodes, [[argument, 6 + i, ""] for i, argument in enumerate(order)])
        self.assertTrue(all(places[6 + i][0] == places[argument][0] for i, argument in enumerate(order)))

    @needs_browser
    def test_an_edge_over_several_rows_passes_beside_their_nodes(self):
        # A chain of four, and an edge from its first to its last node, as the first argument: on the left.
        _, places, bends = self.layout([node(OPERATOR, "op")] * 4, [[0, 1, ""], [1, 2, ""], [0, 3, ""], [2, 3, ""]])
        self.assertEqual([len(each) for each in bends], [0, 0, 2, 0])
        for (x, y), (node_x, node_y, width, _) in zip(bends[2], places[1:3]):
            self.assertEqual(y, node_y)
            self.assertGreaterEqual(abs(x - node_x), width / 2 + GAP)
        self.assertLess(bends[2][1][0], places[2][0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
