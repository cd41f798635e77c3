"""Collect `.hlo` file tests: a program, `// test COMMAND ARGS` above it, what that prints below it.

    // test opt --passes dce
    ENTRY main { ... }

    // expect:
    // HloModule ...

With several `// test` lines the n-th `// expect:` block belongs to the n-th.  `BLESS=1 pytest FILE` writes what is
printed now into the blocks; read the diff.

`print`, `verify`, `opt` and `emit` are the commands of `python -m compiler`, with the program on standard input.  `opt`
also runs the program in the interpreter before and after the passes, which must agree bit for bit.  `run` prints what
the interpreter computes and compares every back end with it, with fusion and without.  `error` prints the message and
exit code of a command that must refuse the program.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import settings
from parts import leave_to_sweep

import compiler
from compiler import inputs
from compiler.__main__ import cli
from compiler.backends import BACKENDS
from xlabench.judging.differ import compare

Check = Callable[[str, list[str]], str]
"""A command: takes the program and its arguments, returns what it prints."""

SEED = 0

# A test that is timed fails on a busy machine, whatever it is about.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
OPTIONS = compiler.CompileOptions(device="sim", threads=2, verify_each=True)


def _invoke(command: str, program: str, arguments: list[str]) -> Result:
    before = 1 if command == "emit" else 0  # its form comes before the file
    words = [command, *arguments[:before], "-", *arguments[before:]]
    return CliRunner(catch_exceptions=False).invoke(cli, words, input=program)


def _output(command: str, program: str, arguments: list[str], exit_codes: tuple[int, ...] = (0,)) -> str:
    result = _invoke(command, program, arguments)
    if result.exit_code not in exit_codes or result.stderr:
        pytest.fail(f"{command}: exit code {result.exit_code}: {result.stderr}", pytrace=False)
    return result.stdout


def _print(program: str, arguments: list[str]) -> str:
    text = _output("print", program, arguments)
    if compiler.parse(text) != compiler.parse(program):
        pytest.fail(f"what is printed is another program:\n{text}", pytrace=False)
    return text


def _verify(program: str, arguments: list[str]) -> str:
    return _output("verify", program, arguments, (0, 2))


def _opt(program: str, arguments: list[str]) -> str:
    """Argument: `--no-run` for a program that the interpreter cannot run."""
    runs = "--no-run" not in arguments
    text = _output("opt", program, [argument for argument in arguments if argument != "--no-run"])
    if not runs:
        return text
    before, after = compiler.parse(program), compiler.parse(text)
    arrays = inputs.draw(before, SEED)
    pairs = zip(compiler.interpret(before, *arrays), compiler.interpret(after, *arrays), strict=True)
    for number, (expected, actual) in enumerate(pairs):
        if expected.dtype != actual.dtype or expected.shape != actual.shape or expected.tobytes() != actual.tobytes():
            pytest.fail(f"result {number} was {expected}, after the passes it is {actual}:\n{text}", pytrace=False)
    return text


def _run(program: str, arguments: list[str]) -> str:
    """Arguments: back ends that cannot do it, each as `NAME=unsupported`."""
    text = _output("run", program, ["--seed", str(SEED)])
    module = compiler.parse(program)
    arrays = inputs.draw(module, SEED)
    expected = compiler.interpret(module, *arrays)
    for backend in BACKENDS:
        for options in (OPTIONS, replace(OPTIONS, fusion=False)):
            where = f"{backend}, fusion={options.fusion}"
            try:
                actual = compiler.compile(module, backend=backend, options=options)(*arrays)
            except compiler.UnsupportedError as error:
                if f"{backend}=unsupported" not in arguments:
                    pytest.fail(f"{where}: {error}", pytrace=False)
                continue
            if f"{backend}=unsupported" in arguments:
                pytest.fail(f"{where} supports this now: take `{backend}=unsupported` out", pytrace=False)
            _agree(where, expected, actual)
    return text


def _agree(where: str, expected: list[np.ndarray], actual: list[np.ndarray]) -> None:
    comparison = compare(expected, actual)
    if comparison.agreement not in ("bitwise", "within"):
        pytest.fail(f"{where}: {comparison.describe()}\nexpected {expected}\nactual {actual}", pytrace=False)


def _error(program: str, arguments: list[str]) -> str:
    result = _invoke(arguments[0], program, arguments[1:])
    if result.exit_code == 0:
        pytest.fail(f"{arguments[0]} accepts the program:\n{result.stdout}", pytrace=False)
    return f"exit code {result.exit_code}\n{result.stderr}"


def _emit(program: str, arguments: list[str]) -> str:
    """Arguments: the form and options; `grep=REGEX` keeps only matching lines, since code is long and LLVM's own."""
    patterns = [a.removeprefix("grep=") for a in arguments if a.startswith("grep=")]
    lines = _output("emit", program, [a for a in arguments if not a.startswith("grep=")]).splitlines()
    return "\n".join(line for line in lines if all(re.search(pattern, line) for pattern in patterns))


def _is_same(actual: list[str], expected: list[str]) -> bool:
    """Whether two lists of lines say the same; results of `run` may differ by what NumPy's versions do."""
    if actual == expected or len(actual) != len(expected):
        return actual == expected
    pairs = [(_RESULT.fullmatch(left), _RESULT.fullmatch(right)) for left, right in zip(actual, expected, strict=True)]
    if not all(left and right and left[1] == right[1] for left, right in pairs):
        return False
    values = [[_value(match) for match in pair if match] for pair in pairs]
    comparison = compare([right for _, right in values], [left for left, _ in values])
    return comparison.agreement in ("bitwise", "within")


_RESULT = re.compile(r"(\w+\[[\d,]*\]) (.*)")


def _value(match: re.Match[str]) -> np.ndarray:
    module = compiler.parse(f"ENTRY e {{\n ROOT c = {match[1]} constant({match[2]})\n}}")
    return compiler.interpret(module)[0]


COMMANDS: dict[str, Check] = {
    "emit": _emit,
    "error": _error,
    "opt": _opt,
    "print": _print,
    "run": _run,
    "verify": _verify,
}
"""What may follow `// test` in a file's header."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take a part of long ranges, before tests are selected by their marks."""
    leave_to_sweep(items)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Treat every `.hlo` file below tests/filetests as a test."""
    if file_path.suffix == ".hlo" and "filetests" in file_path.parts:
        return FileTest.from_parent(parent, path=file_path)
    return None


class FileTest(pytest.File):
    """One program with its `// test` lines."""

    def collect(self) -> Iterator[pytest.Item]:
        program = self.path.read_text(encoding="utf-8").partition("// expect:\n")[0]
        headers = re.findall(r"^// test (.+)$", program, re.MULTILINE)
        if not headers:
            raise self.CollectError(f"{self.path}: no '// test' line")
        for position, header in enumerate(headers):
            name, *arguments = header.split()
            if name not in COMMANDS:
                raise self.CollectError(f"{self.path}: unknown command {name!r}; known: {', '.join(COMMANDS)}")
            yield FileTestItem.from_parent(
                self, name=header.replace(" ", "-"), check=COMMANDS[name], arguments=arguments, position=position
            )


class FileTestItem(pytest.Item):
    """One `// test` line of a file."""

    def __init__(self, *, check: Check, arguments: list[str], position: int, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.check, self.arguments, self.position = check, arguments, position

    def runtest(self) -> None:
        program, *blocks = re.split(r"^// expect:\n", self.path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        blocks += [""] * (self.position + 1 - len(blocks))
        expected = [line.removeprefix("//").removeprefix(" ") for line in blocks[self.position].strip().splitlines()]
        actual = self.check(program, self.arguments).rstrip().splitlines()
        if _is_same(actual, expected):
            return
        if os.environ.get("BLESS") == "1":
            blocks[self.position] = "".join(f"// {line}".rstrip() + "\n" for line in actual) + "\n"
            text = "".join([program.rstrip() + "\n\n", *(f"// expect:\n{block}" for block in blocks)])
            self.path.write_text(text.rstrip() + "\n", encoding="utf-8")
            return
        diff = "\n".join(difflib.unified_diff(expected, actual, "expected", "actual", lineterm=""))
        pytest.fail(f"{diff}\n\nTo accept: BLESS=1 pytest {self.path}", pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self.path.name}: {self.name}"
