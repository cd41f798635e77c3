"""Drawings hold every instruction once, with what it uses, and are what Graphviz and a browser read."""

from drawn_modules import STRANGE

import compiler
from compiler.drawing import PICTURES


def test_what_is_strange_in_a_name_is_escaped():
    module = compiler.parse(STRANGE)
    assert r"a \\\"b\\\" \\\\ <c> &amp; " in PICTURES["dot"](module)
    assert r"&quot;a \&quot;b\&quot; \\ &lt;c&gt; &amp; " in PICTURES["html"](module)
