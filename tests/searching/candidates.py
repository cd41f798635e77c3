"""Programs from which the seeds of campaigns are chosen: all small ones that the tree has, and some that are drawn.

File tests, programs of every opcode and form (`op_programs`), recorded results of XLA's, the suites, what tests read
(`searching.texts`), and programs of campaigns, each result of theirs alone too.  Large arrays are made small where a
program can follow, and the program is asked as it is, too, where that is no more than a simulator carries.
"""

import itertools
import re
from collections import Counter
from pathlib import Path

import golden
import op_programs
from searching.branches import ROOT

import compiler
from compiler.ops import Trait, having
from xlabench.cases.suite import known_suites, load_suite
from xlabench.fuzzing.generate import PROFILES, draw_case

_TESTS = ROOT / "tests"
_SEEDS = ROOT / "suites" / "seeds" / "programs.hlo"
_MOST_INSTRUCTIONS, _MOST_ELEMENTS, _MOST_IN_ALL = 64, 1 << 15, 1 << 18
_LARGE, _SMALL = 16, (5, 7, 8, 9, 12, 16, 17, 3, 4, 6)
_KEPT_FOLDERS = ("passes", "run")
_HUGE = re.compile(r"(?<![\d.])\d{6,}")  # windows and padding at the ends of what integers hold
_MOST_ALIKE, _ANY = 2, 1 << 20
"""Of programs that tests look at with the same instructions, whatever their types, sizes and numbers."""
_HOST = having(Trait.SIDE_EFFECT | Trait.RANDOM) - {"custom-call"}
_MOST_DEVICES = 4
_GOLDEN = {"xla_cpu": 8, "jax_cpu": 1}
"""How many of recorded results one is taken of: those of one op on all types are much alike."""
_MOST_BYTES = 1 << 16


def candidates(texts, drawn):
    """Programs and whether they are kept whatever they reach, each once, the smallest first.

    `texts` is a folder of what tests read, or None; `drawn` how many programs of campaigns are asked.
    """
    found, alike = {}, Counter()
    for text, is_kept, most in _all(texts, drawn):
        for module in _read(text):
            module.name = "seed"
            key = compiler.to_text(module)
            form = _form(module)
            if key in found or alike[form] < most:
                found[key] = (module, is_kept or found.get(key, (None, False))[1])
                alike[form] += most != _ANY
    return sorted(found.values(), key=lambda one: (count(one[0]), compiler.to_text(one[0])))


def count(module):
    """The instructions of a program."""
    return sum(len(computation.instructions) for computation in module.computations)


def _form(module):
    """What a program consists of, in words, and about how large it is."""
    sizes = [leaf.size for i in module.instructions() for leaf in compiler.edit.leaves(i.shape)]
    parts = ((i.opcode, i.attributes.get("custom_call_target"), *sorted(i.attributes)) for i in module.instructions())
    return max(sizes, default=0).bit_length() // 2, *parts


def _all(texts, drawn):
    for path in sorted((_TESTS / "filetests").rglob("*.hlo")):
        kind = path.relative_to(_TESTS / "filetests").parts[0]
        if kind not in ("error", "verify"):
            text, *_ = re.split(r"^// expect:", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
            yield text, kind in _KEPT_FOLDERS, _ANY
    texts_of_ops = [*map(op_programs.program, op_programs.EVALUATED), *op_programs.FORMS.values()]
    recorded = [case.text for family, every in _GOLDEN.items() for case in golden.cases(family)[::every]]
    yield from ((text, False, _ANY) for text in (*texts_of_ops, *recorded, *_of_suites(), *_parts(_SEEDS)))
    for path in sorted(Path(texts).glob("*.hlo")) if texts else []:
        yield from ((text, False, _MOST_ALIKE) for text in _parts(path))
    for number in range(drawn):
        yield from ((text, False, _ANY) for text in _drawn(number))


def _of_suites():
    for name in known_suites():
        for program in load_suite(name).programs:
            path = program.variant("nvptx:sim").path
            if path.suffix == ".hlo" and path.stat().st_size < _MOST_BYTES:
                yield path.read_text(encoding="utf-8")


def _parts(path):
    """The programs of a file."""
    return re.split("^// -----$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)


def _drawn(number):
    """A program of a campaign, or its results one by one where it has several."""
    module = draw_case(PROFILES["ratchet"], 0, number).module
    if module.entry.root.opcode != "tuple":
        return [compiler.to_text(module)]
    places = dict.fromkeys(map(compiler.edit.id_of, module.entry.root.operands))
    parts = [compiler.edit.keep_results(module, [place]).module for place in places]
    return [compiler.to_text(part) for part in parts if count(part) > 1]


def _read(text):
    """The programs of a text without notes that may be seeds: as it is, and on small arrays."""
    try:
        module = _static(compiler.edit.plain(compiler.parse(text)).module)
        compiler.verify(module)
        if not is_able(module):
            return []
        made = [module, *_smaller(module)]
    except (compiler.CompilerError, AttributeError):
        return []
    return [one for one in made if _is_small(one) and not _HUGE.search(compiler.to_text(one))]


def _static(module):
    """A program that takes arrays of the bounds of what it took, and sizes beside them."""
    if not any(getattr(p.shape, "is_dynamic", False) for p in module.entry.parameters):
        return module
    module.attributes.pop("entry_computation_layout", None)
    head, entry, body = compiler.to_text(module).partition("\nENTRY ")
    taken = itertools.count(len(module.entry.parameters))
    return compiler.parse(head + entry + _DYNAMIC.sub(lambda found: _bounded(found, taken), body))


_DYNAMIC = re.compile(r"  (ROOT )?(\S+) = (\w+)\[([^]]*<=[^]]*)\]\S* parameter\((\d+)\)")


def _bounded(found, taken):
    """Lines in place of a parameter: an array, and a size from 0 to its bound for each that is not known."""
    root, name, kind, dims, number = found.groups()
    sizes = dims.replace("<=", "").split(",")
    lines, array = [f"{name}.whole = {kind}[{','.join(sizes)}] parameter({number})"], f"{name}.whole"
    known = list(sizes)
    for place in [place for place, size in enumerate(dims.split(",")) if "<=" in size]:
        known[place] = f"<={sizes[place]}"
        size, made = f"{name}.size{place}", f"{name}.at{place}"
        lines += [
            f"{size}.any = s32[] parameter({next(taken)})",
            f"{size}.least = s32[] constant(0)",
            f"{size}.most = s32[] constant({sizes[place]})",
            f"{size} = s32[] clamp({size}.least, {size}.any, {size}.most)",
            f"{made} = {kind}[{','.join(known)}] set-dimension-size({array}, {size}), dimensions={{{place}}}",
        ]
        array = made
    last = lines.pop().replace(f"{array} =", f"{root or ''}{name} =", 1)
    return "\n".join(f"  {line}" for line in [*lines, last])


def is_able(module):
    """Whether a program takes arrays, and all that it does is in its results."""
    plain = all(
        hasattr(p.shape, "dims") and not p.shape.is_dynamic and p.shape.element_type.kind.name != "OPAQUE"
        for p in module.entry.parameters
    )
    is_quiet = not any(i.opcode in _HOST for i in module.instructions())
    return plain and is_quiet and compiler.device_count(module) <= _MOST_DEVICES


def _smaller(module):
    sizes = sorted({n for i in module.instructions() for leaf in compiler.edit.leaves(i.shape) for n in leaf.dims})
    large = [size for size in sizes if size > _LARGE]
    made = compiler.edit.resize(module, {n: _SMALL[k % len(_SMALL)] for k, n in enumerate(large)}) if large else None
    if made is None:
        return []
    compiler.verify(made.module)
    return [made.module]


def _is_small(module):
    sizes = [leaf.size for i in module.instructions() for leaf in compiler.edit.leaves(i.shape)]
    return (
        count(module) <= _MOST_INSTRUCTIONS and max(sizes, default=0) <= _MOST_ELEMENTS and sum(sizes) <= _MOST_IN_ALL
    )
