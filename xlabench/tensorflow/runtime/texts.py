"""Kernels that make lines of text and write them: `tf.print` is a `StringFormat` that a `PrintV2` takes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from compiler.tf import Node
from xlabench.tensorflow import errors
from xlabench.tensorflow.runtime.kernels import Maker, raised, stateless, text_of
from xlabench.tensorflow.runtime.printing import ends

_ERRORS = ("stderr", "log(info)", "log(warning)", "log(error)")
_FILE = "file://"


def _formatted(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    template, placeholder = (_attribute(node, name, "%s") for name in ("template", "placeholder"))
    summarize: Any = node.attributes.get("summarize", 3)
    pieces = template.split(placeholder)
    if len(pieces) != len(inputs) + 1:
        said = f"num placeholders in template and num inputs must match: {len(pieces) - 1} vs. {len(inputs)}"
        raise raised(errors.InvalidArgumentError, node, said)
    words = [ends(one, summarize) for one in inputs]
    text = pieces[0] + "".join(f"{word}{piece}" for word, piece in zip(words, pieces[1:], strict=True))
    return (np.array(text.encode(), object),)


def _printed(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    where, end = _attribute(node, "output_stream", "stderr"), _attribute(node, "end", "\n")
    line = text_of(inputs[0]) + end
    if where.startswith(_FILE):
        with Path(where.removeprefix(_FILE)).open("a", encoding="utf-8") as file:
            file.write(line)
    elif where == "stdout" or where in _ERRORS:
        print(line, end="", file=sys.stdout if where == "stdout" else sys.stderr, flush=True)
    else:
        said = f"Unknown output stream: {where}, it must be stdout, {', '.join(_ERRORS)} or {_FILE}PATH"
        raise raised(errors.InvalidArgumentError, node, said)
    return ()


def _attribute(node: Node, name: str, default: str) -> str:
    value: Any = node.attributes.get(name, default.encode())
    text: str = value.decode()
    return text


TEXTS: Mapping[str, Maker] = {"StringFormat": stateless(_formatted), "PrintV2": stateless(_printed)}
"""Ops by name."""
