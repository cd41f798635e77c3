"""A program for each form of an opcode and each type that it takes, large enough that vectors and threads count.

What is fast for f32 says little of s16 or f8: each type has loads, conversions and roundings of its own.  In the lines
below T is the type of the elements.
"""

_FLOATS = ("f16", "bf16", "f32", "f64")
_INTEGERS = ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64")
_NUMBERS = (*_FLOATS, *_INTEGERS)
_COMPLEX = ("c64", "c128")
_CONVERTED = (*_NUMBERS, "pred", "f8e4m3fn", "f8e5m2", "s4")

_X, _Y = "x = T[262144] parameter(0)", "y = T[262144] parameter(1)"
_ADD = "add { a = T[] parameter(0) b = T[] parameter(1) ROOT c = T[] add(a, b) }"
_MAXIMUM = "maximum { a = T[] parameter(0) b = T[] parameter(1) ROOT c = T[] maximum(a, b) }"
_BELOW = "below { a = T[] parameter(0) b = T[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }"

_OF_FLOATS = """abs ceil floor cbrt cosine exponential exponential-minus-one log log-plus-one logistic negate
    round-nearest-afz round-nearest-even rsqrt sign sine sqrt tan tanh erf"""
_OF_INTEGERS = "not count-leading-zeros popcnt"
_OF_COMPLEX = "exponential log sqrt tanh"
_OF_TWO = "add subtract multiply divide remainder maximum minimum"
_OF_TWO_FLOATS = "atan2 power"
_OF_TWO_INTEGERS = "and or xor shift-left shift-right-arithmetic shift-right-logical"
_OF_TWO_COMPLEX = "add multiply divide"
_BY_A_CONSTANT = "multiply divide remainder"

_CHOICES = {
    "select": f"{_X} {_Y} p = pred[262144] parameter(2) ROOT r = T[262144] select(p, x, y)",
    "clamp": f"{_X} low = T[] parameter(1) high = T[] parameter(2) ROOT r = T[262144] clamp(low, x, high)",
    "compare": f"{_X} {_Y} ROOT r = pred[262144] compare(x, y), direction=LT",
}
_REDUCTIONS = {
    "rows": "x = T[512,1000] parameter(0) z = T[] parameter(1)"
    " ROOT r = T[512] reduce(x, z), dimensions={1}, to_apply=OP",
    "columns": "x = T[1000,512] parameter(0) z = T[] parameter(1)"
    " ROOT r = T[512] reduce(x, z), dimensions={0}, to_apply=OP",
    "all": f"{_X} z = T[] parameter(1) ROOT r = T[] reduce(x, z), dimensions={{0}}, to_apply=OP",
    "windows": "x = T[8,64,64,16] parameter(0) z = T[] parameter(1) ROOT r = T[8,32,32,16] reduce-window(x, z),"
    " window={size=1x2x2x1 stride=1x2x2x1}, to_apply=OP",
    "running": "x = T[256,1024] parameter(0) z = T[] parameter(1) ROOT r = T[256,1024] reduce-window(x, z),"
    " window={size=1x1024 pad=0_0x1023_0}, to_apply=OP",
}
_MOVES = {
    "transpose": "x = T[500,600] parameter(0) ROOT r = T[600,500] transpose(x), dimensions={1,0}",
    "transpose inside": "x = T[16,60,100] parameter(0) ROOT r = T[16,100,60] transpose(x), dimensions={0,2,1}",
    "concatenate": "x = T[500,300] parameter(0) y = T[500,77] parameter(1)"
    " ROOT r = T[500,377] concatenate(x, y), dimensions={1}",
    "pad": "x = T[500,300] parameter(0) z = T[] parameter(1) ROOT r = T[510,320] pad(x, z), padding=5_5x7_13",
    "slice": "x = T[500,600] parameter(0) ROOT r = T[250,200] slice(x), slice={[0:500:2],[0:600:3]}",
    "reverse": "x = T[500,600] parameter(0) ROOT r = T[500,600] reverse(x), dimensions={1}",
    "broadcast of rows": "x = T[600] parameter(0) ROOT r = T[500,600] broadcast(x), dimensions={1}",
    "broadcast of columns": "x = T[500] parameter(0) ROOT r = T[500,600] broadcast(x), dimensions={0}",
    "gather of rows": "x = T[5000,64] parameter(0) i = s32[3000,1] parameter(1) ROOT r = T[3000,64] gather(x, i),"
    " offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,64}",
    "gather of columns": "x = T[500,500] parameter(0) i = s32[300,1] parameter(1) ROOT r = T[500,300] gather(x, i),"
    " offset_dims={0}, collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=1, slice_sizes={500,1}",
    "dynamic-slice": "x = T[1000,300] parameter(0) i = s32[] parameter(1)"
    " ROOT r = T[200,100] dynamic-slice(x, i, i), dynamic_slice_sizes={200,100}",
    "dynamic-update-slice": "x = T[1000,300] parameter(0) u = T[10,300] parameter(1) i = s32[] parameter(2)"
    " z = s32[] constant(0) ROOT r = T[1000,300] dynamic-update-slice(x, u, i, z)",
}
_SCATTERS = {
    "rows": "x = T[1000,64] parameter(0) i = s32[3000,1] parameter(1) u = T[3000,64] parameter(2) ROOT r = T[1000,64]"
    " scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},"
    " index_vector_dim=1, to_apply=add",
    "elements": "x = T[10000] parameter(0) i = s32[30000,1] parameter(1) u = T[30000] parameter(2) ROOT r = T[10000]"
    " scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},"
    " index_vector_dim=1, to_apply=add",
}
_PRODUCTS = {
    "dot": "x = T[192,192] parameter(0) y = T[192,192] parameter(1) ROOT r = T[192,192] dot(x, y),"
    " lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "dot of odd sizes": "x = T[37,101] parameter(0) y = T[101,53] parameter(1) ROOT r = T[37,53] dot(x, y),"
    " lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "dot with a vector": "x = T[1000,300] parameter(0) y = T[300] parameter(1) ROOT r = T[1000] dot(x, y),"
    " lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "batch of dots": "x = T[32,40,50] parameter(0) y = T[32,50,30] parameter(1) ROOT r = T[32,40,30] dot(x, y),"
    " lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}",
    "convolution": "x = T[2,20,20,16] parameter(0) w = T[3,3,16,24] parameter(1) ROOT r = T[2,20,20,24]"
    " convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
    "depthwise convolution": "x = T[2,20,20,16] parameter(0) w = T[3,3,1,16] parameter(1) ROOT r = T[2,20,20,16]"
    " convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=16",
}
_SORTS = {
    "rows": "x = T[64,1000] parameter(0) ROOT r = T[64,1000] sort(x), dimensions={1}, to_apply=below",
    "one dimension": "x = T[20000] parameter(0) ROOT r = T[20000] sort(x), dimensions={0}, to_apply=below",
}


def _texts(forms, types, called=""):
    """A program of each form for each type."""
    template = f"{called}\nENTRY main {{ %s }}\n"
    return {f"{name} {t}": (template % lines).replace("T[", f"{t}[") for name, lines in forms.items() for t in types}


def _each(opcodes, lines):
    """A form for each opcode, OP in the lines."""
    return {opcode: lines.replace("OP", opcode) for opcode in opcodes.split()}


_ONE, _TWO = f"{_X} ROOT r = T[262144] OP(x)", f"{_X} {_Y} ROOT r = T[262144] OP(x, y)"
_CONSTANT = f"{_X} c = T[] constant(7) b = T[262144] broadcast(c), dimensions={{}} ROOT r = T[262144] OP(x, b)"
_CONVERSIONS = {f"convert to {t} from": f"{_X} ROOT r = {t}[262144] convert(x)" for t in _CONVERTED}

FAMILIES = {
    "functions": _texts(_each(_OF_FLOATS, _ONE), _FLOATS) | _texts(_each(_OF_INTEGERS, _ONE), _INTEGERS),
    "two operands": _texts(_each(_OF_TWO, _TWO), _NUMBERS)
    | _texts(_each(_OF_TWO_FLOATS, _TWO), _FLOATS)
    | _texts(_each(_OF_TWO_INTEGERS, _TWO), _INTEGERS),
    "complex": _texts(_each(_OF_COMPLEX, _ONE), _COMPLEX) | _texts(_each(_OF_TWO_COMPLEX, _TWO), _COMPLEX),
    "by constants": _texts(_each(_BY_A_CONSTANT, _CONSTANT), _NUMBERS),
    "choices": _texts(_CHOICES, _NUMBERS),
    "conversions": _texts(_CONVERSIONS, _CONVERTED),
    "sums": _texts({name: lines.replace("OP", "add") for name, lines in _REDUCTIONS.items()}, _NUMBERS, _ADD),
    "maxima": _texts({name: lines.replace("OP", "maximum") for name, lines in _REDUCTIONS.items()}, _NUMBERS, _MAXIMUM),
    "moves": _texts(_MOVES, (*_NUMBERS, "pred")),
    "scatters": _texts(_SCATTERS, _NUMBERS, _ADD),
    "products": _texts(_PRODUCTS, _NUMBERS),
    "sorts": _texts(_SORTS, _NUMBERS, _BELOW),
}
"""Texts by what they are of, as `add s16`, in families."""
