"""A case has its calls in their order, is known by its numbers, and is compiled in the variants that are its own."""

from dataclasses import replace

from xlabench.fuzzing import blocks, packs
from xlabench.fuzzing.case import Case
from xlabench.fuzzing.generate import PROFILES, draw_case

CASE = Case(7, None, [], others={"special": [], "ties": []}, note="drawn", options={"cpu": {"threads": "2"}})


def test_calls_are_the_first_one_and_those_of_other_kinds_and_the_last_stands_for_what_is_not_there():
    assert [call.kind for call in CASE.calls] == ["", "special", "ties"]
    assert [CASE.call(number).kind for number in (0, 2, 5)] == ["", "ties", "ties"]
    assert CASE.given("ties") is CASE.others["ties"]
    assert CASE.noted("ties") == "drawn; inputs of the kind ties"


def test_a_case_is_called_by_its_numbers_and_compiled_in_its_variants():
    assert [CASE.label, replace(CASE, members=(7, 9)).label] == ["7", "7+9"]
    assert [CASE.on(spec) for spec in ("cpu", "cpu:threads=7", "reference")] == [
        "cpu:threads=2",
        "cpu:threads=7",
        "reference",
    ]


def test_what_is_apart_is_in_no_pack_and_in_a_variant_of_its_own():
    drawn = [draw_case(PROFILES["ratchet"], 5, number) for number in range(3, 200, 6)]
    apart = [case for case in drawn if case.is_apart]
    assert not any(map(packs.is_fit, apart))
    assert not any(blocks.is_alone(case.number) for case in apart)
    assert len({str(case.options) for case in apart}) > len(apart) / 2
