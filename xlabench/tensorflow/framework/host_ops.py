"""Ops that run on the host alone: what they take and give, since no record of a lowering says it."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.tf import Signature, signature

HOST_OPS: Mapping[str, Signature] = {
    "Print": signature(
        "input: T, data: U[] -> output: T; T: {any}; U: list(type); message: string = ''; first_n: int = -1; "
        "summarize: int = 3"
    ),
    "Assert": signature("condition: bool, data: T[] -> ; T: list(type); summarize: int = 3"),
    "CheckNumerics": signature("tensor: T -> output: T; T: {floats}; message: string"),
}
"""What they take and give, by their names."""
