"""What failures are told apart by before they are reduced."""

import traceback

import pytest

from xlabench.fuzzing.asking import raised
from xlabench.fuzzing.signature import LAYOUT, is_raised_by, signature_of


@pytest.mark.parametrize("number", ["1", "4"])
def test_a_wrong_result_of_any_device_is_told_by_what_it_comes_of(number):
    text = "ENTRY main { x = f32[4] parameter(0) y = f32[4] tanh(x) z = f32[4] abs(x) t = (f32[4], f32[4]) tuple(x, y)"
    text += " ROOT r = ((f32[4], f32[4]), f32[4]) tuple(t, z) }"  # three arrays of each of two devices
    assert signature_of(text, "wrong", number) == ("tanh f32", "tuple")


def test_what_comes_of_how_inputs_lie_is_one_thing_whatever_is_computed_of_them():
    text = "ENTRY main { x = f32[4] parameter(0) ROOT y = f32[4] tanh(x) }"
    assert signature_of(text, "wrong", LAYOUT) == signature_of(text.replace("tanh", "abs"), "wrong", LAYOUT)


def _directly():
    raise KeyError("name")


def _in_a_comprehension():
    return [{}[number] for number in range(2)]


def _from_another():
    try:
        _directly()
    except KeyError as error:
        raise RuntimeError("behind it") from error


def _elsewhere():
    raise KeyError("name")


def _otherwise():
    raise OSError("name")


_RAISING = (_directly, _in_a_comprehension, _from_another, _elsewhere, _otherwise)


def _raised(work):
    """The key of what is raised, and what a process that is asked leaves of it."""
    try:
        work()
    except Exception as error:  # noqa: BLE001 - whatever it is
        return raised(error).key, f"{error}\n{traceback.format_exc()}"
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("work", _RAISING)
def test_an_error_is_known_by_its_traceback(work):
    key, message = _raised(work)
    assert is_raised_by(key, message)
    alike = {other for other in _RAISING if is_raised_by(key, _raised(other)[1])}
    assert alike - {work} == ({_directly, _from_another} - {work} if work in (_directly, _from_another) else set())


@pytest.mark.parametrize("key", ["run", "0", "", LAYOUT])
def test_what_is_no_error_is_known_by_no_traceback(key):
    assert not is_raised_by(key, _raised(_directly)[1])
