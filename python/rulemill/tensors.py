"""NumPy arrays as files that the program reads."""

from __future__ import annotations

import pathlib
import zipfile
from typing import TYPE_CHECKING, Any, Dict, Mapping

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]


def to_json(array: Any) -> Dict[str, Any]:
    """The shape and the values, as real numbers. NaN becomes None: undefined."""
    import numpy
    values = numpy.asarray(array, dtype=numpy.float64)
    return {"shape": list(values.shape), "values": [None if value != value else value for value in values.ravel().tolist()]}


def from_json(json: Mapping[str, Any]) -> "Array":
    import numpy
    values = [numpy.nan if value is None else value for value in json["values"]]
    array: Array = numpy.array(values, dtype=numpy.float64).reshape(json["shape"])
    return array


def write_npz(path: pathlib.Path, arrays: Mapping[str, Any]) -> None:
    """Writes arrays of any names. (numpy.savez takes the names as its own arguments, so that none can be called "file".)"""
    import numpy
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(name + ".npy", "w") as file:
                numpy.lib.format.write_array(file, numpy.asarray(array), allow_pickle=False)
