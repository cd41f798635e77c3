"""A page is whole and needs nothing else."""

import re
import xml.etree.ElementTree as ET

import pytest
from drawn_modules import MODULES

from compiler.drawing import PICTURES


@pytest.mark.parametrize("name", MODULES)
def test_the_page_is_whole_and_needs_nothing_else(name):
    page = PICTURES["html"](MODULES[name])
    [svg] = re.findall(r"<svg.*</svg>", page, re.DOTALL)
    root = ET.fromstring(svg)
    shown = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert len([opcode for opcode in shown if opcode.startswith("parameter ")]) >= len(MODULES[name].entry.parameters)
    assert not re.search(r"<script|<link|src=|href=|@import|http(?!://www.w3.org/2000/svg)", page)
