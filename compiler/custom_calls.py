"""How a caller says what custom calls mean, from Python and from the command line."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from compiler.diagnostics import InputError
from compiler.ir import meanings
from compiler.ir.meanings import Function
from compiler.ops.custom_call import has_meaning

_FORM = "give NAME=module:function, or NAME=path/to/file.py:function"


def register_custom_call(target: str, function: Function | None, *, name: str = "") -> None:
    """Let a function be the meaning of custom calls to a target, in this process; None takes the meaning away.

    The function takes a NumPy array for each operand, read-only, and returns an array, or a tuple of arrays where the
    call yields several, of exactly the program's types and shapes; it should give the same each time.  A parameter
    named `backend_config` is given that text of the call.  The reference and the CPU back end call it, and messages
    call it `name`, or else by its own.

    Raises:
        InputError: the target has a meaning of its own here, or what is given is no function.
    """
    if has_meaning(target):
        raise InputError(f"custom calls to {target!r} have a meaning here, which cannot be given another")
    if function is not None and not callable(function):
        raise InputError(f"the meaning of {target!r} is to be a function, {function!r} given")
    meanings.give(target, function, name)


def load_custom_calls(texts: Sequence[str]) -> list[str]:
    """Register what texts `NAME=module:function` say; returns them with files by their whole paths.

    A module is one that Python finds, or else a file `module.py` of the working directory; or it is written as a path
    that ends in `.py`.  Importing it runs it.

    Raises:
        InputError: a text has another form, or there is no such module or function; it says which.
    """
    loaded = []
    for text in texts:
        target, equals, location = text.partition("=")
        where, colon, name = location.rpartition(":")
        if not (target and equals and where and colon and name):
            raise InputError(f"custom call {text!r}: {_FORM}")
        source, module = _module(text, where)
        function = module
        for attribute in name.split("."):
            function = getattr(function, attribute, None)  # type: ignore[assignment]  # it is checked below
        if not callable(function):
            raise InputError(f"custom call {text!r}: {where} has no function {name!r}; {_FORM}")
        register_custom_call(target, function, name=location)
        loaded.append(f"{target}={source}:{name}")
    return loaded


def _module(text: str, where: str) -> tuple[str, ModuleType]:
    """The module, and how any process finds it."""
    beside = Path(f"{where}.py")
    try:
        if where.endswith(".py"):
            return _of_file(text, Path(where))
        found = None if "." in where else importlib.util.find_spec(where)
        if found is not None and not found.submodule_search_locations and str(found.origin).endswith(".py"):
            # By its file, as another process may look for modules in other folders.
            return _of_file(text, Path(str(found.origin)))
        if found is None and beside.is_file():
            return _of_file(text, beside)
        return where, importlib.import_module(where)
    except InputError:
        raise
    except ModuleNotFoundError as error:
        raise InputError(f"custom call {text!r}: there is no module {error.name!r}; {_FORM}") from error
    except (Exception, SystemExit) as error:
        raise InputError(f"custom call {text!r}: importing {where} raised {type(error).__name__}: {error}") from error


def _of_file(text: str, path: Path) -> tuple[str, ModuleType]:
    whole = path.resolve()
    if not whole.is_file():
        raise InputError(f"custom call {text!r}: there is no file {path}; {_FORM}")
    name = f"custom_calls_of_{whole.stem}"
    known = sys.modules.get(name)
    if known is not None and known.__file__ == str(whole):
        return str(whole), known
    spec = importlib.util.spec_from_file_location(name, whole)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return str(whole), module
