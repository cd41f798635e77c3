"""Programs on record, whose results tell whether a mutant changes any: the oracle that is stronger than a campaign.

They are those of the file tests, of the suites, of XLA's recorded results and of the tests of all opcodes, each with
tame inputs and with special ones; nothing of a campaign's generator is in them.  What the compiler without a mutant
makes of them is kept once: the hash of each engine's results, the judge's verdicts on results that are changed by a
little or a lot, and which functions were called, since no other program can meet a mutant of a function.  Left out is
what an engine does not support, takes long for or answers twice differently.

With the mutant another hash is only a sign.  The compiler without it judges the results: those beyond the bounds of
errors are *wrong*, others *moved*, which nobody may complain about.
"""

import ast
import contextlib
import hashlib
import json
import random
import re
import sys
import time
from functools import partial
from pathlib import Path

import golden
import numpy as np
import op_programs
from searching.forked import forked, read

import compiler
from xlabench.cases import inputs
from xlabench.cases.suite import known_suites, load_suite
from xlabench.diagnosis.probe import FAILURES
from xlabench.engines import build, engine, execute
from xlabench.fuzzing.values import make_inputs
from xlabench.jobs import read_arrays, write_arrays
from xlabench.judging.judge import judge
from xlabench.judging.tolerance import is_inexact

ROOT = Path(compiler.__file__).resolve().parents[1]
LONGEST_S = 0.3
_MOST_S = 5.0  # of all engines, each twice
MOST_ELEMENTS = 1 << 16
_OURS = f"{ROOT}/"
_CHUNK = 25
_GOLDEN_EVERY = 8
_TESTS = Path(__file__).parents[1]
_STEPS = (4.0, 64.0, 4096.0)  # in units of the last place
_BY_ALL = set()
_ANOTHER = "another hash"
_JUDGES = ("compiler/wide/", "xlabench/judging/")


def programs():
    """Names, texts and inputs."""
    for name, text in _texts():
        try:
            module = compiler.parse(text)
            made = inputs.generate(module, 1), make_inputs(module, np.random.default_rng(1), "special")
        except Exception:  # noqa: BLE001 - what cannot be read, or drawn for, is no program here
            continue
        if sum(leaf.size for i in module.instructions() for leaf in compiler.edit.leaves(i.shape)) <= MOST_ELEMENTS:
            yield f"{name}, tame", text, made[0]
            yield f"{name}, special", text, made[1]
    for family in ("xla_cpu", "jax_cpu"):
        for case in golden.cases(family)[::_GOLDEN_EVERY]:
            yield f"{family} {case.name}", case.text, list(case.inputs)


def _texts():
    for opcode in op_programs.EVALUATED:
        yield opcode, op_programs.program(opcode)
    yield from op_programs.FORMS.items()
    for path in sorted((_TESTS / "filetests").rglob("*.hlo")):
        if path.relative_to(_TESTS / "filetests").parts[0] != "error":
            text = re.split(r"^// expect:", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[0]
            yield str(path.relative_to(_TESTS)), text
    for name in known_suites():
        for program in load_suite(name).programs:
            path = program.variant("nvptx:sim").path
            if path.suffix == ".hlo" and path.stat().st_size < 1 << 16:
                yield f"{name}/{program.name}", path.read_text(encoding="utf-8")


def keep(folder, engines):
    """Keep what an unmutated compiler makes of all programs, in a folder; goes on where it was ended."""
    if (folder / "kept.json").exists():
        return
    rows = []
    for name, text, made in programs():
        place = folder / hashlib.sha256(name.encode()).hexdigest()[:16]
        if not (place / "row").exists():
            place.mkdir(parents=True, exist_ok=True)
            write_arrays(place / "inputs", made)
            (place / "module.hlo").write_text(text, encoding="utf-8")
            _keep_one(place, ["reference", *engines])
        rows.append({"place": place.name, "name": name} | json.loads(read(place / "row")))
    _write_kept(folder, [row for row in rows if row.get("hashes")])


def _keep_one(place, specs):
    """Leave the row of a program, of one that ends its process an empty one."""
    if not _BY_ALL:  # what is cached from then on is not called again in processes that are forked
        _BY_ALL.update(_row_of(place, specs)["calls"])

    def work(say):
        say("run")
        row = _row_of(place, specs)
        (place / "made").write_text(json.dumps(row | {"calls": sorted({*row["calls"], *_BY_ALL})}), encoding="utf-8")

    (place / "made").unlink(missing_ok=True)
    forked(work, place / "stage", timeout_s=_MOST_S)
    (place / "row").write_text(read(place / "made") or "{}", encoding="utf-8")


def _write_kept(folder, rows):
    """Put rows together, in which functions are numbers in a list of all."""
    functions = {}
    for row in rows:
        row["calls"] = [functions.setdefault(called, len(functions)) for called in row["calls"]]
    kept = {"functions": list(functions), "rows": rows}
    (folder / "kept.json").write_text(json.dumps(kept), encoding="utf-8")


def _row_of(place, specs):
    """The hashes of an engine's results, of those that answer soon and twice alike, the judge's verdicts, and calls."""
    hashes, calls = {}, set()

    def called(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(_OURS):
            calls.add(f"{frame.f_code.co_filename[len(_OURS) :]}:{frame.f_code.co_firstlineno}")

    for spec in specs:
        try:
            with _told(called):
                first = digest(run(place, spec))
            begin = time.process_time()
            again = digest(run(place, spec))
        except Exception:  # noqa: BLE001 - it is left out
            continue
        if first == again and time.process_time() - begin < LONGEST_S:
            hashes[spec] = first
    with _told(called):
        found = verdicts(place) if "reference" in hashes else []
    return {"hashes": hashes, "verdicts": found, "calls": sorted(calls)}


@contextlib.contextmanager
def _told(called):
    """Within it a function is told of all calls."""
    sys.setprofile(called)
    try:
        yield
    finally:
        sys.setprofile(None)


def function_of(root, site):
    """The function that a site is in, as it is kept; "" where it is in none, so that all programs may meet it."""
    tree = ast.parse((root / site.file).read_text(encoding="utf-8"))
    around = [
        min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.body[0].lineno <= site.line <= (node.end_lineno or 0)
    ]
    return f"{site.file}:{max(around)}" if around else ""


def run(place, spec):
    """The results of a program that is kept, on an engine."""
    module, made = compiler.parse(read(place / "module.hlo")), read_arrays(place / "inputs")
    if spec == "reference":
        return compiler.interpret(module, *made)
    subject = engine(spec)
    return execute(subject, build(subject, module), made).results


def digest(results):
    """A hash of arrays, all NaN alike."""
    made = hashlib.sha256()
    for array in results:
        plain = np.array(array)
        if is_inexact(plain.dtype):
            plain[np.isnan(plain)] = np.nan
        made.update(f"{plain.dtype}{plain.shape}".encode() + plain.tobytes())
    return made.hexdigest()


def verdicts(place):
    """What the judge says of the reference's own results with one element changed, by a little and by a lot."""
    module, made = compiler.parse(read(place / "module.hlo")), read_arrays(place / "inputs")
    expected = compiler.interpret(module, *made)
    return [judge(module, made, expected, other).verdict for other in _changed(expected)]


def _changed(results):
    place = next((n for n, array in enumerate(results) if is_inexact(array.dtype) and array.size), None)
    if place is None:
        return
    first = np.array(results[place])
    value = first.flat[-1]
    with np.errstate(all="ignore"):
        near = [value + step * np.spacing(np.abs(value)) for step in _STEPS] if first.dtype.kind == "f" else []
        for other in (*near, value + value + 1, np.nan, np.inf):
            changed = first.copy()
            changed.flat[-1] = other
            yield [*results[:place], changed, *results[place + 1 :]]


def changed_by(site, folder, scratch, unmutated):
    """What a mutant, that of this process, makes of the programs: the first that is wrong, and the first that is moved.

    Each is None or says program, engine and verdict.
    """
    kept, moved, function = json.loads(read(folder / "kept.json")), None, function_of(ROOT, site)
    number = kept["functions"].index(function) if function in kept["functions"] else None
    rows = [row for row in kept["rows"] if not function or number in row["calls"]]
    random.Random(0).shuffle(rows)  # so that neighbours, which are alike, are not all asked at once
    judges = site.file.startswith(_JUDGES)
    while rows:
        chunk, answers = rows[:_CHUNK], scratch / "answers"
        answers.unlink(missing_ok=True)
        ending, _, _ = forked(partial(_compare, chunk, folder, answers, judges=judges), scratch / "stage")
        done = [json.loads(line) for line in read(answers).splitlines()]
        for row, differences in zip(chunk, done, strict=False):
            for spec, verdict in differences.items():
                met = {"program": row["name"], "engine": spec, "verdict": verdict}
                if verdict == _ANOTHER:
                    met["verdict"] = _judged_without(unmutated, folder / row["place"], scratch, spec)
                if verdict != _ANOTHER or met["verdict"] in FAILURES:
                    return met, moved
                if met["verdict"] != "bitwise":  # of a NaN or a zero another hash says less than the judge
                    moved = moved or met
        if ending != "answered":
            return {"program": chunk[len(done)]["name"], "engine": "", "verdict": ending}, moved
        rows = rows[len(chunk) :]
    return None, moved


def _judged_without(unmutated, place, scratch, spec):
    """What is said without the mutant of results that have another hash."""
    actual = read_arrays(_left(scratch, place, spec))
    held_to = "cpu" if spec == "reference" else spec
    return unmutated.verdict(read(place / "module.hlo"), read_arrays(place / "inputs"), held_to, actual)


def _left(scratch, place, spec):
    """The file with results that have another hash."""
    return scratch / f"{place.name}-{spec.translate(str.maketrans(':,=', '---'))}"


def _compare(rows, folder, answers, say, *, judges):
    """Write a line for each program: what differs by engine."""
    with answers.open("a", encoding="utf-8") as lines:
        for row in rows:
            say(row["name"][:90])
            place, differences = folder / row["place"], {}
            for spec, kept in row["hashes"].items():
                try:
                    results = run(place, spec)
                    if digest(results) != kept:
                        differences[spec] = _ANOTHER
                        write_arrays(_left(answers.parent, place, spec), results)
                except Exception as error:  # noqa: BLE001 - it did not raise before
                    differences[spec] = f"{type(error).__name__}: {error}"[:200]
            if judges and not differences:
                differences |= _judged(place, row)
            lines.write(json.dumps(differences) + "\n")
            lines.flush()


def _judged(place, row):
    """What the judge says otherwise than before."""
    try:
        found = verdicts(place)
    except Exception as error:  # noqa: BLE001 - it did not raise before
        return {"judge": f"{type(error).__name__}: {error}"[:200]}
    return {} if found == row["verdicts"] else {"judge": f"{found}, before {row['verdicts']}"}
