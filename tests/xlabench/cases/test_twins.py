"""A suite with twins: each program that has one twice, reductions with their own, and never timed."""

import compiler
from xlabench.cases.suite import load_suite
from xlabench.cases.twins import with_twins

_SUM = "ENTRY e {{ x = {type}[{size}] parameter(0) ROOT y = {type}[{size}] add(x, x) }}"


def test_programs_of_floats_get_twins_and_others_stand_alone(tmp_path):
    folder = tmp_path / "suite"
    folder.mkdir()
    for name, element_type, size in (("p", "f32", 400), ("small", "f32", 4), ("whole", "s32", 4)):
        (folder / f"{name}.hlo").write_text(_SUM.format(type=element_type, size=size))
    (folder / "broken.hlo").write_text("no program")
    (folder / "suite.toml").write_text(
        '[[program]]\nname = "p"\n[program.reduced."nvptx:sim"]\nfile = "small.hlo"\nreason = "cut to 4"\n'
        '[[program]]\nname = "whole"\n[[program]]\nname = "broken"\n'
    )
    suite = with_twins(load_suite(str(folder)), tmp_path / "twins")
    assert [(program.name, program.is_timed) for program in suite.programs] == [
        ("p", True),
        ("whole", True),
        ("broken", True),
        ("p.twin", False),
    ]
    twin = suite.programs[-1]
    sizes = {
        engine: compiler.parse(twin.variant(engine).path.read_text()).entry.root for engine in ("cpu", "nvptx:sim")
    }
    assert {engine: str(root.array) for engine, root in sizes.items()} == {"cpu": "s32[400]", "nvptx:sim": "s32[4]"}
    assert twin.variant("nvptx:sim").reduced == "cut to 4"
