"""What optimizers do to variables in one step: the formulas of TensorFlow's kernels, for references and resources.

A row says the variables and numbers that a step takes, in order, and a formula what the variables hold after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from compiler.expansion.expression import Expression
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.indexing import gathered
from compiler.tf2xla.record import Lower, Record, Trait, record, table
from compiler.tf2xla.scattering import scattered
from compiler.tf2xla.values import Handle

Given = Mapping[str, Expression]
Step = Callable[[Operation, Given], Mapping[str, Expression]]


def _descent(_operation: Operation, given: Given) -> Mapping[str, Expression]:
    return {"var": given["var"] - given["delta"] * given["alpha"]}


def _momentum(operation: Operation, given: Given) -> Mapping[str, Expression]:
    gradient, rate, momentum = given["grad"], given["lr"], given["momentum"]
    accumulated = given["accum"] * momentum + gradient
    step = accumulated * rate
    if operation.attribute("use_nesterov"):
        step = gradient * rate + accumulated * momentum * rate
    return {"accum": accumulated, "var": given["var"] - step}


def _keras_momentum(operation: Operation, given: Given) -> Mapping[str, Expression]:
    step = given["grad"] * given["lr"]
    accumulated = given["accum"] * given["momentum"] - step
    moved = accumulated * given["momentum"] - step if operation.attribute("use_nesterov") else accumulated
    return {"accum": accumulated, "var": given["var"] + moved}


def _adam(operation: Operation, given: Given) -> Mapping[str, Expression]:
    gradient = given["grad"]
    one = gradient.literal(1)
    first, second = (one - given[name] for name in ("beta1", "beta2"))
    rate = given["lr"] * (one - given["beta2_power"]).apply("sqrt") / (one - given["beta1_power"])
    m = given["m"] + (gradient - given["m"]) * first
    v = given["v"] + (gradient * gradient - given["v"]) * second
    moved = m
    if operation.attribute("use_nesterov"):
        moved = gradient * first + m * given["beta1"]
    return {"m": m, "v": v, "var": given["var"] - (moved * rate) / (v.apply("sqrt") + given["epsilon"])}


def _rms(_operation: Operation, given: Given) -> Mapping[str, Expression]:
    gradient = given["grad"]
    squares = given["ms"] + (gradient * gradient - given["ms"]) * (gradient.literal(1) - given["rho"])
    step = gradient * given["lr"] * (squares + given["epsilon"]).apply("rsqrt")
    moved = given["mom"] * given["momentum"] + step
    return {"ms": squares, "mom": moved, "var": given["var"] - moved}


def _centered_rms(_operation: Operation, given: Given) -> Mapping[str, Expression]:
    gradient = given["grad"]
    rest = gradient.literal(1) - given["rho"]
    squares = given["ms"] + (gradient * gradient - given["ms"]) * rest
    mean = given["mg"] + (gradient - given["mg"]) * rest
    spread = squares - mean * mean + given["epsilon"]
    moved = given["mom"] * given["momentum"] + gradient * given["lr"] * spread.apply("rsqrt")
    return {"ms": squares, "mg": mean, "mom": moved, "var": given["var"] - moved}


def _squares(operation: Operation, given: Given) -> Expression:
    """The sum of all squares so far, with this one's unless the node says that it is not to be counted."""
    if not operation.attribute("update_slots"):
        return given["accum"]
    return given["accum"] + given["grad"] * given["grad"]


def _adagrad(operation: Operation, given: Given) -> Mapping[str, Expression]:
    squares = _squares(operation, given)
    step = given["grad"] * given["lr"] * squares.apply("rsqrt")
    return {"accum": squares, "var": given["var"] - step}


def _adagrad_v2(operation: Operation, given: Given) -> Mapping[str, Expression]:
    squares = _squares(operation, given)
    step = given["grad"] * given["lr"] / (squares.apply("sqrt") + given["epsilon"])
    return {"accum": squares, "var": given["var"] - step}


def _adadelta(_operation: Operation, given: Given) -> Mapping[str, Expression]:
    gradient, rho, epsilon = given["grad"], given["rho"], given["epsilon"]
    rest = gradient.literal(1) - rho
    squares = given["accum"] * rho + gradient * gradient * rest
    step = (given["accum_update"] + epsilon).apply("sqrt") * (squares + epsilon).apply("rsqrt") * gradient
    return {
        "accum": squares,
        "accum_update": given["accum_update"] * rho + step * step * rest,
        "var": given["var"] - step * given["lr"],
    }


def _greatest_gradient(_operation: Operation, given: Given) -> Mapping[str, Expression]:
    gradient, one = given["grad"], given["grad"].literal(1)
    m = given["m"] + (gradient - given["m"]) * (one - given["beta1"])
    v = (given["v"] * given["beta2"]).apply("maximum", gradient.apply("abs"))
    rate = given["lr"] / (one - given["beta1_power"])
    return {"m": m, "v": v, "var": given["var"] - m / (v + given["epsilon"]) * rate}


def _by_sign(scale: Callable[[Given, Expression], Expression]) -> Step:
    """Steps that are scaled by whether the gradient has the sign of the mean of gradients."""

    def step(_operation: Operation, given: Given) -> Mapping[str, Expression]:
        gradient = given["grad"]
        m = given["m"] * given["beta"] + gradient * (gradient.literal(1) - given["beta"])
        signs = gradient.apply("sign") * m.apply("sign")
        return {"m": m, "var": given["var"] - scale(given, signs) * gradient * given["lr"]}

    return step


def _nearer(x: Expression, by: Expression) -> Expression:
    """Numbers moved towards 0, those that are nearer than that becoming 0."""
    return x.apply("sign") * (x.apply("abs") - by).apply("maximum", 0)


def _proximal(at: Expression, given: Given, rate: Expression) -> Expression:
    """The point near another that makes the penalties by l1 and l2 least."""
    return _nearer(at, rate * given["l1"]) / (rate * given["l2"] + 1)


def _proximal_descent(_operation: Operation, given: Given) -> Mapping[str, Expression]:
    return {"var": _proximal(given["var"] - given["delta"] * given["alpha"], given, given["alpha"])}


def _proximal_adagrad(_operation: Operation, given: Given) -> Mapping[str, Expression]:
    squares = given["accum"] + given["grad"] * given["grad"]
    rate = squares.apply("rsqrt") * given["lr"]
    return {"accum": squares, "var": _proximal(given["var"] - given["grad"] * rate, given, rate)}


def _dual_averaging(_operation: Operation, given: Given) -> Mapping[str, Expression]:
    total = given["gradient_accumulator"] + given["grad"]
    squares = given["gradient_squared_accumulator"] + given["grad"] * given["grad"]
    step = given["global_step"].to(total.type)
    below = squares.apply("sqrt") + given["l2"] * step * given["lr"]
    moved = _nearer(total, given["l1"] * step) * given["lr"]
    return {"gradient_accumulator": total, "gradient_squared_accumulator": squares, "var": -moved / below}


def _regularized_leader(operation: Operation, given: Given) -> Mapping[str, Expression]:
    gradient, rate, var = given["grad"], given["lr"], given["var"]
    squares = given["accum"] + gradient * gradient
    power = -given["lr_power"]
    before, after = (one.apply("power", power) for one in (given["accum"], squares))
    shrunk = gradient + var * (given["l2_shrinkage"] * 2) if "l2_shrinkage" in given else gradient
    l1, l2 = given["l1"], given["l2"] * 2
    if operation.attribute("multiply_linear_by_lr"):
        linear = given["linear"] + shrunk * rate - (after - before) * var
        l1, below = l1 * rate, after + l2 * rate
    else:
        linear = given["linear"] + shrunk - (after - before) / rate * var
        below = after / rate + l2
    return {"accum": squares, "linear": linear, "var": -_nearer(linear, l1) / below}


@dataclass(frozen=True, slots=True)
class _Row:
    """A kind of step: the variables, what else it takes, its switches, and whether there is one on references."""

    variables: str
    numbers: str
    switches: str
    step: Step
    doc: str
    has_reference: bool = True
    has_rows: bool = False


_LOCK, _NESTEROV, _SLOTS = "use_locking: bool = false", "use_nesterov: bool = false", "update_slots: bool = true"
_BY_RATE = "multiply_linear_by_lr: bool = false"
_OWN_TYPES = {"global_step": "int64"}
_ROWS = {
    "GradientDescent": _Row("var", "alpha delta", _LOCK, _descent, "Down the gradient."),
    "Momentum": _Row(
        "var accum",
        "lr grad momentum",
        f"{_LOCK}; {_NESTEROV}",
        _momentum,
        "Down all gradients, older ones less.",
        has_rows=True,
    ),
    "KerasMomentum": _Row(
        "var accum",
        "lr grad momentum",
        f"{_LOCK}; {_NESTEROV}",
        _keras_momentum,
        "The same, the rate being part of what is kept.",
        has_reference=False,
        has_rows=True,
    ),
    "Adam": _Row(
        "var m v",
        "beta1_power beta2_power lr beta1 beta2 epsilon grad",
        f"{_LOCK}; {_NESTEROV}",
        _adam,
        "Down the mean of gradients over the root of the mean of squares.",
    ),
    "RMSProp": _Row(
        "var ms mom",
        "lr rho momentum epsilon grad",
        _LOCK,
        _rms,
        "Down the gradient over the root of mean squares.",
        has_rows=True,
    ),
    "CenteredRMSProp": _Row(
        "var mg ms mom",
        "lr rho momentum epsilon grad",
        _LOCK,
        _centered_rms,
        "Down the gradient over the root of the variance.",
        has_rows=True,
    ),
    "Adagrad": _Row(
        "var accum",
        "lr grad",
        f"{_LOCK}; {_SLOTS}",
        _adagrad,
        "Down the gradient over the root of the sum of squares.",
        has_rows=True,
    ),
    "AdagradV2": _Row(
        "var accum",
        "lr epsilon grad",
        f"{_LOCK}; {_SLOTS}",
        _adagrad_v2,
        "The same, with a little more below the line.",
        has_rows=True,
    ),
    "Adadelta": _Row(
        "var accum accum_update",
        "lr rho epsilon grad",
        _LOCK,
        _adadelta,
        "Steps of the size that steps had so far.",
        has_rows=True,
    ),
    "AdaMax": _Row(
        "var m v",
        "beta1_power lr beta1 beta2 epsilon grad",
        _LOCK,
        _greatest_gradient,
        "Down the mean of gradients over the greatest of them.",
    ),
    "AddSign": _Row(
        "var m",
        "lr alpha sign_decay beta grad",
        _LOCK,
        _by_sign(lambda given, signs: signs * given["sign_decay"] + given["alpha"]),
        "Down the gradient, further where it keeps its sign.",
    ),
    "PowerSign": _Row(
        "var m",
        "lr logbase sign_decay beta grad",
        _LOCK,
        _by_sign(lambda given, signs: (signs * given["sign_decay"] * given["logbase"]).apply("exponential")),
        "The same by a factor.",
    ),
    "ProximalGradientDescent": _Row(
        "var", "alpha l1 l2 delta", _LOCK, _proximal_descent, "Down the gradient, then towards 0."
    ),
    "ProximalAdagrad": _Row(
        "var accum",
        "lr l1 l2 grad",
        _LOCK,
        _proximal_adagrad,
        "The same by the root of the sum of squares.",
        has_rows=True,
    ),
    "AdagradDA": _Row(
        "var gradient_accumulator gradient_squared_accumulator",
        "grad lr l1 l2 global_step",
        _LOCK,
        _dual_averaging,
        "Where the sum of all gradients leads from 0.",
        has_rows=True,
    ),
    "Ftrl": _Row(
        "var accum linear",
        "grad lr l1 l2 lr_power",
        f"{_LOCK}; {_BY_RATE}",
        _regularized_leader,
        "Where all gradients so far would have led best.",
        has_rows=True,
    ),
    "FtrlV2": _Row(
        "var accum linear",
        "grad lr l1 l2 l2_shrinkage lr_power",
        f"{_LOCK}; {_BY_RATE}",
        _regularized_leader,
        "The same, with variables that shrink.",
        has_rows=True,
    ),
}


def _lower(row: _Row, *, is_reference: bool) -> Lower:
    def lower(operation: Operation) -> Handle | None:
        variables = row.variables.split()
        given = {name: operation.read(name) for name in variables}
        given |= {name: operation[name] for name in row.numbers.split()}
        for name, one in given.items():
            wanted = given["var"].dims if name in (*variables, "grad", "delta") else ()
            operation.require(
                one.dims == wanted, f"its {name} must have the sizes {list(wanted)}, not {list(one.dims)}"
            )
        for name, value in row.step(operation, given).items():
            operation.write(name, value)
        return operation.variable("var") if is_reference else None

    return lower


def _lower_rows(row: _Row, *, is_reference: bool) -> Lower:
    """The step on rows of the variables, by their numbers, none of which is there twice."""

    def lower(operation: Operation) -> Handle | None:
        variables = row.variables.split()
        indices = operation["indices"]
        operation.require(len(indices.dims) == 1, lambda: f"{list(indices.dims)} are not the numbers of rows")
        whole = {name: operation.read(name) for name in variables}
        for name, one in whole.items():
            operation.require(one.dims == whole["var"].dims, f"its {name} must have the sizes of the variable")
        given = {name: gathered(operation, one, indices, 0, 0) for name, one in whole.items()}
        given |= {name: operation[name] for name in row.numbers.split()}
        fits = given["grad"].dims == given["var"].dims
        operation.require(fits, f"its gradient must have the sizes {list(given['var'].dims)}")
        for name, value in row.step(operation, given).items():
            operation.write(name, scattered(whole[name], indices.reshape(*indices.dims, 1), value, None))
        return operation.variable("var") if is_reference else None

    return lower


def _forms(name: str, row: _Row) -> list[Record]:
    """The step on resources and on references, whole and on rows."""
    found = []
    for prefix in ("Apply", "ResourceApply", "SparseApply", "ResourceSparseApply"):
        is_reference, has_rows = not prefix.startswith("Resource"), "Sparse" in prefix
        if (is_reference and not row.has_reference) or (has_rows and not row.has_rows):
            continue
        kind = "Ref(T)" if is_reference else "resource"
        takes = [f"{one}: {kind}" for one in row.variables.split()]
        for one in row.numbers.split():
            own = [f"{one}: {_OWN_TYPES.get(one, 'T')}"]
            takes += [*own, "indices: Tindices"] if has_rows and one == "grad" else own
        lower = (_lower_rows if has_rows else _lower)(row, is_reference=is_reference)
        gives, more = ("out: Ref(T)" if is_reference else ""), ("; Tindices: {index}" if has_rows else "")
        text = f"{', '.join(takes)} -> {gives}; T: {{numbers}}{more}; {row.switches}"
        traits = Trait.NONE if is_reference else Trait.STATEFUL
        found.append(record(f"{prefix}{name}", text, lower, row.doc, traits=traits))
    return found


RECORDS = table(*(one for name, row in _ROWS.items() for one in _forms(name, row)))
