"""Whatever lies between an index and its use: the index is found, and what is beside it is not taken for one."""

import pytest

import compiler
from compiler.ops import OPS
from xlabench.cases import inputs
from xlabench.cases.index_ranges import index_limits

BESIDE = ("bf16", "f32", "f8e4m3fn", "c64", "pred", "s64")
"""Types of what stands beside the index; the last might be an index by its type, and is none by its way."""

_COMPUTATIONS = """
less {{ a = {t}[] parameter(0) b = {t}[] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3)
  ROOT c = pred[] compare(i, j), direction=LT }}
best {{ a = {t}[] parameter(0) i = s32[] parameter(1) b = {t}[] parameter(2) j = s32[] parameter(3)
  c = pred[] compare(i, j), direction=LT x = {t}[] select(c, a, b) y = s32[] select(c, i, j)
  ROOT r = ({t}[], s32[]) tuple(x, y) }}
greatest {{ a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] maximum(a, b) }}
first {{ i = s32[] parameter(0) a = {t}[] parameter(1) ROOT r = s32[] copy(i) }}
swap {{ a = {t}[4] parameter(0) i = s32[4] parameter(1) ROOT r = (s32[4], {t}[4]) tuple(i, a) }}
chosen {{ p = ({t}[4], s32[4]) parameter(0) ROOT r = s32[4] get-tuple-element(p), index=1 }}
other {{ p = (s32[4], {t}[4]) parameter(0) ROOT r = s32[4] get-tuple-element(p), index=0 }}
go {{ s = ({t}[4], {t}[4], s32[4], s32[4], pred[]) parameter(0)
  ROOT c = pred[] get-tuple-element(s), index=4 }}
iteration {{ s = ({t}[4], {t}[4], s32[4], s32[4], pred[]) parameter(0)
  a = {t}[4] get-tuple-element(s), index=0 b = {t}[4] get-tuple-element(s), index=1
  i = s32[4] get-tuple-element(s), index=2 j = s32[4] get-tuple-element(s), index=3
  n = pred[] constant(false) ROOT r = ({t}[4], {t}[4], s32[4], s32[4], pred[]) tuple(b, a, j, i, n) }}
step {{ a = {t}[] parameter(0) i = s32[] parameter(1) b = {t}[] parameter(2) j = s32[] parameter(3)
  m = s32[] maximum(i, j) ROOT r = ({t}[], s32[], {t}[], s32[]) tuple(a, j, b, m) }}
nearer {{ a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = pred[] compare(a, b), direction=GE }}
"""
_GROUPS = "replica_groups={{0}}"
_PAIR = "({t}[4], s32[4])"
_TAKEN = " k = s32[4] get-tuple-element(s), index=1"

WAYS = {
    "add-dependency": "n = token[] after-all(x) k = s32[4] add-dependency(i, n)",
    "all-gather": f"s = {_PAIR} all-gather(x, i), dimensions={{0}}, {_GROUPS}{_TAKEN}",
    "all-gather-start": f"b = ({_PAIR}, {_PAIR}) all-gather-start(x, i), dimensions={{0}}, {_GROUPS}"
    f" s = {_PAIR} all-gather-done(b){_TAKEN}",
    "all-reduce": f"n = s32[4] all-reduce(i), to_apply=greatest, {_GROUPS} k = s32[4] copy(n)",
    "all-reduce-start": f"s = s32[4] all-reduce-start(i), to_apply=greatest, {_GROUPS} k = s32[4] all-reduce-done(s)",
    "all-to-all": f"k = s32[4] all-to-all(i), dimensions={{0}}, {_GROUPS}",
    "async-start": "b = (({t}[4]), (), u32[]) async-start(x), calls=swap"
    " u = (({t}[4], s32[4]), (), u32[]) async-update(b, i)"
    " s = (s32[4], {t}[4]) async-done(u) k = s32[4] get-tuple-element(s), index=0",
    "call": "s = (s32[4], {t}[4]) call(x, i), to_apply=swap k = s32[4] get-tuple-element(s), index=0",
    "clamp": "k = s32[4] clamp(z, i, z)",
    "collective-broadcast": f"s = {_PAIR} collective-broadcast(x, i), {_GROUPS}{_TAKEN}",
    "collective-permute": f"s = {_PAIR} collective-permute(x, i), source_target_pairs={{{{0,0}}}}{_TAKEN}",
    "collective-permute-start": f"b = ({_PAIR}, {_PAIR}, u32[], u32[]) collective-permute-start(x, i),"
    f" source_target_pairs={{{{0,0}}}} s = {_PAIR} collective-permute-done(b){_TAKEN}",
    "concatenate": "n = s32[8] concatenate(i, z), dimensions={0} k = s32[4] slice(n), slice={[0:4]}",
    "conditional": "v = {pair} tuple(x, i) w = (s32[4], {t}[4]) tuple(i, x)"
    " k = s32[4] conditional(q, v, w), branch_computations={chosen, other}",
    "copy-start": "s = (s32[4], s32[4], u32[]) copy-start(i) k = s32[4] copy-done(s)",
    "custom-call": 'k = s32[4] custom-call(i), custom_call_target="Sharding"',
    "dynamic-reshape": "k = s32[<=4] dynamic-reshape(i, e)",
    "dynamic-slice": "k = s32[4] dynamic-slice(i, e), dynamic_slice_sizes={4}",
    "dynamic-update-slice": "k = s32[4] dynamic-update-slice(z, i, e)",
    "fusion": "s = (s32[4], {t}[4]) fusion(x, i), kind=kLoop, calls=swap k = s32[4] get-tuple-element(s), index=0",
    "gather": "n = s32[4,1] constant({{0}, {1}, {2}, {3}}) k = s32[4] gather(i, n), offset_dims={},"
    " collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}",
    "get-tuple-element": f"s = {_PAIR} tuple(x, i){_TAKEN}",
    "map": "k = s32[4] map(i, x), dimensions={0}, to_apply=first",
    "maximum": "k = s32[4] maximum(i, z)",
    "minimum": "k = s32[4] minimum(z, i)",
    "opt-barrier": f"p = {_PAIR} tuple(x, i) s = {_PAIR} opt-barrier(p){_TAKEN}",
    "pad": "n = s32[6] pad(i, e), padding=1_1 k = s32[4] slice(n), slice={[1:5]}",
    "ragged-all-to-all": f"k = s32[4] ragged-all-to-all(z, i, z, z, z, z), {_GROUPS}",
    "reduce": "v = {t}[4,2] broadcast(x), dimensions={0} n = s32[4,2] broadcast(i), dimensions={0}"
    f" s = {_PAIR} reduce(v, n, o, e), dimensions={{1}}, to_apply=best{_TAKEN}",
    "reduce-scatter": f"k = s32[4] reduce-scatter(i), dimensions={{0}}, to_apply=greatest, {_GROUPS}",
    "reduce-window": f"s = {_PAIR} reduce-window(x, i, o, e), window={{size=1}}, to_apply=best{_TAKEN}",
    "scan": "s = ({t}[4], s32[4], {t}[], s32[]) scan(x, z, o, f), dimensions={0}, num_carries=2, to_apply=step"
    + _TAKEN,
    "scatter": "v = {t}[1,4] reshape(x) n = s32[1,4] reshape(i) y = {t}[4] broadcast(o), dimensions={}"
    f" s = {_PAIR} scatter(y, z, h, v, n), update_window_dims={{1}}, inserted_window_dims={{}},"
    f" scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=best{_TAKEN}",
    "select": "k = s32[4] select(m, z, i)",
    "select-and-scatter": "k = s32[4] select-and-scatter(z, i, e), window={size=1}, select=nearer, scatter=greatest",
    "set-dimension-size": "k = s32[<=4] set-dimension-size(i, l), dimensions={0}",
    "sort": f"s = {_PAIR} sort(x, i), dimensions={{0}}, to_apply=less{_TAKEN}",
    "topk": "s = (s32[4], s32[4]) topk(i), k=4 k = s32[4] get-tuple-element(s), index=0",
    "tuple": f"s = {_PAIR} tuple(x, i){_TAKEN}",
    "while": "y = {t}[4] copy(x) n = pred[] constant(true) v = ({t}[4], {t}[4], s32[4], s32[4], pred[])"
    " tuple(x, y, z, i, n) s = ({t}[4], {t}[4], s32[4], s32[4], pred[]) while(v), condition=go, body=iteration"
    " k = s32[4] get-tuple-element(s), index=2",
}
"""By opcode, how an index `i` comes to be `k`, beside `x`; second halves stand with their first."""

_SECOND_HALVES = {
    "all-gather-done", "all-reduce-done", "async-done", "async-update", "collective-permute-done", "copy-done",
}  # fmt: skip
_NEW_NUMBERS = {
    "after-all", "batch-norm-grad", "batch-norm-inference", "batch-norm-training", "convolution", "dot", "infeed",
    "outfeed", "ragged-dot", "recv", "recv-done", "rng", "rng-bit-generator", "scaled-dot", "send", "send-done",
    "stochastic-convert", "triangular-solve",
}  # fmt: skip
"""Of several operands or results, but what they yield are not elements of operands."""


def limits(way, beside):
    text = (way + " c = s32[4,1] reshape(k)").replace("{pair}", _PAIR).replace("{t}", beside)
    return compiler.parse(f"""HloModule m
{_COMPUTATIONS.replace("{{", "{").replace("}}", "}").replace("{t}", beside)}
ENTRY main {{
  table = f32[20] parameter(0) x = {beside}[4] parameter(1) i = s32[4] parameter(2) q = s32[] parameter(3)
  m = pred[4] parameter(4) f = s32[] parameter(5)
  e = s32[] constant(0) l = s32[] constant(4) o = {beside}[] parameter(6) z = s32[4] constant({{0, 1, 2, 3}})
  h = s32[1] constant({{0}})
  {text}
  ROOT r = f32[4] gather(table, c), offset_dims={{}}, collapsed_slice_dims={{0}}, start_index_map={{0}},
    index_vector_dim=1, slice_sizes={{1}}
}}""")


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("opcode", WAYS)
def test_an_index_is_found_and_what_is_beside_it_is_none(opcode, beside):
    module = limits(WAYS[opcode], beside)
    compiler.verify(module)
    found = index_limits(module)
    carried = 5 if opcode == "scan" else 2
    assert found == {carried: 19}
    made = inputs.generate(module, 0)
    assert made[1].dtype == inputs.DTYPES[beside]
    assert made[carried].min() >= 0


def test_every_opcode_of_several_operands_or_results_has_a_way_or_makes_new_numbers():
    several = {
        opcode for opcode, op in OPS.items() if not op.elementwise and (op.operands[1] is None or op.operands[1] > 1)
    }
    assert several - _NEW_NUMBERS - _SECOND_HALVES <= set(WAYS)
    assert set(WAYS) <= set(OPS)


@pytest.mark.parametrize("element_type", [name for name in inputs.DTYPES if name[0] not in "su"])
def test_what_is_no_integer_is_no_index_even_where_it_is_converted_to_one(element_type):
    module = compiler.parse(f"""ENTRY main {{ table = f32[20] parameter(0) x = {element_type}[4,1] parameter(1)
  c = s32[4,1] convert(x)
  ROOT r = f32[4] gather(table, c), offset_dims={{}}, collapsed_slice_dims={{0}}, start_index_map={{0}},
    index_vector_dim=1, slice_sizes={{1}} }}""")
    assert index_limits(module) == {}
    assert inputs.generate(module, 0)[1].dtype == inputs.DTYPES[element_type]


def test_what_one_caller_gives_is_not_mixed_with_what_another_gives():
    module = compiler.parse("""
same { a = s32[4] parameter(0) ROOT r = s32[4] copy(a) }
ENTRY main { table = f32[20] parameter(0) i = s32[4] parameter(1) j = s32[4] parameter(2)
  k = s32[4] call(i), to_apply=same n = s32[4] call(j), to_apply=same c = s32[4,1] reshape(k)
  g = f32[4] gather(table, c), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0},
    index_vector_dim=1, slice_sizes={1}
  ROOT r = (f32[4], s32[4]) tuple(g, n) }""")
    assert index_limits(module) == {1: 19}
