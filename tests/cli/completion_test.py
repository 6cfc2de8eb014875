#!/usr/bin/env python3
"""Completion scripts and manual pages: those of bash are run, the others checked where their programs are installed."""

import re
import shutil
import subprocess
import unittest

from binary import Case, rulemill

BASH_DRIVER = """
complete_words() {  # WORD...: prints what bash offers for the last one
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _rulemill
  ((${#COMPREPLY[@]} == 0)) || printf '%s\\n' "${COMPREPLY[@]}"
}
"""


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

    def test_scripts_of_zsh_and_fish_have_every_command_and_option(self):
        for names, text in self.helps.items():
            function = "_".join(("_rulemill", *names)) + "() {\n"
            body = self.scripts["zsh"].partition(function)[2].partition("\n}\n")[0]
            lines = "\n".join(line for line in self.scripts["fish"].splitlines() if f'= "{" ".join(("rulemill", *names))}"' in line)
            for option in options(text):
                self.assertRegex(body, f"'\\*?{option}=?\\[", names)
                self.assertRegex(lines, f" -l {option[2:]} ", names)
            for name in commands(text):
                self.assertIn(f"'{name}:", body)
                self.assertIn(f" -a {name} ", lines)

    def test_installed_shells_accept_their_scripts(self):
        for shell, option in (("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")):
            if shutil.which(shell):
                path = self.folder / shell
                path.write_text(self.scripts[shell], encoding="utf-8")
                process = subprocess.run([shell, option, path], capture_output=True, text=True, check=False)
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
