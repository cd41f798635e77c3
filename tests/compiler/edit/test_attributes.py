"""Notes, names and layouts go; what an operation is stays."""

import pytest
from edited_programs import TEXT

import compiler
from compiler import edit


@pytest.fixture
def module():
    module = compiler.parse(TEXT)
    compiler.verify(module)
    return module


def test_programs_that_differ_in_names_and_notes_have_one_text(module):
    other = compiler.parse(TEXT.replace("twice", "double").replace(', metadata={op_name="a"}', ""))
    assert edit.canonical_text(other) == edit.canonical_text(module)
    other = compiler.parse(TEXT.replace("index=1", "index=1").replace("constant(3)", "constant(4)"))
    assert edit.canonical_text(other) != edit.canonical_text(module)


@pytest.mark.parametrize(
    ("call", "kept"),
    [
        ('f32[2,2] custom-call(x), custom_call_target="lapack_spotrf_ffi", backend_config="{uplo = 76 : ui8}"', "uplo"),
        ("(u64[2], u32[2]) rng-bit-generator(s), algorithm=rng_philox", "rng_philox"),
        ('f32[2,2] add(x, x), backend_config="a note"', ""),
    ],
)
def test_a_plain_program_keeps_what_an_operation_is(call, kept):
    text = f"ENTRY e {{ x = f32[2,2] parameter(0) s = u64[2] constant({{1, 2}}) ROOT r = {call} }}"
    plain = compiler.to_text(edit.plain(compiler.parse(text)).module)
    assert kept in plain
    assert "a note" not in plain


@pytest.mark.parametrize(
    ("text", "operands", "shown"),
    [
        (
            "ROOT r = f32[2] dynamic-update-slice(x, y, i)",
            ("x", "z", "i"),
            ["dynamic-update-slice(x, z, i)", "f32[2], f32[2]"],
        ),
        (
            """s = (f32[2], f32[2]) sort(x, y), dimensions={0}, to_apply=less
            ROOT r = f32[2] get-tuple-element(s), index=1""",
            ("z", "y"),
            ["sort(z, y)", "index=1", "f32[2], f32[2]"],
        ),
        (
            "ROOT s = (f32[2], f32[2]) sort(x, y), dimensions={0}, to_apply=less",
            ("s", "s"),
            [],
        ),
        (
            "ROOT s = (f32[2], f32[2]) sort(x, y), dimensions={0}, to_apply=less",
            ("y", "x"),
            ["sort(y, x)", "f32[2], f32[2], f32[2], f32[2]"],
        ),
    ],
)
def test_what_is_done_once_more_shows_beside_the_first(text, operands, shown):
    module = compiler.parse(f"""less {{ a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] parameter(2)
        d = f32[] parameter(3) ROOT r = pred[] compare(a, b), direction=LT }}
      ENTRY e {{ x = f32[2] parameter(0) y = f32[2] parameter(1) z = f32[2] parameter(2) i = s32[] parameter(3)
        {text} }}""")
    ids = {one.name: edit.id_of(one) for one in module.entry.instructions}
    edited = edit.with_one_more(module, ids.get("s", ids.get("r")), [ids[name] for name in operands])
    if not shown:
        assert edited is None
        return
    compiler.verify(edited.module)
    assert all(one in compiler.to_text(edited.module) for one in shown)
