"""Sizes and types change everywhere at once, with all that follows from them."""

import compiler
from compiler import edit


def test_the_length_of_a_transform_follows_its_operand() -> None:
    text = """ENTRY e { x = c64[4,8] parameter(0)
      ROOT r = c64[4,8] fft(x), fft_type=FFT, fft_length={8} }"""
    edited = edit.resize(compiler.parse(text), {8: 5})
    assert edited is not None
    assert edited.module.entry.root.attributes["fft_length"] == (5,)
    assert edited.module.entry.root.array.dims == (4, 5)


def test_sizes_known_at_run_time_stay_so() -> None:
    text = """ENTRY e { x = f32[<=6,3] parameter(0) n = s32[] constant(2)
      y = f32[<=6,3] set-dimension-size(x, n), dimensions={0} b = f32[2,<=6,3] broadcast(y), dimensions={1,2}
      w = f32[8] parameter(1) i = s32[2,<=6,3] convert(b)
      ROOT r = f32[2,<=6,3] gather(w, i), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0},
        index_vector_dim=3, slice_sizes={1} }"""
    module = compiler.parse(text)
    for edited, result in (
        (edit.resize(module, {6: 4}), "f32[2,<=4,3]"),
        (edit.retype(module, "f32", "f64"), "f64[2,<=6,3]"),
    ):
        assert edited is not None
        assert str(edited.module.entry.root.shape) == result
        compiler.compile(edited.module)
    assert str(edit.integer_twin(module).entry.root.shape) == "s32[2,<=6,3]"


def test_sizes_stated_to_be_known_stay_so() -> None:
    """A slice that lies within whatever the size is, and what counts on that: setting the one size that is left."""
    text = """ENTRY e { x = f32[8,6] parameter(0) n = s32[] parameter(1) m = s32[] parameter(2)
      a = f32[<=8,6] set-dimension-size(x, n), dimensions={0} y = f32[<=8,<=6] set-dimension-size(a, m), dimensions={1}
      s = f32[<=8,2] slice(y), slice={[0:8], [0:2]} full = s32[] constant(8)
      ROOT r = f32[8,2] set-dimension-size(s, full), dimensions={0} }"""
    module = compiler.parse(text)
    edits = [
        edit.resize(module, {6: 4}),
        edit.retype(module, "f32", "f64"),
        edit.with_attribute(module, edit.id_of(module.entry.root), "dimensions", (0,)),
    ]
    for edited in [*(one.module for one in edits if one is not None), edit.integer_twin(module)]:
        assert str(edited.entry.root.operands[0].shape).endswith("[<=8,2]")
        compiler.compile(edited)
    assert None not in edits
