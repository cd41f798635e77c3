"""A corpus: what comes to something new is kept small, is read by others, and is drawn the more the rarer it is."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files

import numpy as np
import pytest

import compiler
from compiler.backends import BACKENDS
from compiler.backends.nvptx.kernels.grid import Gpu
from compiler.backends.nvptx.kernels.table import KINDS
from compiler.codegen.kernel import kernel_of, scheduled
from compiler.pipeline import PIPELINES, run
from xlabench.fuzzing.generate import PROFILES, draw_case
from xlabench.fuzzing.reached import Corpus, Keeper, keys_of, names_in, seeds

WHOLE = """ENTRY main { x = f32[4] parameter(0) y = f32[4] negate(x) z = f32[4] negate(y) s = f32[] constant(2)
  t = f32[4] cosine(x) ROOT r = (f32[4], f32[4]) tuple(t, z) }"""


def reaches(module):
    with compiler.generate.watching() as decided:
        compiler.optimize(module)
    return keys_of(decided)


def test_the_part_that_comes_to_something_new_is_kept_once(tmp_path):
    module = compiler.parse(WHOLE)
    rule = next(key for key in reaches(module) if key.startswith("rule algebraic-simplification"))
    for _ in range(2):
        keeper = Keeper(tmp_path)
        keeper.look()
        keeper.take(module, {rule}, reaches)
    (name,) = names_in(tmp_path)
    text = (tmp_path / name).read_text()
    assert text.startswith(f"// reaches {rule}")
    assert "negate" in text
    assert "cosine" not in text


def test_rare_programs_are_drawn_more_often_and_damaged_ones_never(tmp_path):
    texts = {"often": "ENTRY e { ROOT x = f32[2] parameter(0) }", "rare": "ENTRY e { ROOT x = f32[3] parameter(0) }"}
    for number in range(4):
        (tmp_path / f"often{number}.hlo").write_text(f"// reaches a\n{texts['often']}")
    (tmp_path / "rare.hlo").write_text(f"// reaches b\n{texts['rare']}")
    (tmp_path / "damaged.hlo").write_text("no program")
    corpus, rng = Corpus.of(tmp_path, names_in(tmp_path)), np.random.default_rng(0)
    drawn = Counter(compiler.to_text(corpus.draw(rng)) for _ in range(400))
    often, rare = (drawn[compiler.to_text(compiler.parse(text))] for text in texts.values())
    assert len(corpus.modules) == 5
    assert 0.5 < rare / often < 2
    assert sum(drawn.values()) - often - rare > 100  # the project's own seeds


def test_without_a_corpus_seeds_are_planted_and_any_process_draws_the_same():
    first, again = ([compiler.to_text(draw_case(PROFILES["ratchet"], 3, n).module) for n in range(12)] for _ in "ab")
    assert first == again
    assert len(seeds()) > 100


WARP_GROUPS, WORKSPACE, PARTS = "warp groups", "rows in the workspace", "scan, a block for each part of a line"


def test_seeds_come_to_what_gpus_have_for_large_arrays():
    """What is drawn beside them hardly ever does in as many programs as campaigns of two minutes have."""
    gpu, found = Gpu(90, 227 << 10, warp_groups=True, share_all=True), set()
    for seed in seeds():
        if seed.entry.root.opcode in ("dot", "subtract", "reduce-window") and len(seed.computations) < 3:
            module = seed.clone()
            run(module, PIPELINES[BACKENDS["nvptx"].pipeline], compiler.CompileOptions())
            for kernel in filter(lambda kernel: kernel.outputs, map(kernel_of, scheduled(module.entry))):
                choice = KINDS[kernel.kind].decide(kernel, gpu)
                found |= {choice.strategy, WARP_GROUPS if choice.plan.details.get("warp_groups") else ""}
    assert {WARP_GROUPS, WORKSPACE, PARTS} <= found


@pytest.mark.slow
def test_every_rule_that_fires_in_a_seed_has_its_turn():
    text = (files("suites") / "seeds" / "rules.txt").read_text(encoding="utf-8").splitlines()
    assert len(text) == len(seeds())
    rules = {
        name: set(filter(None, line.split("; ")))
        for name, line in zip(map(compiler.to_text, seeds()), text, strict=True)
    }
    corpus, rng = Corpus(), np.random.default_rng(0)
    fired = Counter(rule for _ in range(1500) for rule in rules.get(compiler.to_text(corpus.draw(rng)), ()))
    assert set().union(*rules.values()) == set(fired)
