"""Errors name what was given, what is wrong and what to do, and point into texts."""

import pytest

from compiler.diagnostics import Finding, Span, UnsupportedError, VerifyError, did_you_mean


@pytest.mark.parametrize(
    ("word", "known", "said"),
    [
        ("ad", ["add", "and", "xyz"], "; did you mean and or add?"),
        ("zzz", ["add"], ""),
        ("x", [], ""),
        ("", ["add"], ""),
        ("a" * 10_000, ["a" * 80], "; did you mean " + "a" * 80 + "?"),
    ],
)
def test_the_nearest_words_are_offered(word, known, said):
    assert did_you_mean(word, known) == said


@pytest.mark.parametrize(
    ("text", "start", "end", "place", "caret"),
    [
        ("abc", 1, 2, (1, 2), "  abc\n   ^"),
        ("ab\ncde\nf", 4, 6, (2, 2), "  cde\n   ^^"),
        ("ab\n", 3, 3, (2, 1), "\n  ^"),
        ("", 0, 0, (1, 1), "\n  ^"),
        ("a\tb", 2, 3, (1, 3), "  a b\n    ^"),
        ("abc\nd", 1, 5, (1, 2), "  abc\n   ^^"),
    ],
)
def test_a_span_points_at_its_line(text, start, end, place, caret):
    span = Span("f", text, start, end)
    assert (span.line, span.column) == place
    assert span.render("wrong") == f"f:{place[0]}:{place[1]}: wrong\n{caret}"


def test_of_a_long_line_only_the_neighbourhood_is_shown():
    span = Span("f", "x" * 100_000 + "!" + "y" * 100_000, 100_000, 100_001)
    _, line, caret = span.render("wrong").splitlines()
    assert len(line) < 200
    assert line[caret.index("^")] == "!"


def test_every_finding_is_carried_and_counted():
    findings = [Finding("V1", "e/a", "bad"), Finding("V2", "e/b", "worse", Span("f", "text", 0, 4))]
    error = VerifyError(findings, "f.hlo")
    assert error.findings == tuple(findings)
    assert str(error) == "\n".join(
        ["f.hlo: invalid module, 2 violations", "e/a: bad [V1]", "f:1:1: e/b: worse [V2]", "  text", "  ^^^^"]
    )
    assert str(VerifyError(findings[:1], what="graph")).startswith("invalid graph, 1 violation\n")


@pytest.mark.parametrize(("reason", "said"), [("", "x is not supported by y"), ("z", "x is not supported by y: z")])
def test_what_is_unsupported_is_said_with_a_reason_if_there_is_one(reason, said):
    assert str(UnsupportedError("x", "y", reason)) == said
