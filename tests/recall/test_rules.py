"""Every rule makes of a piece of program exactly the pieces that are written here."""

import ast

import pytest
from recall.rules import RULES
from recall.sites import edits

CASES = {
    "negate-condition": [
        ("if a < b: pass", ["if not a < b: pass"]),
        ("while not a: pass", ["while a: pass"]),
        ("x = p if c else q", ["x = p if not c else q"]),
        ("x = [d for d in p if d in q]", ["x = [d for d in p if not d in q]"]),
    ],
    "drop-condition": [
        ("if a: pass", ["if False: pass", "if True: pass"]),
        ("while a: pass", ["while False: pass"]),
    ],
    "drop-part": [
        ("x = a and b and c", ["x = b and c", "x = a and c", "x = a and b"]),
        ("x = a or b", ["x = b", "x = a"]),
    ],
    "and-or": [("x = a and b", ["x = a or b"]), ("x = a or b", ["x = a and b"])],
    "boundary": [("x = a <= b < c", ["x = a < b < c", "x = a <= b <= c"]), ("x = a == b", [])],
    "equality": [
        ("x = a == b", ["x = a != b"]),
        ("x = a not in b", ["x = a in b"]),
        ("x = a is b", ["x = a is not b"]),
    ],
    "first-last": [("x = p[0]", ["x = p[-1]"]), ("x = p[-1]", ["x = p[0]"]), ("x = p[1]", [])],
    "range-end": [
        ("for i in range(n): pass", ["for i in range(n - 1): pass", "for i in range(n + 1): pass"]),
        (
            "for i in range(1, n): pass",
            ["for i in range(2, n): pass", "for i in range(1, n - 1): pass", "for i in range(1, n + 1): pass"],
        ),
    ],
    "slice-end": [("x = p[a:b]", ["x = p[a + 1:b]", "x = p[a:b - 1]"]), ("x = p[:]", [])],
    "off-by-one": [("x = 3", ["x = 4", "x = 2"]), ("x = True", []), ("x = 'text'", [])],
    "wrong-constant": [
        ("x = 3", ["x = 0"]),
        ("x = 0", ["x = 2"]),
        ("x = True", ["x = False"]),
        ("x = 2.0", ["x = 2.25"]),
        ("x = None", []),
    ],
    "operator": [
        ("x = a + b", ["x = a - b"]),
        ("x = a << b", ["x = a >> b"]),
        ("x = [a] + b", []),
        ("x = a + 'text'", []),
    ],
    "sign": [("x = -a", ["x = a"]), ("x = ~a", ["x = a"]), ("x = -1", [])],
    "extreme": [("x = min(a, b)", ["x = max(a, b)"]), ("x = b.umax(p, q)", ["x = b.umin(p, q)"])],
    "any-all": [("x = any(p)", ["x = all(p)"]), ("x = np.all(p)", ["x = np.any(p)"])],
    "swap-operands": [("x = a - b", ["x = b - a"]), ("x = a + b", []), ("x = a % b", ["x = b % a"])],
    "swap-arguments": [
        ("f(a, b, 1)", ["f(b, a, 1)"]),
        ("x = f(a.p, a.q)", ["x = f(a.q, a.p)"]),
        ("x = f(a, a)", []),
        ("x = min(a, b)", []),
    ],
    "swap-elements": [("x = [a, b, c]", ["x = [b, a, c]", "x = [a, c, b]"]), ("a, b = p", [])],
    "inverse-permutation": [
        ("x = np.argsort(p)", ["x = p"]),
        ("x = _inverted(p)", ["x = p"]),
        ("x = p.index(d)", ["x = p[d]"]),
        ("x = tuple((p[d] for d in q))", ["x = tuple((q[d] for d in p))"]),
    ],
    "unwrapped": [("x = sorted(p)", ["x = list(p)"]), ("x = abs(a)", ["x = a"])],
    "dropped-from-key": [
        ("x = d.get((a, b))", ["x = d.get((b,))", "x = d.get((a,))"]),
        ("key = a, 1", ["key = (1,)", "key = (a,)"]),
        ("def key_of(a):\n    return a, a.b", ["def key_of(a):\n    return (a.b,)", "def key_of(a):\n    return (a,)"]),
        ("x = a, 1", []),
    ],
    "skip-call": [("f(a)", ["pass"]), ("x = f(a)", []), ("b.barrier()", [])],
    "missing-barrier": [("b.barrier()", ["pass"]), ("f(a)", [])],
    "skip-update": [("x += a", ["pass"]), ("x[a] = b", ["pass"]), ("x = a", [])],
    "break-continue": [
        ("for a in b:\n    break", ["for a in b:\n    continue"]),
        ("for a in b:\n    continue", ["for a in b:\n    break"]),
    ],
    "emitted-predicate": [("c = b.compare('slt', p, 1)", ["c = b.compare('sle', p, 1)"]), ("x = 'slt'", [])],
    "emitted-operation": [
        ("v = b.binary('add', p)", ["v = b.binary('sub', p)"]),
        ("v = build(opcode='maximum')", ["v = build(opcode='minimum')"]),
    ],
}  # fmt: skip


def mutants(rule, text):
    """What a rule makes of a piece of program, as text."""
    count = sum(name == rule for name, _ in edits(ast.parse(text)))
    for number in range(count):
        tree = ast.parse(text)
        edit = [edit for name, edit in edits(tree) if name == rule][number]
        changed = _Put(*edit).visit(tree)
        yield ast.unparse(ast.fix_missing_locations(changed))


class _Put(ast.NodeTransformer):
    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit(self, node):
        return self.new if node is self.old else self.generic_visit(node)


def test_every_rule_has_its_cases():
    assert set(CASES) == {rule.name for rule in RULES}
    assert all(any(expected for _, expected in cases) for cases in CASES.values())


@pytest.mark.parametrize(
    ("rule", "text", "expected"), [(rule, *case) for rule, cases in CASES.items() for case in cases], ids=str
)
def test_a_rule_makes_these_mutants_and_no_others(rule, text, expected):
    assert list(mutants(rule, text)) == [ast.unparse(ast.parse(piece)) for piece in expected]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_says_what_it_does(rule):
    assert rule.what.endswith(".")
    assert len(rule.what) < 120
