"""Whether the patterns in TableGen files of MLIR projects are true.

    python -m rulemill.tablegen FILE.td… [--tool llvm-tblgen] [-I DIR] [--only TEXT] [--egg FILE] [--json FILE]

Each Pattern of the files is written as a rule in the form of egg by the operators of data/compilers/tablegen.toml, and decided as `rulemill
rules import` does, for all sizes and ranks up to 4. Of the projects' own headers nothing is read, as releases of llvm-tblgen do not fit them:
FILE… are read one after the other without their includes (helpers first), and names that they lack are declared. A pattern is `not
expressible` if it has an operator, an attribute or native code that the table lacks; `conditional` if it is false as it was written here, but
has constraints that are not; its worst rule counts. The exit code is 1 if a pattern is refuted."""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from struct import pack, unpack
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from . import program
from .errors import Error
from .exchange.errors import NotExpressible, Problem
from .exchange.toml_tables import read_table

STATUSES = ("refuted", "unknown", "conditional", "narrowed", "proved", "not expressible")
_DATA = pathlib.Path(__file__).resolve().parent.parent.parent / "data" / "compilers"
_HEADERS = "/usr/lib/llvm-16/include"
#: What patterns are made of, as mlir/IR/PatternBase.td of any release takes it: newer ones have supplemental patterns.
_PRELUDE = """#define PATTERNBASE_TD
include "mlir/IR/OpBase.td"
def Missing_Dialect : Dialect { let name = "missing"; let cppNamespace = "missing"; }
def addBenefit; def replaceWithValue; def location; def returnType; def either; def variadic;
class Pattern<dag source, list<dag> results, list<dag> preds = [], list<dag> more = [], dag benefit = (addBenefit 0)> {
  dag sourcePattern = source; list<dag> resultPatterns = results; list<dag> constraints = preds; dag added = benefit;
}
class Pat<dag source, dag result, list<dag> preds = [], list<dag> more = [], dag benefit = (addBenefit 0)>
    : Pattern<source, [result], preds, more, benefit>;
class NativeCodeCall<string expr, int returns = 1> { string expression = expr; int numReturns = returns; }
class NativeCodeCallVoid<string expr> : NativeCodeCall<expr, 0>;
def ConstantLikeMatcher : NativeCodeCall<"constant">;
"""
_KINDS = {"Op": 'Op<Missing_Dialect, "{0}">', "Attr": 'Attr<CPred<"true">>', "Type": 'Type<CPred<"true">>', "Constraint": 'Constraint<CPred<"true">>',
          "Pred": 'CPred<"true">', "ConstantStrAttr": 'ConstantStrAttr<StrAttr, "{0}">', "ConstantAttr": 'ConstantAttr<StrAttr, "{0}">'}
_IS_OPERATOR = re.compile(r"Op(V\d+)?$")
_MAX_MISSING = 2000


@dataclass
class Pattern:
    """A pattern of the files. `rules` are its forms in egg; `conditions`: constraints that these do not state."""

    name: str
    rules: List[str]
    conditions: List[str]
    status: str = "not expressible"
    reason: str = ""


def records(files: Sequence[pathlib.Path], tool: str, includes: Sequence[str] = ()) -> Dict[str, Any]:
    """All records of the files, as `llvm-tblgen --dump-json` writes them. Raises Error if the tool does not read them."""
    try:
        text = "\n".join(re.sub(r'^\s*include\s+"[^"]*"', "", path.read_text(encoding="utf-8"), flags=re.M) for path in files)
    except OSError as error:
        raise Error(f"{error.filename}: {error.strerror}") from None
    missing: Dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="rulemill-") as folder:
        file = pathlib.Path(folder) / "patterns.td"
        while True:
            file.write_text("\n".join([_PRELUDE, *missing.values(), text]), encoding="utf-8")
            command = [tool, "--dump-json", *(word for each in (*includes, _HEADERS) for word in ("-I", each)), str(file)]
            try:
                process = subprocess.run(command, capture_output=True, text=True, check=False)
            except OSError as error:
                raise Error(f"{tool}: {error.strerror}; expected llvm-tblgen (Debian: llvm-16, libmlir-16-dev)") from None
            if process.returncode == 0:
                return dict(json.loads(process.stdout))
            declared = _declared(process.stderr, text)
            if declared is None or missing.get(declared[0]) == declared[1] or len(missing) > _MAX_MISSING:
                first = next((line for line in process.stderr.splitlines() if ": error: " in line), process.stderr)
                raise Error(f"{files[-1]}: {tool} does not read it: {first.partition(': error: ')[2]}")
            missing[declared[0]] = declared[1]


def _declared(message: str, text: str) -> Optional[Tuple[str, str]]:
    """A name that llvm-tblgen misses, or has with another class, and its declaration."""
    found = re.search(r"Variable not defined: '(\w+)'", message)
    if found:
        name = found[1]
        kind = "Op" if _IS_OPERATOR.search(name) else "ConstantStrAttr" if "_AF_" in name else "Attr" if re.search("Attr|Value", name) else "Type"
        return name, f"def {name} : {_KINDS[kind].format(name)};"
    found = re.search(r"is of type \w+; expected type (\w+): (\w+)", message)
    if found and found[1] in _KINDS:
        return found[2], f"def {found[2]} : {_KINDS[found[1]].format(found[2])};"
    found = re.search(r"(?:Couldn't find class|Expected a class name, got) '(\w+)'", message)
    if found:
        used = re.search(rf"\b{found[1]}<([^<>]*)>", text)
        given = [each.strip() for each in used[1].split(",")] if used else []
        kinds = ["int" if each.isdigit() else "list<Type>" if each.startswith("[") else "string" for each in given]
        parameters = ", ".join(f"{kind} a{number}" for number, kind in enumerate(kinds))
        return found[1], f"class {found[1]}{f'<{parameters}>' if parameters else ''} : {_KINDS['Attr']};"
    return None


class _Writer:
    """Writes one pattern in the form of egg, with one of the activations for those that may be any."""

    def __init__(self, found: Mapping[str, Any], table: Mapping[str, Any], activation: str) -> None:
        self._records, self._table, self._activation = found, table, activation
        self._names: Dict[str, str] = {}  # of what the source binds, as terms
        self._numbers: Dict[str, str] = {}  # of constants, by the constraints
        self._constraints: List[Tuple[str, str]] = []  # that are not stated: names and arguments
        self._activations: Set[str] = set()  # arguments that are any activation

    def rule(self, name: str, record: Mapping[str, Any]) -> str:
        for each in record["constraints"]:
            self._constrain(each)
        if len(record["resultPatterns"]) != 1:
            raise NotExpressible("several results")
        source = self._term(record["sourcePattern"], "", False, True)
        return f"(rewrite {source} {self._term(record['resultPatterns'][0], '', False, False)} :name \"{name}\")"

    def _constrain(self, dag: Mapping[str, Any]) -> None:
        name = dag["operator"].get("def", "")
        record = self._records.get(name, {})
        text = self._records.get(record.get("predicate", {}).get("def", ""), {}).get("predExpr", "")
        arguments = [label for _, label in dag["args"]]
        found = next((match for match in (re.search(each, text) for each in self._table["constants"]["texts"]) if match), None)
        if found and len(arguments) == 1 and arguments[0]:
            self._numbers[arguments[0]] = found[1]
        elif not {name, *record.get("!superclasses", [])} & set(self._table["conditions"]["without_effect"]):
            self._constraints.append((name if "anonymous" not in name else text, " ".join(map(str, arguments))))

    @property
    def has_activation(self) -> bool:
        return bool(self._activations)

    @property
    def conditions(self) -> List[str]:
        """The constraints that the rule does not state and that may restrict it."""
        always = self._table["conditions"]["always_of_activations"]
        return [f"{name} {given}" for name, given in self._constraints if not (name in always and given in self._activations)]

    def _term(self, value: Any, label: Optional[str], truth: bool, is_source: bool) -> str:
        """An argument: a term, a variable that the source binds, or a number."""
        if isinstance(value, dict) and value.get("kind") == "dag":
            text = self._call(value, truth, is_source)
            for name in (value.get("name"), label):
                if name:
                    self._names[name] = text
            return text
        if isinstance(value, dict) and value.get("kind") == "def" and label and is_source:
            self._check_type(value["def"], label)
        elif value is not None and not (isinstance(value, dict) and value.get("kind") == "var"):
            raise NotExpressible(f"argument {value.get('printable', value) if isinstance(value, dict) else value}")
        if not label:
            raise NotExpressible("an argument without a name")
        if not is_source and label not in self._names:
            raise NotExpressible(f"${label}, which the source does not bind")
        return self._names.setdefault(label, f"?{label}")

    def _check_type(self, name: str, label: str) -> None:
        known = {name, *self._records.get(name, {}).get("!superclasses", [])}
        if not known & set(self._table["conditions"]["without_effect"]):
            self._constraints.append((name, label))

    def _call(self, dag: Mapping[str, Any], truth: bool, is_source: bool) -> str:
        name = dag["operator"].get("def", dag["operator"]["printable"])
        arguments = [each for each in dag["args"] if not self._is_directive(each[0])]
        if name == "replaceWithValue":
            return self._term(*arguments[0], truth, is_source)
        if name in self._table["constants"]["names"] and len(arguments) == 1:
            return self._constant(*arguments[0], dag["operator"].get("name") or dag.get("name"), truth, is_source)
        prefix, _, operator = name.partition("_")
        forms = self._table.get(self._table["dialects"].get(prefix, prefix), {}).get(operator)
        if forms is None:
            raise NotExpressible(f"operator {name}" if _IS_OPERATOR.search(name) else f"native code {name}")
        problem = ""
        for form in [forms] if isinstance(forms, str) else forms:
            try:
                text = self._formed(form, arguments, is_source)
                if dag["operator"].get("name"):
                    self._names[dag["operator"]["name"]] = text
                return text
            except NotExpressible as error:
                problem = problem or str(error)
        raise NotExpressible(problem if "operator" in problem or "native" in problem else f"{name} with {problem}")

    @staticmethod
    def _is_directive(value: Any) -> bool:
        return isinstance(value, dict) and value.get("kind") == "dag" and value["operator"].get("def") in ("returnType", "location")

    def _formed(self, form: str, arguments: Sequence[Any], is_source: bool) -> str:
        words = [word for word in form.split() if "=" in word or word == "bool"]
        form = " ".join(word for word in form.split() if word not in words)
        used = {int(number) for number in re.findall(r"\$(\d)", form)}
        activation = "$0"
        for word in words:
            key, _, given = word.partition("=")
            if key == "any":
                used.add(int(given))
            elif key == "act":
                used.add(int(given))
                activation = self._activation_of(*arguments[int(given)]) if int(given) < len(arguments) else "$0"
            elif key != "bool":
                used.add(int(key))
                self._expect(arguments[int(key)][0] if int(key) < len(arguments) else None, given)
        unused = set(range(len(arguments))) - used
        if unused:
            raise NotExpressible(f"argument {min(unused)}")
        text = re.sub(r"\$(\d)", lambda number: self._term(*arguments[int(number[1])], "bool" in words, is_source), form)
        return activation.replace("$0", text)

    def _expect(self, value: Any, name: str) -> None:
        given = value.get("def", "") if isinstance(value, dict) else ""
        if given != name and not str(self._records.get(given, {}).get("value", "")).endswith(name):
            raise NotExpressible(f"{given or 'any attribute'} for {name}")

    def _activation_of(self, value: Any, label: Optional[str]) -> str:
        name = value.get("def") if isinstance(value, dict) else None
        if name is None:
            self._activations.add(label or "")
            name = self._activation
        if name not in self._table["activations"]:
            raise NotExpressible(f"activation {name} {label or ''}")
        return str(self._table["activations"][name])

    def _constant(self, value: Any, label: Optional[str], bound: Optional[str], truth: bool, is_source: bool) -> str:
        """A constant of one number is that, and another one a variable."""
        number = next((self._numbers[each] for each in (label, bound) if each in self._numbers), None)
        name = value.get("def", "") if isinstance(value, dict) else ""
        record = self._records.get(name, {})
        if number is None and name:
            number = self._table["constants"]["numbers"].get(name, record.get("value") if "ConstantAttr" in record.get("!superclasses", []) else None)
        if number is None:
            text = self._term(value, label or bound, truth, is_source)
        else:
            text = self._number(str(number), truth)
        for each in (label, bound):
            if each and is_source:
                self._names[each] = text
        return text

    def _number(self, text: str, truth: bool) -> str:
        values: Mapping[str, str] = self._table["values"]
        if text in ("true", "false"):
            return values[text]
        try:
            number = float(text.rstrip("f"))
        except ValueError:
            raise NotExpressible(f"the constant {text}") from None
        if truth:
            if number not in (0, 1):
                raise NotExpressible(f"the truth value {text}")
            return values["true" if number else "false"]
        for each, term in values.items():
            if each not in ("true", "false") and _single(float(each)) == _single(number):
                return term
        raise NotExpressible(f"the number {text}")


def _single(number: float) -> float:
    return float(unpack("f", pack("f", number))[0])


def patterns(found: Mapping[str, Any], table: Mapping[str, Any]) -> List[Pattern]:
    """The patterns of the records, with their rules in the form of egg as far as the table has them."""
    result = []
    for number, key in enumerate(found.get("!instanceof", {}).get("Pattern", [])):
        pattern = Pattern(re.sub(r"^anonymous_\d+", "", key) or f"pattern_{number}", [], [])
        for activation in table["activations"]:
            writer = _Writer(found, table, activation)
            try:
                pattern.rules.append(writer.rule(f"p{number}_{len(pattern.rules)}", found[key]))
            except NotExpressible as error:
                pattern.rules, pattern.reason = [], str(error)
            pattern.conditions = writer.conditions
            if not writer.has_activation:
                break
        result.append(pattern)
    return result


def decide(found: Sequence[Pattern], rules: Optional[pathlib.Path] = None) -> None:
    """Sets the status of each pattern that has rules. `rules`: the file for these."""
    with tempfile.TemporaryDirectory(prefix="rulemill-") as folder:
        file = rules or pathlib.Path(folder) / "patterns.egg"
        file.write_text("".join(f"{rule}\n" for pattern in found for rule in pattern.rules), encoding="utf-8")
        if not any(pattern.rules for pattern in found):
            return
        report = program.call("rules", "import", file, "--definitions", _DATA / "operators", "--out", pathlib.Path(folder) / "patterns.rmdb").report
    entries = collections.defaultdict(list)
    for entry in report["rules"]:
        entries[re.match(r"p\d+_\d+", entry["name"])[0]].append(entry)  # type: ignore[index]
    for pattern in found:
        own = [entry for rule in pattern.rules for entry in entries[re.search(r'"(\w+)"', rule)[1]]]  # type: ignore[index]
        for status in ("unreadable", "refuted", "unknown", "ill-typed", "narrowed", "proved"):
            worst = next((entry for entry in own if entry["verdict"] == status), None)
            if worst:
                pattern.status, pattern.reason = status, worst["condition"] or worst["detail"]
                break
        if pattern.status in ("unreadable", "ill-typed"):
            pattern.status = "not expressible"
        if pattern.status in ("refuted", "narrowed", "unknown") and pattern.conditions:
            pattern.status, pattern.reason = "conditional", f"{pattern.status} without {'; '.join(pattern.conditions)}: {pattern.reason}"


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Runs the command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m rulemill.tablegen", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE.td")
    parser.add_argument("--tool", default="/usr/lib/llvm-16/bin/llvm-tblgen")
    parser.add_argument("-I", dest="includes", action="append", default=[], help="a folder with mlir/IR/OpBase.td, before the installed one")
    parser.add_argument("--only", default="", help="patterns with such a name, a regular expression")
    parser.add_argument("--egg", type=pathlib.Path, help="where the rules are written")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args(arguments)
    try:
        table, _ = read_table(str(_DATA / "tablegen.toml"))
        found = [each for each in patterns(records(options.files, options.tool, options.includes), table) if re.search(options.only, each.name)]
        if not found:
            raise Error(f"{', '.join(map(str, options.files))}: expected a Pat or Pattern" + (f" named {options.only}" if options.only else ""))
        decide(found, options.egg)
    except Problem as problem:  # of the table, which an installed package does not have
        parser.error(f"{problem.place}: {problem.message}")
    except Error as error:
        parser.error(error.message)
    for pattern in found:
        print(f"{pattern.name}: {pattern.status}" + (f": {pattern.reason[:300]}" if pattern.reason else ""))
    counts = collections.Counter(pattern.status for pattern in found)
    print(f"{len(found)} patterns: " + ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status]))
    if options.json:
        options.json.write_text(json.dumps([asdict(pattern) for pattern in found], indent=1) + "\n", encoding="utf-8")
    return int(counts["refuted"] > 0)


if __name__ == "__main__":
    sys.exit(main())
