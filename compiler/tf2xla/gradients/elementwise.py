"""Functions of one number, of two, and of their results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from compiler.tf2xla.gradients.spreading import conj, unspread
from compiler.tf2xla.record import Differentiate, no_gradient
from compiler.tf2xla.terms import Built, Output

Formula = Callable[[Output], Output]


def _by_input(derivative: Formula) -> Differentiate:
    """The derivative as a formula of the argument."""
    return lambda node, g: g * conj(derivative(node.inputs[0]))


def _by_result(derivative: Formula) -> Differentiate:
    """The derivative as a formula of the result, which is cheaper."""
    return lambda node, g: g * conj(derivative(node.output))


def _by_op(op: str, *order: str, **attributes: str) -> Differentiate:
    """The derivative by an op: on `g` and the input `x`, the result `y` or its conjugate `y*`."""

    def formula(node: Built, g: Output) -> Output:
        given = {"g": g, "x": node.inputs[0], "y": node.output}
        if "y*" in order:
            given["y*"] = conj(node.output)
        stated = {name: node.attribute(name) for name in attributes.values()}
        return node.add(op, *(given[name] for name in order), **stated)

    return formula


def _over(x: Output) -> Output:
    return x.op("Reciprocal")


def _square(x: Output) -> Output:
    return x.op("Square")


def _bell(factor: float) -> Formula:
    """Gauss's bell, which error functions are integrals of."""
    return lambda x: (-_square(x)).op("Exp") * factor


_ONE_NUMBER: dict[str, Differentiate] = {
    "Abs": lambda node, g: g * node["x"].op("Sign"),
    "Neg": lambda _node, g: -g,
    "Sign": lambda node, _g: node["x"].op("ZerosLike"),
    "Exp": _by_result(lambda y: y),
    "Expm1": _by_input(lambda x: x.op("Exp")),
    "Log": _by_input(_over),
    "Log1p": _by_input(lambda x: _over(x + 1)),
    "Sin": _by_input(lambda x: x.op("Cos")),
    "Cos": _by_input(lambda x: -x.op("Sin")),
    "Tan": _by_input(lambda x: _square(_over(x.op("Cos")))),
    "Sinh": _by_input(lambda x: x.op("Cosh")),
    "Cosh": _by_input(lambda x: x.op("Sinh")),
    "Asin": _by_input(lambda x: _over((1 - _square(x)).op("Sqrt"))),
    "Acos": _by_input(lambda x: -_over((1 - _square(x)).op("Sqrt"))),
    "Atan": _by_input(lambda x: _over(_square(x) + 1)),
    "Asinh": _by_result(lambda y: _over(y.op("Cosh"))),
    "Acosh": _by_result(lambda y: _over(y.op("Sinh"))),
    "Atanh": _by_input(lambda x: _over(1 - _square(x))),
    "Square": _by_input(lambda x: x * 2),
    "Erf": _by_input(_bell(2 / math.sqrt(math.pi))),
    "Erfc": _by_input(_bell(-2 / math.sqrt(math.pi))),
    "Lgamma": _by_input(lambda x: x.op("Digamma")),
    "Tanh": _by_op("TanhGrad", "y*", "g"),
    "Sigmoid": _by_op("SigmoidGrad", "y*", "g"),
    "Sqrt": _by_op("SqrtGrad", "y", "g"),
    "Rsqrt": _by_op("RsqrtGrad", "y", "g"),
    "Reciprocal": _by_op("ReciprocalGrad", "y", "g"),
    "Inv": _by_op("ReciprocalGrad", "y", "g"),
    "Relu": _by_op("ReluGrad", "g", "y"),
    "Relu6": _by_op("Relu6Grad", "g", "y"),
    "LeakyRelu": _by_op("LeakyReluGrad", "g", "x", alpha="alpha"),
    "Elu": _by_op("EluGrad", "g", "y"),
    "Selu": _by_op("SeluGrad", "g", "y"),
    "Softplus": _by_op("SoftplusGrad", "g", "x"),
    "Softsign": _by_op("SoftsignGrad", "g", "x"),
    **dict.fromkeys(("Floor", "Ceil", "Round", "Rint", "Invert", "PopulationCount", "LogicalNot"), no_gradient),
}


def _two(formula: Callable[[Built, Output], Sequence[Output | None]]) -> Differentiate:
    """A function of two arrays that are spread over each other."""

    def differentiated(node: Built, g: Output) -> Sequence[Output | None]:
        x, y = node.inputs
        of_x, of_y = formula(node, g)
        return unspread(node, (x, of_x), (y, of_y))

    return differentiated


def _product(node: Built, g: Output) -> Sequence[Output]:
    x, y = node.inputs
    return g * conj(y), g * conj(x)


def _quotient(divide: str) -> Callable[[Built, Output], Sequence[Output]]:
    def formula(node: Built, g: Output) -> Sequence[Output]:
        x, y = map(conj, node.inputs)
        return g.op(divide, y), g * (-x).op(divide, y).op(divide, y)

    return formula


def _remainder(node: Built, g: Output) -> Sequence[Output]:
    x, y = node.inputs
    return g, g * -x.op("FloorDiv", y)


def _power(node: Built, g: Output) -> Sequence[Output]:
    """That of x is y x^(y-1), that of y x^y log(x), taken as 0 where x is not positive (complex: where it is 0)."""
    x, y, z = (*map(conj, node.inputs), conj(node.output))
    is_complex = str(x.type.base).startswith("complex")
    usable = x.op("NotEqual", x.op("ZerosLike")) if is_complex else x.op("Greater", x.op("ZerosLike"))
    logarithm = usable.op("SelectV2", usable.op("SelectV2", x, x.op("OnesLike")).op("Log"), x.op("ZerosLike"))
    return g * y * x.op("Pow", y - 1), g * z * logarithm


def _chosen(comparison: str) -> Callable[[Built, Output], Sequence[Output]]:
    """The greater or the less: of two that are equal the first."""

    def formula(node: Built, g: Output) -> Sequence[Output]:
        x, y = node.inputs
        takes, zeros = x.op(comparison, y), g.op("ZerosLike")
        return takes.op("SelectV2", g, zeros), takes.op("SelectV2", zeros, g)

    return formula


def _squared_difference(node: Built, g: Output) -> Sequence[Output]:
    x, y = node.inputs
    of_x = g * 2 * (x - y)
    return of_x, -of_x


def _angle(node: Built, g: Output) -> Sequence[Output]:
    y, x = node.inputs
    inverse = g / (_square(x) + _square(y))
    return x * inverse, -y * inverse


def _no_nan(node: Built, g: Output) -> Sequence[Output]:
    x, y = map(conj, node.inputs)
    return g.op("MulNoNan", y), x.op("MulNoNan", g)


def _x_log(of: Formula, slope: str) -> Callable[[Built, Output], Sequence[Output]]:
    """Products x log(y) and the like, which are 0 where x is."""

    def formula(node: Built, g: Output) -> Sequence[Output]:
        x, y = node.inputs
        not_zero = x.op("NotEqual", x.op("ZerosLike")).op("Cast", DstT=x.type.base)
        return g * not_zero.op(slope, y), g * x.op("Xdivy", of(y))

    return formula


def _x_over(node: Built, g: Output) -> Sequence[Output]:
    x, y = node.inputs
    not_zero = x.op("NotEqual", x.op("ZerosLike")).op("Cast", DstT=x.type.base)
    return g * not_zero.op("Xdivy", y), g * (-x).op("Xdivy", _square(y))


def _old_choice(node: Built, g: Output) -> Sequence[Output | None]:
    zeros = g.op("ZerosLike")
    condition = node["condition"]
    return None, condition.op("Select", g, zeros), condition.op("Select", zeros, g)


def _choice(node: Built, g: Output) -> Sequence[Output | None]:
    """Of each branch where it was chosen; each was spread over the condition and the other."""
    condition, then, otherwise = node.inputs
    zeros = g.op("ZerosLike")
    gradients = condition.op("SelectV2", g, zeros), condition.op("SelectV2", zeros, g)
    found = [
        unspread(node, (own, gradient), (node.output, None))[0]
        for own, gradient in zip((then, otherwise), gradients, strict=True)
    ]
    return [None, *found]


def _clipped(node: Built, g: Output) -> Sequence[Output | None]:
    x, low, high = node.inputs
    zeros = g.op("ZerosLike")
    below, above = x.op("Less", low), x.op("Greater", high)
    inside = below.op("LogicalOr", above).op("SelectV2", zeros, g)
    of_low, of_high = below.op("SelectV2", g, zeros), above.op("SelectV2", g, zeros)
    found = [unspread(node, (own, gradient), (x, None))[0] for own, gradient in ((low, of_low), (high, of_high))]
    return [inside, *found]


def _cast(node: Built, g: Output) -> Output | None:
    source = node["x"].type.base
    floats = ("float16", "float32", "float64", "bfloat16", "complex64", "complex128")
    return g.op("Cast", DstT=source) if str(source) in floats else None


_SUM: Callable[[Built, Output], Sequence[Output]] = lambda _node, g: (g, g)  # noqa: E731  # a row of the table below
_TWO_NUMBERS: dict[str, Differentiate] = {
    "Add": _two(_SUM),
    "AddV2": _two(_SUM),
    "Sub": _two(lambda _node, g: (g, -g)),
    "Mul": _two(_product),
    "Div": _two(_quotient("RealDiv")),
    "RealDiv": _two(_quotient("RealDiv")),
    "DivNoNan": _two(_quotient("DivNoNan")),
    "MulNoNan": _two(_no_nan),
    "FloorMod": _two(_remainder),
    "Pow": _two(_power),
    "Maximum": _two(_chosen("GreaterEqual")),
    "Minimum": _two(_chosen("LessEqual")),
    "SquaredDifference": _two(_squared_difference),
    "Atan2": _two(_angle),
    "Xlogy": _two(_x_log(lambda y: y, "Xlogy")),
    "Xlog1py": _two(_x_log(lambda y: y + 1, "Xlog1py")),
    "Xdivy": _two(_x_over),
    **dict.fromkeys(
        (
            *("FloorDiv", "TruncateDiv", "Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual"),
            *("LogicalAnd", "LogicalOr", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift"),
        ),
        no_gradient,
    ),
}

GRADIENTS: dict[str, Differentiate] = {
    **_ONE_NUMBER,
    **_TWO_NUMBERS,
    "Select": _old_choice,
    "SelectV2": _choice,
    "ClipByValue": _clipped,
    "Cast": _cast,
    "AddN": lambda node, g: [g] * len(node.inputs),
}
