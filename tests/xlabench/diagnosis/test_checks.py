"""What comes and goes is asked about with checks on; what does not, as it is."""

from dataclasses import replace

import pytest

import compiler
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.checks import _APART, _CHECKS, apart, checked, confirm, is_by_chance, is_right_apart
from xlabench.diagnosis.probe import Judgement, Setup
from xlabench.engines import engine

CASE = Case(compiler.parse("ENTRY e { ROOT x = f32[2] parameter(0) }"), ())
CHECKED = "cpu:opt=0,check_memory=on"


class Answers:
    """A prober that knows what it is going to say."""

    def __init__(self, plain, with_checks):
        self.setup, self.is_new = Setup("cpu:opt=0"), False
        self.answers = {"cpu:opt=0": plain, CHECKED: with_checks}

    def renew(self):
        self.is_new = True

    def judge(self, case, *, engine="", expected=None):
        assert not engine or self.is_new
        return self.answers[engine or self.setup.engine]


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ("cpu", "cpu:check_memory=on"),
        ("cpu:fusion=off,opt=0", "cpu:fusion=off,opt=0,check_memory=on"),
        ("nvptx:sim", "nvptx:sim,check_races=on"),
        ("nvptx:ptxas", "nvptx:ptxas"),
        ("xla", "xla"),
        ("reference:wide", "reference:wide"),
    ],
)
def test_every_engine_checks_what_it_can(spec, wanted):
    assert checked(spec) == checked(wanted) == wanted


@pytest.mark.parametrize(("name", "device"), _CHECKS)
def test_checks_are_options_of_their_engines(name, device):
    spec = checked(f"{name}:{device}" if device else name)
    assert engine(spec).spec == spec


@pytest.mark.parametrize("name", _APART)
def test_that_launches_stay_apart_is_an_option_of_the_engine(name):
    spec = apart(f"{name}:sim")
    assert engine(spec).spec == spec != f"{name}:sim"
    assert apart("cpu:opt=0") == "cpu:opt=0"


@pytest.mark.parametrize("verdict", ["bitwise", "within", "undecided", "wrong", "crash", "compile-error"])
def test_a_kernel_that_is_right_apart_is_not_what_is_wrong(verdict):
    class Asked:
        setup, asked = Setup("nvptx:sim,opt=0"), []

        def judge(self, _, *, engine, expected):
            self.asked.append((engine, expected))
            return Judgement(verdict, "")

    told = []
    found = is_right_apart(Asked(), CASE, Judgement("wrong", "", (1,)), lambda *said: told.append(said))
    assert found == (verdict in {"bitwise", "within"})
    assert Asked.asked == [("nvptx:sim,opt=0,persistent=off", (1,))]
    assert told == [("nvptx:sim,opt=0,persistent=off on the kernel alone", verdict)]
    Asked.setup = Setup("cpu")
    assert not is_right_apart(Asked(), CASE, Judgement("wrong", "", (1,)), lambda *said: told.append(said))


RUN_CRASH = Judgement("crash", "signal 11", stage="run")


@pytest.mark.parametrize(
    "plain",
    [Judgement("flaky", "30 % to 50 %"), RUN_CRASH, Judgement("bitwise", ""), Judgement("within", "")],
    ids=lambda plain: plain.verdict,
)
@pytest.mark.parametrize("closer", ["crash", "wrong"])
def test_what_fails_every_time_with_checks_on_is_looked_into_with_them(plain, closer):
    probers = [Answers(plain, Judgement(closer, "")) for _ in range(2)]
    assert confirm(probers, CASE).verdict == closer
    assert [prober.setup for prober in probers] == [replace(Setup("cpu:opt=0"), engine=CHECKED)] * 2


@pytest.mark.parametrize("plain", [Judgement("wrong", ""), Judgement("timeout", "", stage="run")])
@pytest.mark.parametrize("closer", [RUN_CRASH, Judgement("wrong", ""), Judgement("crash", "", stage="compile")])
def test_checks_show_what_is_behind_a_wrong_result_if_they_end_it(plain, closer):
    prober = Answers(plain, closer)
    is_ended = closer is RUN_CRASH
    assert confirm([prober], CASE) is (closer if is_ended else plain)
    assert prober.setup.engine == (CHECKED if is_ended else "cpu:opt=0")


@pytest.mark.parametrize("closer", ["bitwise", "within", "flaky", "unsupported"])
def test_checks_that_show_nothing_are_left_off(closer):
    prober = Answers(RUN_CRASH, Judgement(closer, ""))
    assert confirm([prober], CASE) is RUN_CRASH
    assert prober.setup == Setup("cpu:opt=0")


def test_an_engine_without_checks_is_asked_once():
    prober = Answers(Judgement("flaky", ""), None)
    prober.setup, prober.answers = Setup("xla"), {"xla": Judgement("flaky", "")}
    prober.judge = lambda case: prober.answers.pop("xla")
    assert confirm([prober], CASE).verdict == "flaky"


@pytest.mark.parametrize(
    "plain",
    [
        Judgement("timeout", "", stage="compile"),
        Judgement("unsupported", ""),
        Judgement("undecided", ""),
        Judgement("crash", "", stage="compile"),
    ],
    ids=lambda plain: plain.verdict,
)
def test_what_is_no_chance_is_asked_about_as_it_is(plain):
    prober = Answers(plain, Judgement("crash", ""))
    assert confirm([prober], CASE) is plain
    assert prober.setup == Setup("cpu:opt=0")


class Chances:
    """A prober on whose engines processes end as it is said, in turn."""

    def __init__(self, **ends):
        self.setup, self.ends, self.renewed = Setup("cpu"), {name: list(said) for name, said in ends.items()}, 0

    def renew(self):
        self.renewed += 1

    def judge(self, case, *, engine, expected):
        return RUN_CRASH if self.ends[engine].pop(0) else Judgement("bitwise", "")


@pytest.mark.parametrize(
    ("cpu", "other", "is_chance"),
    [((1, 1), (0, 0), False), ((0,), (), True), ((1,), (1,), True), ((1, 0), (0,), True), ((1, 1), (0, 1), True)],
)
def test_a_crash_is_put_down_to_an_option_only_where_new_processes_all_say_so(cpu, other, is_chance):
    chances = Chances(cpu=cpu, other=other)
    assert is_by_chance(chances, CASE, RUN_CRASH, "other") == is_chance
    assert chances.renewed == len(cpu) + len(other)


def test_what_is_wrong_is_so_without_chance():
    assert not is_by_chance(Chances(), CASE, Judgement("wrong", ""), "other")
