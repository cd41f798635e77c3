"""`tf.variable_scope` and `tf.get_variable`: variables by names, which are shared where that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from xlabench.tensorflow.errors import NotHereError
from xlabench.tensorflow.framework.dtypes import DType, as_dtype
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.keys import GraphKeys
from xlabench.tensorflow.framework.shapes import TensorShape
from xlabench.tensorflow.framework.variables import Variable
from xlabench.tensorflow.ops.initializers import first_value

AUTO_REUSE = "AUTO_REUSE"
_SCOPE, _VARIABLES = "variable_scope", "variables"


@dataclass(slots=True)
class VariableScope:
    """A scope of variables.

    Attributes:
        name: what names of variables begin with.
        original_name_scope: the scope of names of nodes that was opened with it.
        reuse: whether variables must be there (True), must not be there (False), or may be.
        initializer: what variables without an own one begin with.
        regularizer: what is computed of them.
        dtype: their type.
    """

    name: str = ""
    original_name_scope: str = ""
    reuse: Any = False
    initializer: Any = None
    regularizer: Any = None
    dtype: Any = "float32"

    def reuse_variables(self) -> None:
        """From here on variables must be there."""
        self.reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """What variables without an own one begin with from here on."""
        self.initializer = initializer

    def global_variables(self) -> list[Variable]:
        """Its variables."""
        return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, self.name)

    def trainable_variables(self) -> list[Variable]:
        """Those of its variables that are trained."""
        return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, self.name)


def get_variable_scope() -> VariableScope:
    """The scope that is open."""
    scopes = get_default_graph().scopes
    if _SCOPE not in scopes:
        scopes[_SCOPE] = VariableScope()
    found: VariableScope = scopes[_SCOPE]
    return found


@contextmanager
def variable_scope(
    name_or_scope: Any,
    default_name: str | None = None,
    values: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: Any = None,
    constraint: Any = None,
    auxiliary_name_scope: bool = True,
) -> Iterator[VariableScope]:
    """Open a scope, or again one that was open.

    Args:
        name_or_scope: its name within the open one, or a scope that was open.
        default_name: the name where that is None; a number is added where it is taken.
        values: changes nothing.
        initializer: what variables of the scope begin with that have no initializer of their own; None: as around.
        regularizer: a function of a variable that gives a loss for it, or None; None: as around.
        caching_device: changes nothing.
        partitioner: must be None.
        custom_getter: must be None.
        reuse: whether variables must be there (True) or may be (`AUTO_REUSE`); None: as around.
        dtype: the type of variables that name none; None: as around.
        use_resource: changes nothing: all variables are resources.
        constraint: changes nothing.
        auxiliary_name_scope: whether a scope of names of nodes is opened with it.

    Raises:
        ValueError: neither a name nor a default is given.
        NotHereError: variables are to be cut in pieces, or made by others.
    """
    if partitioner is not None or custom_getter is not None:
        raise NotHereError("tf.variable_scope: partitioner and custom_getter are not there; leave them out")
    if name_or_scope is None and default_name is None:
        raise ValueError("If default_name is None then name_or_scope is required")
    graph, outer = get_default_graph(), get_variable_scope()
    if isinstance(name_or_scope, VariableScope):
        base, word = name_or_scope, name_or_scope.name.rpartition("/")[2]
        name = base.name
    else:
        base = outer
        word = name_or_scope if name_or_scope is not None else _unique(outer, str(default_name))
        name = f"{outer.name}/{word}" if outer.name else word
    inherited = {"initializer": initializer, "regularizer": regularizer, "dtype": dtype, "reuse": reuse}
    stated = {key: value for key, value in inherited.items() if value is not None}
    opened = replace(base, name=name, **{**stated, "reuse": outer.reuse or stated.get("reuse", base.reuse)})
    graph.scopes[_SCOPE] = opened
    try:
        if auxiliary_name_scope and word:
            with graph.name_scope(word) as scope:
                opened.original_name_scope = scope
                yield opened
        else:
            yield opened
    finally:
        graph.scopes[_SCOPE] = outer


def _unique(outer: VariableScope, word: str) -> str:
    """A name of a scope that nobody has opened under this default."""
    counts = get_default_graph().scopes.setdefault("default_names", {})
    key = outer.name, word
    number = counts[key] = counts.get(key, -1) + 1
    return f"{word}_{number}" if number else word


def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Sequence[str] | None = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Variable:
    """A variable by its name in the open scope: made, or found where the scope says so.

    Args:
        name: its name within the scope.
        shape: its sizes; None where it is found, or `initializer` is a value.
        dtype: its type; None for that of `initializer`, or of the scope.
        initializer: its first value, or a function of sizes and type that gives it; None for that of the scope.
        regularizer: a function of the variable that gives a loss for it, or None; None for that of the scope.
        trainable: whether it is among the variables that are trained; None: it is.
        collections: keys of collections that it is added to, None for that of all variables.
        caching_device: changes nothing.
        partitioner: must be None.
        validate_shape: whether all sizes must be known, and stay.
        use_resource: changes nothing: all variables are resources.
        custom_getter: must be None.
        constraint: is kept with the variable, as a function of what it holds.
        synchronization: changes nothing, as does the next.
        aggregation: changes nothing.

    Raises:
        ValueError: it is there and must not be, is not there and must be, or has other sizes.
        NotHereError: it is to be cut in pieces, or made by others.
    """
    if partitioner is not None or custom_getter is not None:
        raise NotHereError("tf.get_variable: partitioner and custom_getter are not there; leave them out")
    graph, scope = get_default_graph(), get_variable_scope()
    full = f"{scope.name}/{name}" if scope.name else name
    known: dict[str, Variable] = graph.scopes.setdefault(_VARIABLES, {})
    if full in known or scope.reuse is True:
        return _found(full, known.get(full), shape, scope)
    initializer = initializer if initializer is not None else scope.initializer
    wanted = as_dtype(dtype if dtype is not None else getattr(initializer, "dtype", None) or scope.dtype)
    value = _begun(full, shape, wanted, initializer)
    with graph.name_scope(None), graph.control_dependencies(None):
        made = Variable(
            value,
            trainable=trainable,
            collections=collections,
            validate_shape=validate_shape,
            name=full,
            dtype=wanted if not hasattr(value, "dense_tensor") else None,
            constraint=constraint,
        )
    known[full] = made
    regularizer = regularizer or scope.regularizer
    if regularizer is not None:
        with graph.name_scope(f"{full}/Regularizer/"):
            loss = regularizer(made)
        if loss is not None:
            graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return made


def get_local_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = False,
    collections: Sequence[str] | None = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Variable:
    """A variable by its `name` that belongs to this process, and is not trained, whatever `trainable` says.

    `shape`, `dtype`, `initializer`, `regularizer`, `collections`, `caching_device`, `partitioner`, `validate_shape`,
    `use_resource`, `custom_getter`, `constraint`, `synchronization` and `aggregation` are as of `get_variable`.
    """
    keys = list(collections or [])
    if GraphKeys.LOCAL_VARIABLES not in keys:
        keys.append(GraphKeys.LOCAL_VARIABLES)
    return get_variable(
        name,
        shape,
        dtype,
        initializer,
        regularizer,
        trainable=False,
        collections=keys,
        partitioner=partitioner,
        validate_shape=validate_shape,
        custom_getter=custom_getter,
        constraint=constraint,
    )


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Callable[..., Any]:
    """A function that makes its variables when it is first called, and shares them from then on.

    Args:
        name_: of the scope of its variables, numbered where there is one.
        func_: what is called.
        create_scope_now_: whether that scope is opened at once, not at the first call.
        unique_name_: the same name, of which there must be no other.
        custom_getter_: must be None.
        kwargs: arguments that are given to `func_` each time.

    Raises:
        NotHereError: others are to make the variables.
    """
    if custom_getter_ is not None:
        raise NotHereError("tf.make_template: custom_getter_ is not there; leave it out")
    opened: list[VariableScope] = []

    def open_scope() -> VariableScope:
        if not opened:
            outer = get_variable_scope()
            word = unique_name_ or _unique(outer, name_)
            opened.append(replace(outer, name=f"{outer.name}/{word}" if outer.name else word))
        return opened[0]

    is_called: list[bool] = []

    def template(*arguments: Any, **options: Any) -> Any:
        with variable_scope(open_scope(), reuse=True if is_called else None):
            made = func_(*arguments, **kwargs, **options)
        is_called.append(True)
        return made

    if create_scope_now_:
        open_scope()
    return template


def _begun(full: str, shape: Any, wanted: DType, initializer: Any) -> Any:
    """What a new variable begins with."""
    is_value = hasattr(initializer, "dense_tensor") or not (callable(initializer) or initializer is None)
    if shape is None and not is_value:
        raise ValueError(f"Shape of a new variable ({full}) must be fully defined, but instead was <unknown>.")
    if shape is not None and is_value:
        raise ValueError("If initializer is a constant, do not specify shape.")
    return initializer if is_value else first_value(initializer, TensorShape(shape), wanted)


def _found(full: str, variable: Variable | None, shape: Any, scope: VariableScope) -> Variable:
    if variable is None:
        raise ValueError(
            f"Variable {full} does not exist, or was not created with tf.get_variable(). Did you mean to set "
            "reuse=tf.AUTO_REUSE in VarScope?"
        )
    if not scope.reuse:
        raise ValueError(
            f"Variable {full} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in "
            "VarScope?"
        )
    if shape is not None and not TensorShape(shape).is_compatible_with(variable.shape):
        raise ValueError(
            f"Trying to share variable {full}, but specified shape {TensorShape(shape)} and found shape "
            f"{variable.shape}."
        )
    return variable
