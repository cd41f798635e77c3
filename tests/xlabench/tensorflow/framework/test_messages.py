"""Messages such as `ConfigProto`: fields are made when they are asked for, and one that is misspelled is an error."""

import copy
from typing import ClassVar

import pytest

from xlabench.tensorflow.framework.messages import Message


class Inner(Message):
    FIELDS: ClassVar = {"number": 0, "text": ""}


class Outer(Message):
    FIELDS: ClassVar = {"inner": Inner, "many": [Inner], "names": [""], "flag": False, "share": 0.0, "by_name": {}}


def test_an_empty_message_has_every_default_and_says_nothing():
    made = Outer()
    assert (made.flag, made.share, made.inner.number, list(made.many), made.by_name) == (False, 0.0, 0, [], {})
    assert made == Outer()
    assert str(made) == ""


def test_what_is_set_deep_inside_is_said():
    made = Outer(flag=True)
    made.inner.text = "a"
    made.many.add(number=3)
    assert str(made) == 'inner {\n  text: "a"\n}\nmany {\n  number: 3\n}\nflag: true\n'
    assert made != Outer(flag=True)


def test_a_default_that_is_set_is_as_if_it_were_not():
    made = Outer()
    made.flag = False
    assert made == Outer()


@pytest.mark.parametrize(
    ("act", "kind", "said"),
    [
        (lambda m: Outer(flog=True), ValueError, 'Outer has no "flog" field'),
        (lambda m: m.flog, AttributeError, "no attribute 'flog'"),
        (lambda m: setattr(m, "flog", True), AttributeError, 'no field "flog"'),
        (lambda m: setattr(m, "inner", Inner()), AttributeError, 'message field "inner"'),
        (lambda m: setattr(m, "many", []), AttributeError, 'repeated field "many"'),
        (lambda m: setattr(m, "flag", "yes"), TypeError, "Outer.flag is a bool: 'yes'"),
        (lambda m: setattr(m.inner, "number", 1.5), TypeError, "Inner.number is a int: 1.5"),
        (lambda m: Outer(inner=3), TypeError, "inner must be a Inner|message field must be a Inner"),
        (lambda m: m.CopyFrom(Inner()), TypeError, "expected Outer"),
    ],
)
def test_what_does_not_fit_is_refused(act, kind, said):
    with pytest.raises(kind, match=said):
        act(Outer())


def test_a_copy_has_fields_of_its_own():
    made = Outer(inner=Inner(number=1))
    other, third = copy.deepcopy(made), Outer()
    third.CopyFrom(made)
    made.inner.number = 2
    assert (other.inner.number, third.inner.number) == (1, 1)


def test_a_message_that_was_asked_for_is_there():
    made = Outer()
    assert not made.HasField("inner")
    assert made.inner.number == 0
    assert made.HasField("inner")
