"""Examples are shown as they are typed."""

from xlabench.commands.examples import examples


def test_lines_are_indented_and_left_as_they_are():
    text = examples("""
xlabench run FILE
    on two engines
""")
    assert text.splitlines() == ["\b", "Examples:", "  xlabench run FILE", "      on two engines"]
