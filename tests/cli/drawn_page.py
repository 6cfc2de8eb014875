"""Draws an HTML page with node, as a browser would, and checks that it is well-formed."""

import html.parser
import pathlib
import shutil
import subprocess
import unittest

NODE = shutil.which("node")
SCRIPT = pathlib.Path(__file__).with_name("draw_page.js")


class Page(html.parser.HTMLParser):
    """Checks that every tag is closed; counts tags, collects text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.counts, self.text = [], {}, ""
        self.feed(page)
        if self.open:
            raise AssertionError(f"not closed: {self.open}")

    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        if self.open.pop() != tag:
            raise AssertionError(f"</{tag}> closes another element")

    def handle_data(self, data):
        self.text += data


def needs_node(test):
    return unittest.skipUnless(NODE, "SKIPPED: node is not on PATH")(test)


def draw(path, *search):
    """Returns the drawn page, and the milliseconds of the search."""
    Page(path.read_text(encoding="utf-8"))
    process = subprocess.run([NODE, SCRIPT, path, *search], capture_output=True, text=True, timeout=300, check=False)
    if process.returncode != 0:
        raise AssertionError(process.stderr)
    return Page(process.stdout), process.stderr.strip()
