"""What lies in a working directory is neither run nor taken for a package of ours."""

import importlib.metadata
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import smallest_calls

import xlabench
from xlabench import cli, startup
from xlabench.errors import BenchError
from xlabench.worker import Worker

ROOT = str(Path(xlabench.__file__).parents[1])
SCRIPT = [sys.executable, "-P", "-c", "from xlabench.cli import main; main()"]
"""What the command `xlabench` is: neither the working directory nor that of the script holds packages."""

MODULE = [sys.executable, "-m", "xlabench"]
COMPILER = [sys.executable, "-m", "compiler"]
_LEFT_BY_PYTHON = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"


def _hostile_names():
    """Of our packages, of all that we need, and of Python's own library."""
    return {*startup.PACKAGES, *importlib.metadata.packages_distributions(), *sys.stdlib_module_names} - {"xlabench"}


def _write_hostile(folder, names):
    for name in names:
        if name.isidentifier():
            left = f"import os as _os\n_os.close(_os.open({str(folder / 'marks')!r} + '/{name}', _os.O_CREAT))\n"
            (folder / f"{name}.py").write_text(left)
    for name in startup.PACKAGES:
        if name in names:
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text((folder / f"{name}.py").read_text())


def _run(command, arguments, folder):
    environment = {**os.environ, "PYTHONPATH": ROOT, "PYTHONDONTWRITEBYTECODE": "1"}
    line = [*command, *shlex.split(arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=False, cwd=folder, env=environment)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A folder full of files with the names of packages, each of which leaves a mark where it is run."""
    folder = tmp_path_factory.mktemp("hostile")
    smallest_calls.write_files(folder)
    (folder / "marks").mkdir()
    _write_hostile(folder, _hostile_names())
    for call in smallest_calls.PREPARATIONS:
        done = _run(SCRIPT, call, folder)
        assert done.returncode in (0, 1), done.stderr
    return folder


@pytest.fixture
def unarmed(hostile, tmp_path):
    """The same for `python -m`, which itself loads some of Python's library and the package that it is to run."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "__init__.py").touch()
    (tmp_path / "empty" / "__main__.py").write_text(_LEFT_BY_PYTHON)
    loaded = _run([sys.executable, "-m", "empty"], "", tmp_path).stdout.split()
    folder = tmp_path / "folder"
    folder.mkdir()
    smallest_calls.write_files(folder)
    (folder / "marks").mkdir()
    _write_hostile(folder, _hostile_names() - {*loaded, "compiler"})
    return folder


def _marks(folder):
    return sorted(path.name for path in (folder / "marks").iterdir())


def test_there_is_a_call_of_every_command():
    assert list(dict.fromkeys(name.partition(" ")[0] for name in smallest_calls.CALLS)) == list(cli.COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", smallest_calls.CALLS)
def test_no_command_runs_what_lies_in_its_folder(hostile, name):
    arguments, code = smallest_calls.CALLS[name]
    done = _run(SCRIPT, arguments, hostile)
    assert (done.returncode, _marks(hostile)) == (code, []), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run", "isolate"])
def test_nor_does_a_module_that_python_is_told_to_run(unarmed, name):
    arguments, code = smallest_calls.CALLS[name]
    done = _run(MODULE, arguments, unarmed)
    assert (done.returncode, _marks(unarmed)) == (code, []), done.stderr


@pytest.mark.slow
def test_nor_does_the_compiler_by_hand(unarmed):
    for arguments, code in smallest_calls.BY_HAND.values():
        done = _run(COMPILER, arguments, unarmed)
        assert (done.returncode, _marks(unarmed)) == (code, []), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("script", "code"), [("bundle/repro.py", 1), ("exported/run_in_jax.py", 125)])
def test_scripts_of_bundles_run_nothing_that_lies_beside_them(hostile, script, code):
    _run(SCRIPT, "bundle export bundle --out exported", hostile)
    beside = (hostile / script).parent
    hidden = _hostile_names() - set(_run([sys.executable, "-c", _LEFT_BY_PYTHON], "", ROOT).stdout.split())
    for name in filter(str.isidentifier, hidden):
        (beside / f"{name}.py").write_text((hostile / f"{name}.py").read_text())
    done = subprocess.run(
        [sys.executable, "-S", Path(script).name] if code == 125 else [sys.executable, Path(script).name],
        capture_output=True,
        text=True,
        check=False,
        cwd=beside,
        env={**os.environ, "PYTHONPATH": ROOT},
    )
    for name in filter(str.isidentifier, hidden):
        (beside / f"{name}.py").unlink()
    assert (done.returncode, _marks(hostile)) == (code, []), done.stderr


@pytest.mark.parametrize("command", [SCRIPT, MODULE], ids=["script", "module"])
@pytest.mark.parametrize("name", startup.PACKAGES)
@pytest.mark.parametrize("form", ["{}.py", "{}/__init__.py"])
def test_what_hides_a_package_of_ours_is_said_and_not_run(tmp_path, command, name, form):
    place = tmp_path / form.format(name)
    place.parent.mkdir(exist_ok=True)
    place.write_text("raise SystemExit('run')")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), ROOT])}
    line = [*command, "run", "m.hlo", "--json"]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)
    said = f"{place} hides the package '{name}' of xlabench, which is '{ROOT}/{name}'; rename it"
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert said in json.loads(done.stdout)["error"]


def test_the_library_says_it_as_well(tmp_path, monkeypatch):
    (tmp_path / "compiler.py").write_text("raise SystemExit('run')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "compiler")
    with pytest.raises(BenchError, match=r"compiler\.py hides the package 'compiler'"):
        xlabench.engine("cpu")


def test_a_package_of_ours_that_is_gone_is_said(monkeypatch):
    monkeypatch.setattr(startup, "find_spec", lambda _name: None)
    with pytest.raises(BenchError, match=r"the package 'compiler' of xlabench is not in .*; install xlabench again"):
        startup.require_own()


@pytest.mark.slow
@pytest.mark.parametrize("start", ["parent.py", "-c", "-m"])
def test_a_worker_has_the_packages_of_its_parent(tmp_path, start):
    for name in (*startup.PACKAGES, "numpy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('run')")
    for folder in (tmp_path, tmp_path / "kept"):
        folder.mkdir(exist_ok=True)
        (folder / "parent.py").write_text(_PARENT)
    (tmp_path / "kept" / "asked.py").write_text(_ASKED)
    line = [start, *{"-c": [_PARENT], "-m": ["parent"]}.get(start, [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "kept"), ROOT])}
    done = subprocess.run(
        [sys.executable, "-P", *line], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    ours, theirs = map(json.loads, done.stdout.splitlines())
    assert ours == theirs, done.stderr


_ASKED = """
import importlib, importlib.util
def places(arguments, say):
    return {name: importlib.util.find_spec(name).origin for name in arguments["names"]}
"""

_PARENT = """
import json
import asked
from xlabench.worker import Worker
names = {"names": ["asked", "compiler", "numpy", "reports", "suites", "xlabench", "llvmlite", "json"]}
print(json.dumps(asked.places(names, None)))
with Worker() as worker:
    print(json.dumps(worker.run("asked:places", names, timeout_s=60).value))
"""


def test_a_worker_does_not_look_into_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def job(arguments, say):\n    return {}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    with Worker() as worker:
        outcome = worker.run("only_here:job", {}, timeout_s=60)
    assert outcome.error.split()[0] == "ModuleNotFoundError"
