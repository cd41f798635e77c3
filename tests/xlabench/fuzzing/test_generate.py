"""What a number draws: the same everywhere, within its profile, in the variety that swarms are for."""

import numpy as np
import pytest

import compiler
from compiler.generate import PAIRS
from xlabench.fuzzing import generate, seed_order
from xlabench.fuzzing.generate import PROFILES, Case, draw_case, drawer, featuring, is_of_routines, restricted, swarm
from xlabench.fuzzing.reached import Corpus
from xlabench.fuzzing.variation import is_valid

RATCHET, DISCOVERY = PROFILES["ratchet"], PROFILES["discovery"]
X, Y = np.arange(2, dtype=np.float32), np.ones(2, np.float32)


def turn_of(kind):
    """The first number that is a seed's, a sample's, or drawn."""
    kinds = {"seed": seed_order.is_seed, "sample": seed_order.is_sample}
    return next(
        number
        for number in range(1, 100)
        if {name for name, is_its in kinds.items() if is_its(number)} == {kind} & kinds.keys()
    )


def texts(case):
    return [compiler.to_text(case.module), *(array.tobytes() for _, inputs in case.calls for array in inputs)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["seed", "sample", "drawn"])
def test_a_seed_and_a_number_draw_one_program_with_its_inputs(kind):
    number = turn_of(kind)
    case = draw_case(DISCOVERY, 3, number)
    assert texts(draw_case(DISCOVERY, 3, number)) == texts(case)
    assert draw_case(DISCOVERY, 3, number, varied=False).options == {}
    assert case.number == number
    assert is_valid(case.module)
    results = compiler.interpret(case.module, *case.inputs)
    assert [result.dtype for result in results] == [leaf.element_type.dtype for leaf in leaves(case.module.entry.root)]


def leaves(instruction):
    return compiler.edit.leaves(instruction.shape)


def pairs_in(case):
    """The pairs of opcode and element type of a program's values."""
    return {(one.opcode, leaf.element_type.name) for one in case.module.instructions() for leaf in leaves(one)}


def test_what_an_engine_does_not_support_is_not_drawn():
    number = turn_of("seed")
    opcode = draw_case(RATCHET, 1, number).module.entry.root.opcode
    banned = frozenset(pair for pair in PAIRS if pair[0] == opcode)
    assert banned & pairs_in(draw_case(RATCHET, 1, number))
    assert not banned & pairs_in(draw_case(restricted(RATCHET, banned), 1, number))


def test_what_is_probed_is_one_opcode_on_one_type_or_nothing():
    module = generate.probe_module("tanh", "f16")
    assert "f16" in {one.shape.element_type.name for one in module.instructions() if one.opcode == "tanh"}
    assert generate.probe_module("tanh", "s32") is None


def test_a_swarm_is_a_part_of_its_space_and_each_another():
    space = DISCOVERY.space
    swarms = [swarm(space, np.random.default_rng(seed)) for seed in range(40)]
    for one in swarms:
        assert one.opcodes <= space.opcodes
        assert {"pred", "s32"} <= one.element_types <= space.element_types
        assert space.most_instructions // 3 <= one.most_instructions <= space.most_instructions or one.depth == 1
    assert len(set(swarms)) == len(swarms)
    sizes = [len(one.opcodes) for one in swarms]
    assert min(sizes) < 15
    assert max(sizes) > 100


def test_each_opcode_is_featured_equally_often_on_a_type_that_it_takes():
    whole = RATCHET.space
    rounds = len(whole.opcodes)
    featured = [featuring(whole, whole, number, seed=2).featured for number in range(rounds)]
    counts = {opcode: sum(opcode in some for some in featured) for opcode in whole.opcodes}
    assert set(counts.values()) == {2}
    for opcodes in featured:
        space = featuring(swarm(whole, np.random.default_rng(1)), whole, featured.index(opcodes), seed=2)
        assert set(space.featured) <= space.opcodes
        assert all(any((opcode, kind) in PAIRS for kind in space.element_types) for opcode in space.featured)


def test_routines_have_numbers_of_their_own_and_call_lapack():
    assert [number for number in range(60) if is_of_routines(number)] == [0, 24, 48]
    space = generate.calling_routines(RATCHET.space, np.random.default_rng(0))
    assert "custom-call" in space.featured
    (kind,) = space.element_types - {"pred", "s32"}
    assert ("custom-call", kind) in PAIRS


def test_of_a_corpus_a_few_programs_are_planted_now_and_then():
    for seed in range(6):
        space = generate.planting(RATCHET.space, Corpus(), np.random.default_rng(seed))
        assert len(space.fragments) <= 3
        assert 15 <= space.fragment_percent <= 60
        assert all(compiler.generate.is_fragment(one) for one in space.fragments)


def test_of_a_case_calls_are_by_kind_and_one_that_is_not_there_is_the_last():
    case = Case(4, None, [X], note="drawn", others={"special": [Y]}, options={"cpu": {"opt": "0"}})
    assert [kind for kind, _ in case.calls] == ["", "special"]
    assert case.call(7) == case.call(1)
    assert (case.given("")[0] is X, case.given("special")[0] is Y) == (True, True)
    assert case.noted("special") == "drawn; inputs of the kind special"
    assert (case.label, Case(4, None, [], members=(4, 5)).label) == ("4", "4+5")
    assert (case.on("cpu:fusion=off"), case.on("nvptx:sim")) == ("cpu:fusion=off,opt=0", "nvptx:sim")


def test_what_a_worker_draws_by_is_plain_data():
    number = turn_of("drawn")
    given = {"profile": "ratchet", "seed": 5, "banned": [["abs", "f32"]]}
    profile = restricted(RATCHET, frozenset({("abs", "f32")}))
    assert texts(drawer(given)(number)) == texts(draw_case(profile, 5, number))
    assert drawer({**given, "varied": False})(number).options == {}


@pytest.mark.parametrize(("instructions", "elements"), [(10, 64), (4, 8), (None, 16), (12, None)])
def test_programs_are_within_the_limits_that_somebody_gave(instructions, elements):
    limits = {"instructions": instructions, "elements": elements}
    draw = drawer({"profile": "ratchet", "seed": 3, "banned": [], "limits": limits})
    later = 1_000  # seeds have come by then
    cases = [draw(number) for number in (*range(12), *range(later, later + 12))]
    for case in cases:
        assert instructions is None or sum(1 for _ in case.module.instructions()) <= instructions
        sizes = [getattr(array, "size", 0) for one in case.module.instructions() for array in leaves(one)]
        assert elements is None or max(sizes) <= elements
        assert is_valid(case.module)
    assert len({compiler.to_text(case.module) for case in cases}) > len(cases) // 2
    assert any(seed_order.is_seed(case.number) for case in cases)


def test_small_programs_side_by_side_are_soon_done_even_with_loops_in_reducers_of_many_windows():
    # This number came to fourteen million instructions by such a reducer.
    case, left = draw_case(RATCHET, 77, 925, varied=False), 100_000

    def counted(_, operands, evaluate):
        nonlocal left
        left -= 1
        assert left
        return evaluate(operands)

    compiler.interpret(case.module, *case.inputs, around=counted)
