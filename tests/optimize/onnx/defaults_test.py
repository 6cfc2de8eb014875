#!/usr/bin/env python3
"""The default of an attribute that a mapping states is that of ONNX's schemas, in each opset of the mapping, and of onnxruntime's for its
own operators. So are the defaults that the code has for versions of ONNX after those of the library."""

import re
import sys
import unittest

from binary import ROOT

try:
    import numpy as np
    import onnx
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema
except ImportError:
    print("SKIPPED: onnx and onnxruntime are not installed (scripts/install-debian.sh)")
    sys.exit(77)

MAPPING = re.compile(r"\s+onnx (\w+)([^{]*)\{(.*)\}")
DEFAULT = re.compile(r"(\w+)(?: = [^,]*?)? default ([^,]+)$")


def stated_defaults():
    """Yields operator, domain, first opset, opset that is no longer included, attribute and value of each default."""
    for path in sorted((ROOT / "data" / "operators").glob("*.op")):
        for mapping in filter(None, map(MAPPING.match, path.read_text(encoding="utf-8").splitlines())):
            name, head, attributes = mapping.groups()
            domain = re.search(r'domain = "([^"]*)"', attributes)
            since, until = (re.search(rf"\b{word} (\d+)", head) for word in ("since", "until"))
            for default in filter(None, map(DEFAULT.match, re.split(r", (?![^\[(]*[\])])", attributes))):
                value = default[2].strip('"') if default[2].startswith('"') else float(default[2])
                yield (name, domain[1] if domain else "", int(since[1]) if since else 1, int(until[1]) if until else 10**6, default[1], value)


LIBRARY_OPSET = 17  # of the oldest ONNX library that rulemill is built with
SCHEMAS = {}
for each in [*get_all_operator_schema(), *onnx.defs.get_all_schemas_with_history()]:
    SCHEMAS.setdefault((each.domain, each.name), []).append(each)


def schema_defaults(operator, domain, attribute):
    """Returns the opset of each version of the operator that has the attribute, and its default."""
    found = {}
    for schema in SCHEMAS.get((domain, operator), []):
        if attribute not in schema.attributes:
            continue
        default = schema.attributes[attribute].default_value if isinstance(schema, onnx.defs.OpSchema) else None
        if default is None:
            default = onnx.AttributeProto.FromString(schema.attributes[attribute]._default_value)
        if default.type:
            value = onnx.helper.get_attribute_value(default)
            found[schema.since_version] = value.decode() if isinstance(value, bytes) else value
    return found


def later_defaults():
    """Returns by attribute the default in versions of ONNX that the oldest library does not know."""
    source = (ROOT / "optimize" / "onnx" / "identity" / "model_identity.cc").read_text(encoding="utf-8")
    tables = "".join(re.findall(r"later_default\w+\[\] = \{(.*?)\};", source, re.DOTALL))
    return {name: text.strip('"') if '"' in text else float(text) for name, text in re.findall(r'\{"(\w+)", ([^}]+)\}', tables)}


def unchanged_operators():
    """Returns the operators of which the code has it that opsets 11 to 20 differ in nothing that an older node can have."""
    source = (ROOT / "optimize" / "onnx" / "raised_opset.cc").read_text(encoding="utf-8")
    return "".join(re.findall(r'"(.*?)"', re.search(r"\bunchanged_operators =(.*?);", source, re.DOTALL)[1])).split()


class Defaults(unittest.TestCase):
    def test_operators_that_are_the_same_in_many_opsets_get_only_optional_inputs_and_attributes_with_defaults(self):
        self.assertGreater(len(unchanged_operators()), 100)
        for operator in unchanged_operators():
            known = [each for each in onnx.defs.get_all_schemas_with_history()
                     if (each.domain, each.name) == ("", operator) and each.since_version <= 20]
            oldest = max(known, key=lambda each: each.since_version if each.since_version <= 11 else -each.since_version)
            for newer in (each for each in known if each.since_version > oldest.since_version):
                for name in {*oldest.attributes, *newer.attributes}:
                    before, after = oldest.attributes.get(name), newer.attributes.get(name)
                    kept = before and after and (before.default_value, before.required) == (after.default_value, after.required)
                    added = after and not before and not after.required
                    self.assertTrue(kept or added, f"{operator} {newer.since_version}: {name}")
                self.assertEqual([each.name for each in oldest.inputs], [each.name for each in newer.inputs[:len(oldest.inputs)]])
                self.assertTrue(all(each.option == each.option.Optional for each in newer.inputs[len(oldest.inputs):]), operator)

    def test_later_versions_of_all_operators_have_the_defaults_of_the_code(self):
        stated, seen = later_defaults(), set()
        for domain, operator in SCHEMAS:
            for attribute in stated if domain == "" else ():
                for version, expected in schema_defaults(operator, domain, attribute).items():
                    if version > LIBRARY_OPSET:
                        seen.add(attribute)
                        same = expected == stated[attribute] if isinstance(expected, str) else np.float32(expected) == np.float32(stated[attribute])
                        self.assertTrue(same, f"{operator} {version}: {attribute} is {expected} by default, stated as {stated[attribute]}")
        self.assertEqual(seen, set(stated))

    def test_defaults_are_those_of_the_schemas(self):
        compared = 0
        for operator, domain, since, until, attribute, value in sorted(set(stated_defaults()), key=str):
            versions = schema_defaults(operator, domain, attribute)
            for version, expected in versions.items():
                following = min((other for other in versions if other > version), default=10**6)
                if version >= until or following <= since:
                    continue
                compared += 1
                same = expected == value if isinstance(value, str) else np.float32(expected) == np.float32(value)
                self.assertTrue(same, f"{domain}.{operator} {version}: {attribute} is {expected} by default, stated as {value}")
        self.assertGreaterEqual(compared, 200)


if __name__ == "__main__":
    unittest.main()
