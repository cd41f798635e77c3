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
        "var accum accum_update", "lr rho epsilon grad", _LOCK, _adadelta, "Steps of the size that steps had so far."
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
            takes += [f"{one}: T", "indices: Tindices"] if has_rows and one == "grad" else [f"{one}: T"]
        lower = (_lower_rows if has_rows else _lower)(row, is_reference=is_reference)
        gives, more = ("out: Ref(T)" if is_reference else ""), ("; Tindices: {index}" if has_rows else "")
        text = f"{', '.join(takes)} -> {gives}; T: {{numbers}}{more}; {row.switches}"
        traits = Trait.NONE if is_reference else Trait.STATEFUL
        found.append(record(f"{prefix}{name}", text, lower, row.doc, traits=traits))
    return found


RECORDS = table(*(one for name, row in _ROWS.items() for one in _forms(name, row)))
