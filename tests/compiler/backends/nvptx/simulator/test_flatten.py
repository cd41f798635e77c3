"""Calls are expanded in place, each with names of its own; what cannot be expanded is refused."""

import pytest

from compiler.backends.nvptx.simulator import parse_ptx
from compiler.backends.nvptx.simulator.flatten import flatten
from compiler.diagnostics import ParseError, UnsupportedError

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"
TWICE = """.func (.param .b32 out) twice(.param .b32 in) {
 .reg .b32 %a;
 .shared .b32 kept;
 ld.param.u32 %a, [in];
 add.u32 %a, %a, %a;
 st.param.u32 [out], %a;
 ret;
}
"""
CALLS = """.visible .entry k() {
 .param .b32 p;
 .param .b32 q;
 call (q), twice, (p);
 call (p), twice, (q);
 ret;
}
"""


def flat(text):
    module = parse_ptx(HEADER + text)
    return flatten(module, module.functions["k"])


def test_a_body_stands_behind_each_of_its_calls():
    found = flat(TWICE + CALLS)
    opcodes = [placed.instruction.opcode for placed in found.placed]
    assert opcodes == ["call", "ld", "add", "st", "ret"] * 2 + ["ret"]


def test_a_return_goes_behind_the_call_and_the_kernels_own_ends_it():
    found = flat(TWICE + CALLS)
    jumps = [found.labels[placed.jump] if placed.jump else None for placed in found.placed]
    assert jumps == [5, None, None, None, 5, 10, None, None, None, 10, None]


def test_expansions_share_shared_variables_and_no_others():
    found = flat(TWICE + CALLS)
    shared = [name for name, variable in found.variables.items() if variable.space == "shared"]
    assert shared == ["twice:kept"]
    scopes = {id(placed.scope): placed.scope for placed in found.placed}.values()
    inner = [scope for scope in scopes if scope.function.name == "twice"]
    assert [scope.bindings["in"] for scope in inner] == ["p", "q"]
    assert len({scope.unique("%a") for scope in inner}) == 2


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (CALLS, UnsupportedError, "call of 'twice' .*: it is not in the module"),
        (
            ".func (.param .b32 out) twice(.param .b32 in);\n" + CALLS,
            UnsupportedError,
            "it is declared but not defined",
        ),
        (
            TWICE + ".visible .entry k() {\n .param .b32 p;\n call twice, (p);\n ret;\n}\n",
            ParseError,
            "'twice' has 1 parameters or results here, the call gives 0",
        ),
        (
            ".func again() {\n call again;\n ret;\n}\n.visible .entry k() {\n call again;\n ret;\n}\n",
            UnsupportedError,
            "recursion of 'again'",
        ),
    ],
    ids=["gone", "declared", "miscounted", "recursion"],
)
def test_what_cannot_be_expanded_is_refused(text, error, message):
    with pytest.raises(error, match=message):
        flat(text)
