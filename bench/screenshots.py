#!/usr/bin/env python3
"""Writes docs/images: the gallery of the default rules, and the report of a model of data/models, timed in onnxruntime.

    bench/screenshots.py [RULEMILL [RULES]]

It needs a browser (scripts/install-debian.sh). RULEMILL is the binary, by default that of build/release; RULES a database
in place of the default rules.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "cli"))
from browser import Browser  # noqa: E402

IMAGES = ROOT / "docs" / "images"
MAX_BYTES = 150_000
CHOSEN = """for (const [name, value] of [["operator", "conv2d"], ["order", "use"]]) {
  const field = document.querySelector(`select[name=${name}]`);
  field.value = value;
  field.dispatchEvent(new Event("input"));
}
scrollTo(0, document.querySelector(".bar").offsetTop)"""


def main():
    binary = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "release" / "rulemill").resolve()
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        def run(*words):
            return subprocess.run([binary, *words], cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout

        rules = pathlib.Path(folder, "default.rmdb")
        shutil.copy(sys.argv[2] if len(sys.argv) > 2 else run("rules", "default").strip(), rules)
        gallery, report = pathlib.Path(folder, "gallery.html"), pathlib.Path(folder, "report.html")
        run("rules", "gallery", rules, "--out", gallery)
        run("optimize", "data/models/acnet_block.onnx", "--rules", rules, "--out", pathlib.Path(folder, "faster.onnx"),
            "--report", report)
        for page, script in ((gallery, CHOSEN), (report, "0")):
            browser.open(page, width=1000, height=860)
            browser.run(script)
            image = IMAGES / page.with_suffix(".png").name
            browser.screenshot(image)
            print(f"{image}: {image.stat().st_size} bytes")
            if image.stat().st_size > MAX_BYTES:
                raise SystemExit(f"{image}: larger than {MAX_BYTES} bytes")


if __name__ == "__main__":
    main()
