"""Functions have names that C and its library leave free, and titles do not end the comments that they stand in."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from compiler.backends.cpu.c_names import comment, function_name

ASSUMED = ("complex", "ctype", "math", "stddef", "stdio", "stdlib", "string")
INCLUDED = "".join(f"#include <{header}.h>\n" for header in ("stddef", "stdio", "stdlib"))


def run(*command: str, text: str) -> str:
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize(("compiler", "language"), [("gcc", "c"), ("g++", "c++")])
def test_no_name_of_the_standard_library_is_declared_again(compiler: str, language: str) -> None:
    headers = "".join(f"#include <{header}.h>\n" for header in ASSUMED)
    code = run("gcc", "-std=c17", "-E", "-P", "-x", "c", "-", text=headers)
    macros = run("gcc", "-std=c17", "-E", "-dM", "-x", "c", "-", text=headers)
    words = {*re.findall(r"\b[a-zA-Z]\w*", code), *re.findall(r"#define ([a-zA-Z]\w*) ", macros)}
    assert {"exp", "double", "memcpy", "stderr", "EOF"} <= words
    names = sorted({function_name(word) for word in words})
    declared = "".join(f"void {name}(const void *const *);\n" for name in names)
    start, end = ('extern "C" {\n', "}\n") if language == "c++" else ("", "")
    strict = ("-Wall", "-Wextra", "-Werror", "-fsyntax-only")
    run(compiler, *strict, "-x", language, "-", text=INCLUDED + start + declared + end)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("model", "model"),
        ("jit_f.7", "jit_f_7"),
        ("2 halves", "_2_halves"),
        ("exp", "exp_"),
        ("tanhf", "tanhf_"),
        ("lgamma_r", "lgamma_r_"),
        ("class", "class_"),
        ("size_t", "size_t_"),
        ("exponential", "exponential"),
        ("room", "room_"),
    ],
)
def test_a_name_changes_only_where_c_does_not_take_it(name: str, expected: str) -> None:
    assert function_name(name, ["room"]) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("a*/b", "a* /b"), ("/*/", "/ * /"), ("**//", "* * / /"), ("a/b", "a/b")]
)
def test_a_comment_ends_where_it_is_to_end(text: str, expected: str) -> None:
    assert comment(text) == expected
