"""Options that commands share: names in a list, and the times of a compilation."""

from types import SimpleNamespace

import pytest

from compiler.commands.options import names, say_times, times_of


@pytest.mark.parametrize(
    ("text", "expected"), [("", []), ("a", ["a"]), (" a , b ", ["a", "b"]), (",,a,", ["a"]), ("a b", ["a b"])]
)
def test_names_stand_between_commas(text, expected):
    assert names(text) == expected


def phases(**spent):
    return [SimpleNamespace(name=name.rstrip("_"), duration_ns=int(ms * 1e6)) for name, ms in spent.items()]


def test_times_of_one_name_are_added_and_llvms_are_told_from_pythons():
    times = times_of(SimpleNamespace(phases=phases(parse=1, passes=2, passes_=4, llvm=8, link=16)))
    assert times == {"parse": 1, "passes": 6, "llvm": 8, "link": 16, "Python": 7, "LLVM": 24, "total": 31}


def test_nothing_took_no_time(capsys):
    times = times_of(SimpleNamespace(phases=()))
    assert times == {"Python": 0, "LLVM": 0, "total": 0}
    say_times(times)
    said = capsys.readouterr()
    assert said.out == ""
    assert [line.split()[1] for line in said.err.splitlines()] == ["Python", "LLVM", "total"]
