"""A marked program does what it did, and says which branches it ran."""

import ast

from searching.branches import marked

SOURCE = '''
def f(x):
    """Says nothing."""
    if x > 2:
        return [y for y in range(x) if y]
    for y in range(x):
        x += y if y else -1
    try:
        return (lambda z: z + x)(1)
    except ValueError:
        raise
'''


def ran(argument):
    """What the function gives, and the lines of the branches that it ran."""
    branches, names = [], {}
    code = compile(marked(ast.parse(SOURCE), "a.py", branches), "a.py", "exec")
    marks = names["__branches__"] = bytearray(64)
    exec(code, names)
    result = names["f"](argument)
    return result, {branches[number].line for number, mark in enumerate(marks) if mark}, names["f"].__doc__


def test_a_function_gives_what_it_gave():
    plain = {}
    exec(SOURCE, plain)
    assert [ran(x)[0] for x in range(5)] == [plain["f"](x) for x in range(5)]
    assert ran(1)[2] == "Says nothing."


def test_branches_are_told_apart():
    assert ran(4)[1] == {2, 5}
    assert ran(1)[1] == {2, 4, 7, 9}
