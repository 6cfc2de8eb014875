#!/usr/bin/env python3
"""Completion scripts and manual pages: those of bash are run, the others checked where their programs are installed."""

import os
import re
import shutil
import subprocess
import unittest

from binary import BINARY, Case, rulemill

BASH_DRIVER = f"""
rulemill() {{ '{BINARY}' "$@"; }}
""" + """
complete_words() {  # WORD...: prints what bash offers for the last one
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _rulemill
  ((${#COMPREPLY[@]} == 0)) || printf '%s\\n' "${COMPREPLY[@]}"
}
"""


# Stands for what zsh has while it completes; prints what would be offered for the last word.
ZSH_DRIVER = """
compdef() {}
compset() { PREFIX=${PREFIX#*=} }
_files() { print files $@ }
_describe() { print -l ${(P)2} }
rulemill() { "$BINARY" "$@" }
source "$1"
shift
words=("$@") CURRENT=$# PREFIX=$@[-1]
_rulemill
"""
FISH_DRIVER = """
function rulemill; "$BINARY" $argv; end
source $argv[1]
complete -C "$argv[2]"
"""
# Lines; what they offer in zsh, before it selects those that begin like the last word; what they offer in fish.
SHELL_CASES = [
    ("op", {"operators", "optimize", "rules"}, {"operators", "optimize"}),
    ("rules l", {"list", "show"}, {"list"}),
    ("optimize m.onnx --cost an", {"analytic", "table"}, {"analytic"}),
    ("optimize m.onnx --cost=an", {"analytic", "table"}, {"--cost=analytic"}),
    ("optimize --out=mod", {"files"}, {"--out=model.onnx"}),
    ("optimize mod", {"files"}, {"model.onnx"}),
    ("doctor --definitions ", {"files -/"}, {"folder/"}),
    ("discover --seed ", set(), set()),
]


def commands(help_text):
    """The names below "Commands:" of a help text."""
    _, _, after = help_text.partition("\nCommands:\n")
    return re.findall(r"^  (\S+)", after.partition("\n\n")[0], re.M)


def options(help_text):
    return re.findall(r"^  (?:-\w, )?(--[\w-]+)", help_text, re.M)


def all_commands():
    """{(): help of the program, ("rules",): …, ("rules", "list"): …}"""
    helps = {(): rulemill("--help").stdout}
    for name in commands(helps[()]):
        helps[name,] = rulemill(name, "--help").stdout
        for below in commands(helps[name,]):
            helps[name, below] = rulemill(name, below, "--help").stdout
    return helps


class Completion(Case):
    @classmethod
    def setUpClass(cls):
        cls.helps = all_commands()
        cls.scripts = {shell: rulemill("completion", shell).stdout for shell in ("bash", "zsh", "fish")}

    def script(self, shell):
        path = self.folder / f"completion.{shell}"
        path.write_text(self.scripts[shell], encoding="utf-8")
        return path

    def offered(self, *command):
        """What another shell offers: words with their descriptions, or kinds of paths."""
        process = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=True, env={**os.environ, "BINARY": str(BINARY)})
        self.assertEqual(process.stderr, "")
        return process.stdout.splitlines()

    def bash(self, *lines):
        """What bash offers for the last word of each line, whose words are separated by spaces."""
        calls = "".join(f"complete_words {' '.join(repr(word) for word in line.split(' '))}; echo ===\n" for line in lines)
        process = subprocess.run(["bash", "--norc", "-c", self.scripts["bash"] + BASH_DRIVER + calls], cwd=self.folder,
                                 capture_output=True, text=True, check=True)
        self.assertEqual(process.stderr, "")
        return [offered.split("\n")[:-1] for offered in process.stdout.split("===\n")[:-1]]

    def test_the_program_has_all_these_commands(self):
        self.assertTrue({("optimize",), ("rules", "list"), ("operators", "eval"), ("gpu", "time"), ("man",)} <= set(self.helps))

    def test_bash_completes_commands_options_values_and_files(self):
        (self.folder / "model.onnx").touch()
        (self.folder / "folder").mkdir()
        expected = {
            "rulemill op": ["operators", "optimize"],
            "rulemill rules l": ["list"],
            "rulemill rules list --ti": ["--tier"],
            "rulemill optimize m.onnx --cost ": ["analytic", "onnxruntime", "cuda", "table"],
            "rulemill optimize m.onnx --cost = an": ["analytic"],
            "rulemill optimize m.onnx --cost =": ["analytic", "onnxruntime", "cuda", "table"],
            "rulemill optimize ": ["folder", "model.onnx"],
            "rulemill optimize --out ": ["folder", "model.onnx"],
            "rulemill doctor --definitions ": ["folder"],
            "rulemill discover --seed ": [],
            "rulemill completion ": ["bash", "fish", "zsh"],
            "rulemill check check": [],
        }
        for (line, words), offered in zip(expected.items(), self.bash(*expected)):
            with self.subTest(line):
                self.assertEqual(sorted(offered), sorted(words))

    def test_bash_offers_exactly_the_commands_and_options_of_the_help(self):
        lines = [" ".join(("rulemill", *names)) + " --" for names in self.helps]
        for (names, text), offered in zip(self.helps.items(), self.bash(*lines)):
            self.assertEqual(sorted(offered), sorted(options(text)), names)
        groups = [names for names, text in self.helps.items() if commands(text)]
        for names, offered in zip(groups, self.bash(*(" ".join(("rulemill", *names)) + " " for names in groups))):
            self.assertEqual(offered, commands(self.helps[names]), names)

    def test_words_have_the_descriptions_of_the_help(self):
        for names, text in self.helps.items():
            for last, expected in (("--", options(text)), ("", commands(text))):
                kind, *lines = rulemill("completion", "fish", "--", *names, last).stdout.split("\n")[:-1]
                if expected:
                    offered = dict(line.split("\t") for line in lines)
                    self.assertEqual((kind, {name for name in offered if not re.match("-[a-z]", name)}), ("", {*expected}), names)
                    self.assertTrue(all(description in " ".join(text.split()) for description in offered.values()), names)

    def test_options_are_offered_once_and_operands_by_their_place(self):
        words = lambda line: [each.split("\t")[0] for each in rulemill("completion", "zsh", "--", *line.split(" ")).stdout.split("\n")]
        self.assertIn("--cost", words("optimize m.onnx --"))
        self.assertNotIn("--cost", words("optimize m.onnx --cost cuda --"))
        self.assertIn("--rules", words("optimize m.onnx --rules a.rmdb --"))  # may be given several times
        kinds = {"rules show ": "file", "rules show r.rmdb ": "", "equal --json a.json a.onnx ": "file", "equal a.onnx b.onnx ": "",
                 "rules import a.rules b.rules ": "file"}
        for line, kind in kinds.items():
            self.assertEqual(words(line)[0], kind, line)

    def test_installed_shells_offer_words_and_paths(self):
        (self.folder / "model.onnx").touch()
        (self.folder / "folder").mkdir()
        for line, zsh, fish in SHELL_CASES:
            if shutil.which("zsh"):
                offered = self.offered("zsh", "-f", "-c", ZSH_DRIVER, "zsh", self.script("zsh"), "rulemill", *line.split(" "))
                self.assertLessEqual(zsh, {each.partition(":")[0] for each in offered}, line)
            if shutil.which("fish"):
                offered = self.offered("fish", "--no-config", "-c", FISH_DRIVER, self.script("fish"), f"rulemill {line}")
                self.assertEqual({each.partition("\t")[0] for each in offered}, fish, line)

    def test_installed_shells_accept_their_scripts(self):
        for shell, option in (("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")):
            if shutil.which(shell):
                process = subprocess.run([shell, option, self.script(shell)], capture_output=True, text=True, check=False)
                self.assertEqual((process.returncode, process.stderr), (0, ""), shell)

    def test_an_unknown_shell_is_a_usage_error(self):
        self.assert_fails(rulemill("completion", "ksh"), 2, "unknown shell 'ksh'; did you mean 'zsh'?")


class Manual(Case):
    def test_each_command_has_a_page_with_its_options(self):
        self.assert_works(rulemill("man", "--out", self.folder / "man"))
        helps = all_commands()
        self.assertEqual({path.name for path in (self.folder / "man").iterdir()},
                         {"-".join(("rulemill", *names)) + ".1" for names in helps})
        for names, text in helps.items():
            page = (self.folder / "man" / ("-".join(("rulemill", *names)) + ".1")).read_text(encoding="utf-8")
            for line in page.splitlines():
                self.assertRegex(line, r"^(\.(TH|SH|TP|B|BR) ?|[^.'])", names)
            for option in options(text):
                self.assertIn(option.replace("-", r"\-"), page)

    def test_a_page_is_printed(self):
        page = rulemill("man", "rules", "list").stdout
        self.assertTrue(page.startswith(r'.TH RULEMILL\-RULES\-LIST 1 '))
        self.assertIn(r".B rulemill rules list RULES [OPTION...]", page)
        self.assertIn("RULEMILL_CACHE", rulemill("man").stdout)
        self.assert_fails(rulemill("man", "rules", "lst"), 2, "unknown command 'lst'; did you mean 'list'?")

    @unittest.skipUnless(shutil.which("man") and shutil.which("groff"), "SKIPPED: man or groff is not on PATH")
    def test_man_prints_the_pages_without_warnings(self):
        rulemill("man", "--out", self.folder)
        for name in ("rulemill", "rulemill-optimize", "rulemill-operators-eval"):
            process = subprocess.run(["man", "--warnings", "-Tutf8", "-l", self.folder / f"{name}.1"], capture_output=True,
                                     text=True, check=False, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "100"})
            self.assertEqual((process.returncode, process.stderr), (0, ""))
            self.assertIn("EXIT STATUS", re.sub(r"\x1b\[[0-9;]*m|.\x08", "", process.stdout))


if __name__ == "__main__":
    unittest.main(verbosity=2)
