"""Which groups are joined follows from the program alone, not from where its instructions lie in memory."""

import random

import compiler

OPCODES = ["add", "multiply", "subtract", "maximum", "minimum", "tanh", "abs", "exponential", "divide"]
OF_ONE = {"tanh", "abs", "exponential"}


def woven(count):
    """A long chain that reads of itself what came some steps before."""
    chance = random.Random(1)
    lines = ["x0 = f32[64,64] parameter(0)  x1 = f32[64,64] parameter(1)"]
    for number in range(2, count):
        opcode, other = chance.choice(OPCODES), max(0, number - 1 - chance.randrange(30))
        operands = f"x{number - 1}" if opcode in OF_ONE else f"x{number - 1}, x{other}"
        lines.append(f"x{number} = f32[64,64] {opcode}({operands})")
    return "\n".join(["ENTRY e {", *lines, f"ROOT r = f32[64,64] negate(x{count - 1}) }}"])


def test_a_program_is_fused_alike_every_time():
    text = woven(1200)
    kept, made = [], set()
    for number in range(4):
        kept.append([object() for _ in range(number * 999)])  # so that the next lies elsewhere
        kept.append(compiler.optimize(compiler.parse(text), compiler.CompileOptions()))
        made.add(compiler.to_text(kept[-1]))
    assert len(made) == 1
