"""Graphviz reads what is written for it."""

import re
import shutil
import subprocess

import pytest
from drawn_modules import MODULES

from compiler.drawing import PICTURES


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_graphviz_reads_the_graph(name):
    dot = shutil.which("dot")
    text = PICTURES["dot"](MODULES[name])
    statements = [line for line in text.splitlines()[1:-1] if not line.rstrip().endswith(("{", "}"))]
    assert all(re.fullmatch(r"(?:[^\"]|\"(?:[^\"\\]|\\.)*\")*;", line) for line in statements)
    if dot is not None:
        subprocess.run([dot, "-Tsvg", "-o/dev/null"], input=text, text=True, check=True)
