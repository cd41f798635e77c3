"""Programs near the seeds: every kind of change is made to some, and what is made of them is valid."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from xlabench.cases.index_ranges import unchecked_indices
from xlabench.fuzzing import variation
from xlabench.fuzzing.reached import known, seeds


@pytest.mark.parametrize("kind", variation.CHANGES)
def test_every_kind_of_change_is_made_and_leaves_its_source_alone(kind):
    rng = np.random.default_rng(1)
    made = 0
    for seed in seeds()[::4]:
        before = compiler.to_text(seed)
        changed = variation.CHANGES[kind](seed, rng)
        assert compiler.to_text(seed) == before
        made += changed is not None and variation.is_valid(changed) and compiler.to_text(changed) != before
    assert made > 3


def test_what_is_varied_is_valid():
    rng = np.random.default_rng(2)
    for seed in seeds()[::3]:
        compiler.verify(variation.varied(seed, rng))


def test_what_nobody_checks_of_a_sparse_matrix_stays_as_it_must_be():
    rng = np.random.default_rng(3)
    sparse = next(seed for seed in seeds() if unchecked_indices(seed))
    assert not compiler.generate.is_fragment(sparse)
    made = [variation.varied(sparse, rng) for _ in range(20)]
    assert {str(unchecked_indices(one)) for one in made} == {str(unchecked_indices(sparse))}
    assert len(set(map(compiler.to_text, made))) > 1


def test_seeds_may_be_planted_and_what_they_reach_is_known():
    assert sum(map(compiler.generate.is_fragment, seeds())) > 0.9 * len(seeds())  # others are run as they are only
    with compiler.generate.watching() as decided:
        compiler.optimize(seeds()[-1])
    assert {f"rule {rule}" for rule in decided.rules} <= known()


_REDUCED = """twice_right {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(b, b) }}
    ENTRY e {{ x = f32[4,{size}] parameter(0) z = f32[] constant(0)
      ROOT y = f32[4] reduce(x, z), dimensions={{1}}, to_apply=twice_right }}"""


@pytest.mark.parametrize("size", [1, 3])
def test_no_change_makes_results_a_matter_of_order(size):
    module = compiler.parse(_REDUCED.format(size=size))
    assert variation.is_determined(module) == (size == 1)
    made = [variation.varied(module, np.random.default_rng(seed)) for seed in range(120)]
    assert len({compiler.to_text(one) for one in made}) > 2
    assert all(variation.is_determined(one) == (size == 1) for one in made)


_SCATTERED = """put { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] copy(b) }
    ENTRY e { x = f32[4] parameter(0) i = s32[3] constant({0, 2, 3}) u = f32[3] parameter(1) ROOT y = f32[4]
      scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
      index_vector_dim=1, to_apply=put, unique_indices=true, indices_are_sorted=true }"""


def test_what_was_promised_of_indices_is_not_promised_of_others():
    module = compiler.parse(_SCATTERED)
    made = [compiler.to_text(variation.varied(module, np.random.default_rng(seed))) for seed in range(120)]
    kept = [text for text in made if "unique_indices" in text or "are_sorted" in text]
    assert any(text not in kept for text in made)
    assert all("constant({0, 2, 3})" in text for text in kept)


_COUNTING = """c {{ s = (s32[], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0
      n = s32[] get-tuple-element(s), index=1 m = s32[] constant(7) ROOT r = pred[] compare(i, {most}), direction=LT }}
    b {{ s = (s32[], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0
      n = s32[] get-tuple-element(s), index=1 one = s32[] constant(1) j = s32[] add(i, one)
      ROOT t = (s32[], s32[]) tuple(j, n) }}
    ENTRY e {{ n = s32[] parameter(0) z = s32[] constant(0) t = (s32[], s32[]) tuple(z, n)
      ROOT w = (s32[], s32[]) while(t), condition=c, body=b }}"""


def test_loops_that_iterate_as_often_as_they_are_told_are_not_planted():
    rng = np.random.default_rng(0)
    assert variation.has_meaning(compiler.parse(_COUNTING.format(most="m")), rng)
    assert not variation.has_meaning(compiler.parse(_COUNTING.format(most="n")), rng)


def test_a_program_written_for_another_number_of_devices_has_no_meaning():
    program = """HloModule m, replica_count=2
        add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
        scatter { x = f32[4] parameter(0) ROOT r = f32[SIZE] reduce-scatter(x), dimensions={0}, to_apply=add }
        ENTRY e { x = f32[4] parameter(0)
          s = ((f32[4]), f32[SIZE], s32[]) async-start(x), calls=scatter
          ROOT r = f32[SIZE] async-done(s) }"""
    sizes = ("2", "4")
    modules = [compiler.parse(program.replace("SIZE", size)) for size in sizes]
    assert [variation.has_meaning(module, np.random.default_rng(0)) for module in modules] == [True, False]


@pytest.mark.parametrize(("most", "count", "ends"), [("n", 3, True), ("n", 2**31 - 1, False), ("m", 2**31 - 1, True)])
def test_what_a_program_is_called_with_decides_whether_it_ends(most, count, ends):
    module = compiler.parse(_COUNTING.format(most=most))
    few, count = np.int32(0), np.int32(count)
    assert variation.ends(module, [[few], [count]]) is ends


def test_a_program_without_loops_ends_whatever_it_is_called_with():
    assert variation.ends(compiler.parse("ENTRY e { ROOT n = s32[] parameter(0) }"), [])
