"""Which kernel an instruction becomes follows from its opcode, and of a fusion from what it holds."""

import numpy as np
import pytest

import compiler
from compiler import CompileOptions
from compiler.codegen.kernel import KernelKind, callees, computed, kernel_of, scheduled
from compiler.diagnostics import UnsupportedError
from compiler.pipeline import OPTIONAL

ADD = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }"
BODIES = """
loop { p = f32[8,8] parameter(0)  n = f32[8,8] negate(p)  ROOT e = f32[8,8] exponential(n) }
row { p = f32[8,8] parameter(0)  z = f32[] constant(0)  s = f32[8] reduce(p, z), dimensions={1}, to_apply=add
  b = f32[8,8] broadcast(s), dimensions={0}  ROOT r = f32[8,8] subtract(p, b) }
dot { p = f32[8,8] parameter(0)  d = f32[8,8] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT n = f32[8,8] negate(d) }
update { p = f32[8,8] parameter(0)  u = f32[1,8] slice(p), slice={[0:1], [0:8]}  i = s32[] constant(0)
  ROOT d = f32[8,8] dynamic-update-slice(p, u, i, i) }
"""


def root(line):
    given = "x = f32[8,8] parameter(0)  z = f32[] constant(0)"
    return compiler.parse(f"{ADD} {BODIES} ENTRY e {{ {given}  ROOT r = {line} }}").entry.root


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("f32[8,8] negate(x)", "loop"),
        ("f32[8] reduce(x, z), dimensions={1}, to_apply=add", "reduce"),
        ("f32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "dot"),
        ("f32[7,7] reduce-window(x, z), window={size=2x2}, to_apply=add", "reduce-window"),
        ("f32[8,8] cholesky(x), lower=true", "cholesky"),
        ("f32[8,8] fusion(x), kind=kLoop, calls=loop", "loop"),
        ("f32[8,8] fusion(x), kind=kCustom, calls=row", "row"),
        ("f32[8,8] fusion(x), kind=kOutput, calls=dot", "dot"),
        (
            "f32[8,8] fusion(x), kind=kLoop, calls=update, output_to_operand_aliasing={{}: (0, {})}",
            "update",
        ),
    ],
)
def test_a_kind_follows_from_the_opcode_or_from_what_a_fusion_holds(line, kind):
    assert kernel_of(root(line)).kind is KernelKind(kind)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("f32[8,8] fusion(x), kind=kLoop, calls=dot", "a loop fusion with a dot inside"),
        ('f32[8,8] custom-call(x), custom_call_target="what"', "custom-call to 'what'"),
    ],
)
def test_what_no_kernel_computes_is_refused(line, message):
    with pytest.raises(UnsupportedError, match=message):
        kernel_of(root(line))


def test_inputs_are_read_once_and_single_numbers_are_written_into_the_code():
    added = kernel_of(root("f32[8,8] add(x, x)"))
    assert [i.name for i in added.inputs] == ["x"]
    reduced = kernel_of(root("f32[8] reduce(x, z), dimensions={1}, to_apply=add"))
    assert [i.name for i in reduced.inputs] == ["x"]
    assert [str(shape) for shape in reduced.outputs] == ["f32[8]"]


def test_the_body_comes_operands_first_down_to_the_leaves():
    kernel = kernel_of(root("f32[8,8] fusion(x), kind=kLoop, calls=loop"))
    assert [i.opcode for i in kernel.body()] == ["negate", "exponential"]
    assert list(computed(kernel.roots, kernel.roots)) == []
    assert kernel.of_opcode("negate")
    assert not kernel.of_opcode("dot")
    assert kernel.name.isidentifier()


def test_kernels_are_found_in_what_control_flow_runs():
    text = f"""{ADD} body {{ p = f32[] parameter(0)  ROOT n = f32[] negate(p) }}
    more {{ p = f32[] parameter(0)  ROOT r = pred[] compare(p, p), direction=NE }}
    ENTRY e {{ x = f32[] parameter(0)  w = f32[] while(x), condition=more, body=body  ROOT a = f32[] abs(w) }}"""
    module = compiler.parse(text)
    assert sorted(i.opcode for i in scheduled(module.entry)) == ["abs", "compare", "negate"]
    loop = module.entry.root.operands[0]
    assert {c.name for c in callees(loop)} == {"body", "more"}
    assert callees(module.entry.root) == ()


def arrays(value):
    """The arrays of a result, whatever tuples they are in."""
    return [array for item in value for array in arrays(item)] if isinstance(value, list | tuple) else [value]


OF_CONSTANTS = [
    "f32[1,1] cholesky(m), lower=true",
    "f32[1,1] triangular-solve(m, m), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE",
    "c64[1] fft(n), fft_type=RFFT, fft_length={1}",
    """(f32[1,1], s32[]) custom-call(m), custom_call_target="lapack_spotrf_ffi", backend_config={uplo = 76 : ui8}""",
    """(f32[1,1], s32[1,1]) custom-call(m), custom_call_target="TopK" """,
    "f32[1] sort(n), dimensions={0}, to_apply=less",
    "f32[1,1] dot(m, m), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "f32[1,1] convolution(m, m), dim_labels=bf_io->bf",
    "f32[1] reduce(m, z), dimensions={1}, to_apply=add",
    "f32[1,1] reduce-window(m, z), window={size=1x1}, to_apply=add",
    "f32[1,1] select-and-scatter(m, m, z), window={size=1x1}, select=less, scatter=add",
    "f32[1,1] dynamic-update-slice(m, m, i, i)",
    """f32[1] scatter(n, v, n), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
      index_vector_dim=1, to_apply=add""",
    """f32[1] gather(n, v), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1,
      slice_sizes={1}""",
]


@pytest.mark.slow
@pytest.mark.parametrize("number", ["f32[{0}] constant({1})", "f32[{0}] broadcast(z), dimensions={{}}"])
@pytest.mark.parametrize(("backend", "device"), [("cpu", ""), ("nvptx", "sim")])
def test_kernels_of_every_kind_take_constants_of_one_element(backend, device, number):
    results = "  ".join(f"r{index} = {line}" for index, line in enumerate(OF_CONSTANTS))
    shapes = ", ".join(line.split(") ")[0] + ")" if line[0] == "(" else line.split(" ")[0] for line in OF_CONSTANTS)
    module = compiler.parse(f"""{ADD}
      less {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT }}
      ENTRY e {{ z = f32[] constant(3)  i = s32[] constant(0)  v = s32[1] constant({{0}})
        m = {number.format("1,1", "{{4}}")}  n = {number.format("1", "{4}")}
        {results}
        ROOT all = ({shapes}) tuple({", ".join(f"r{index}" for index in range(len(OF_CONSTANTS)))}) }}""")
    options = CompileOptions(device=device, opt=0, disable_passes=OPTIONAL)
    actual = arrays(compiler.compile(module, backend, options)())
    for found, expected in zip(actual, arrays(compiler.interpret(module)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
