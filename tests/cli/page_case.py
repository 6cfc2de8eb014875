"""What every page of rulemill must satisfy: in its text, and in a browser."""

import json
import re

from binary import ROOT, Case
from browser import Browser

# Runs until the page has filtered, then gives the text of its count.
SETTLED = "new Promise(done => { const wait = () => document.querySelector('[aria-busy]') ? setTimeout(wait, 10) : done(); wait(); })"
# The edges that touch a box which is neither their begin nor their end, as [drawing, edge].
CROSSINGS = """[...document.querySelectorAll("svg:not(.chart)")].flatMap((svg, drawing) => {
  const boxes = [...svg.querySelectorAll("rect")].map(box => ["x", "y", "width", "height"].map(name => +box.getAttribute(name)));
  return [...svg.querySelectorAll("path.edge")].flatMap((path, edge) => {
    const length = path.getTotalLength(), points = Array.from({length: 61}, (_, i) => path.getPointAtLength(length * i / 60));
    const inside = ({x, y}) => boxes.some(([left, top, width, height]) =>
      left + .5 < x && x < left + width - .5 && top + .5 < y && y < top + height - .5);
    return points.some(inside) ? [[drawing, edge]] : [];
  });
})"""
BRIGHTNESS = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0) / 3"
# Drawings that are not shown in full height.
CUT_OFF = """[...document.querySelectorAll(".side")].filter(side => {
  const drawing = side.querySelector("svg").getBoundingClientRect();
  return drawing.height < 20 || side.clientHeight + 1 < drawing.height;
}).length"""
# Numbers with their units, and names in lists, that stand on two lines.
BROKEN = """[...document.querySelectorAll(".outline > li > *, table:not(.text) td")].filter(node => {
  const range = document.createRange();
  range.selectNodeContents(node);
  return new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1;
}).map(node => node.textContent)"""
# Drawings that are wider than their place although they could be drawn smaller.
TOO_WIDE = """[...document.querySelectorAll(".side svg")].filter(svg => svg.getBoundingClientRect().width >
  Math.max(svg.parentElement.clientWidth, .65 * svg.getAttribute("width")) + 1).length"""
FOLDED = "document.querySelectorAll('details:not([open])').length"


def data_of(path):
    """Returns what the program wrote into a page."""
    return json.loads(re.search(r"^const data = (.*);$", path.read_text(encoding="utf-8"), re.M).group(1))


class PageCase(Case):
    def assert_self_contained(self, path):
        """The page names no other file or address, and has the style and functions that all pages share."""
        text = path.read_text(encoding="utf-8")
        self.assertNotRegex(text, r'(src|href)="(?!#)')
        self.assertNotRegex(text, r"@import|url\(|fetch\(|import\(|XMLHttpRequest")
        self.assertEqual(set(re.findall(r"https?://[^\s\"']*", text)), {"http://www.w3.org/2000/svg"})
        for shared in ("style.css", "layout.js", "page.js"):
            self.assertIn((ROOT / "pages" / shared).read_text(encoding="utf-8"), text)
        self.assertEqual(text.count("<style>"), 1)

    def assert_looks_right(self, path):
        """On a wide, a narrow and a dark screen and on paper: no errors, no requests, all within the window."""
        with Browser() as browser:
            for settings in ({}, {"width": 360}, {"dark": True}):
                with self.subTest(**settings):
                    browser.open(path, **settings)
                    self.assertEqual(browser.errors, [])
                    self.assertEqual(browser.requests, [f"file://{path}"])
                    self.assertLessEqual(browser.run("document.documentElement.scrollWidth"), settings.get("width", 1200))
                    self.assertEqual((browser.run(CUT_OFF), browser.run(TOO_WIDE), browser.run(BROKEN)), (0, 0, []))
                    self.assertEqual(browser.run(BRIGHTNESS) < 60, "dark" in settings)
            self.assertEqual(browser.run(CROSSINGS), [])
            browser.open(path, dark=True, media="print")
            self.assertGreater(browser.run(BRIGHTNESS), 250)
            self.assertEqual(browser.run("[...document.querySelectorAll('.bar, summary')].filter(x => x.offsetHeight).length"), 0)
            browser.run(f"addEventListener('beforeprint', () => {{ window.foldedInPrint = {FOLDED}; }})")
            folded = browser.run(FOLDED)
            self.assertTrue(browser.pdf().startswith(b"%PDF"))
            self.assertEqual(browser.run("window.foldedInPrint"), 0)
            self.assertGreaterEqual(browser.run(FOLDED), folded)
