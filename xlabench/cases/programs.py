"""Read a program from a file, whatever form it has: every command takes its programs from here.

Which forms there are, and how they are told, `compiler.frontends` says; what is not HLO text is `Undecidable` where
jaxlib is not installed.  StableHLO may leave sizes open: they follow from the inputs that the program is to run on, an
`.npz` file that was given or the recipe beside the program.

A graph of TensorFlow's is a program where it says what is fed and fetched: a SavedModel by its signature, a GraphDef by
the config of tfcompile's that lies beside it (`NAME.config.pbtxt` beside `NAME.pb`).  Sizes that it leaves open, as the
batch of a model is, follow from the inputs as well.  Where sizes follow from values (`tf.where`), those of the inputs
that decide them are written into the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import compiler
from xlabench.cases import inputs
from xlabench.errors import BenchError, Undecidable

_NOT_INSTALLED = "needs the packages jax and jaxlib, which are not installed; pip install '.[peers]'"


def read(
    path: Path, *, module: int | None = None, given: Path | None = None, signature: str | None = None
) -> compiler.Module:
    """Read and verify a program; of several in one file, the one with the number given, from 1.

    Args:
        path: the file.
        module: the number of the module in it, from 1; None where it holds one.
        given: the `.npz` file of the inputs that it is to run on, if there is one.
        signature: of a SavedModel the name of the one that is the program, where that is not `serving_default`.

    Raises:
        BenchError: it cannot be read, is invalid, the number is missing or too great, or it has no such signature.
    """
    modules = _modules(path, given, signature)
    if module is None and len(modules) > 1:
        raise BenchError(f"{path}: holds {len(modules)} modules; choose one, from --module 1 to {len(modules)}")
    number = 1 if module is None else module
    if not 1 <= number <= len(modules):
        raise BenchError(f"{path}: there is no module {number}; it holds {len(modules)}")
    chosen: compiler.Module = modules[number - 1]
    compiler.verify(chosen, context=str(path))
    return chosen


def decoded(data: bytes) -> str:
    """HLO text from its bytes; in names, dumps hold some that are not UTF-8, which are kept as they are."""
    return data.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """The bytes of HLO text, all that `decoded` was given."""
    return text.encode("utf-8", "surrogateescape")


def read_text(path: Path, *, given: Path | None = None) -> str:
    """The program as HLO text, whatever form the file has."""
    found = as_it_stands(path, given=given)
    return found if isinstance(found, str) else compiler.to_text(found)


def as_it_stands(path: Path, *, given: Path | None = None) -> compiler.Module | str:
    """The program as an engine takes it: text to the letter, or the module of a graph, whose weights are never text."""
    return _of_graph(path, given) if is_graph(path) else _written(path, given)


def _modules(path: Path, given: Path | None, signature: str | None) -> list[compiler.Module]:
    """The modules of a file; a graph's weights are not written as text to be read again."""
    if is_graph(path):
        return [_of_graph(path, given, signature)]
    if signature is not None:
        raise BenchError(f"{path}: it is no SavedModel, and has no signature {signature!r}: leave --signature out")
    found: list[compiler.Module] = compiler.parse_many(_written(path, given), str(path))
    return found


def _of_graph(path: Path, given: Path | None, signature: str | None = None) -> compiler.Module:
    with _saying_what_is_bad():
        read_program = import_module("compiler.aot").read_program_of_graph
        module: compiler.Module = read_program(path, lambda: _given(path, given), signature or "")
        return module


def _written(path: Path, given: Path | None) -> str:
    with _saying_what_is_bad():
        data = compiler.frontends.read_program(path)
        text: str = compiler.frontends.hlo_text(data, filename=str(path), shapes=lambda: _shapes(path, given))
        return text


@contextmanager
def _saying_what_is_bad() -> Iterator[None]:
    """What the compiler cannot read is bad input here, and what it does not support is undecidable."""
    try:
        yield
    except compiler.UnsupportedError as error:
        raise Undecidable(str(error)) from error
    except compiler.InputError as error:
        raise BenchError(str(error)) from error


def is_graph(path: Path) -> bool:
    """Whether a file, or the folder of a SavedModel, is a graph of TensorFlow's."""
    is_named_so = path.name.removesuffix(".gz").endswith((".pb", ".pbtxt"))
    return (is_named_so or any(path.glob("saved_model.pb*"))) and bool(import_module("compiler.aot").is_graph(path))


def _given(path: Path, given: Path | None) -> Mapping[str, Sequence[int] | inputs.Array] | None:
    """The inputs that a graph is to run on, by their names, or their sizes, as far as they are known beforehand."""
    if given is not None:
        return inputs.read_npz(given)
    recipe = inputs.recipe_beside(path)
    return None if recipe is None else {str(n): one.shape for n, one in enumerate(recipe.parameters)}


def _shapes(path: Path, given: Path | None) -> list[tuple[int, ...]] | None:
    """The sizes of the inputs that a program is to run on, where they are known before it is."""
    if given is not None:
        return [array.shape for array in inputs.read_npz(given).values()]
    recipe = inputs.recipe_beside(path)
    return None if recipe is None else [parameter.shape for parameter in recipe.parameters]


def from_jax(function: Callable[..., Any], *arguments: Any) -> compiler.Module:
    """The module that a JAX function lowers to for these arguments.

    Its parameters are the leaves of the arguments in order, its results those of what the function returns.  What JAX
    makes of 64-bit types is JAX's choice (`jax_enable_x64`).
    """
    _require_jax("a JAX function")
    module: compiler.Module = compiler.parse(import_module("xlabench.cases.frontends").of_jax(function, arguments))
    compiler.verify(module)
    return module


def _require_jax(what: str) -> None:
    if find_spec("jax") is None or find_spec("jaxlib") is None:
        raise Undecidable(f"{what} {_NOT_INSTALLED}")
