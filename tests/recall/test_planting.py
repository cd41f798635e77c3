"""A process with a mutant has it, and nothing else is changed; one that is to judge it has none."""

import ast
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from recall import planting
from recall.record import ROOT
from recall.sites import Site, named
from recall.unmutated import Unmutated

from xlabench.worker import Worker

FILE = "xlabench/judging/wrongness.py"
SAYS = """
import importlib, json, sys
from recall import planting
import numpy as np
planter = planting.planted()
before = planter and planter.reached.times
from xlabench.judging import tolerance, wrongness
kind = wrongness.kind_of([np.float32([1, 2])], [np.float32([1, 2 + 2**-22])])
others = [name for name, module in sys.modules.items() if hasattr(module, planting.MARK)]
print(json.dumps([kind, before, planter and planter.reached.times, others]))
"""


@pytest.fixture(scope="module")
def site():
    """Where it says how many units of the last place are rounding: none instead of 64."""
    tree = ast.parse((ROOT / FILE).read_text(encoding="utf-8"))
    return next(s for s, edit in named(tree, FILE) if s.rule == "wrong-constant" and ast.unparse(edit.old) == "64")


def said(site, text=SAYS):
    environment = planting.environment(site, os.environ)
    environment["PYTHONPATH"] = os.pathsep.join([environment["PYTHONPATH"], str(ROOT)])
    command = [sys.executable, "-P", "-c", text]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_mutant_is_what_a_process_runs_and_no_other_module_has_one(site):
    assert json.loads(said(None).stdout) == ["rounding", None, None, []]
    assert json.loads(said(site).stdout) == ["reassociation", 0, 1, ["xlabench.judging.wrongness"]]


def test_nothing_is_left_of_a_mutant(site):
    before = (ROOT / FILE).read_bytes()
    said(site)
    assert (ROOT / FILE).read_bytes() == before
    assert json.loads(said(None).stdout)[0] == "rounding"


def test_what_forked_processes_reach_is_counted(site):
    text = f"""
import os
from recall import planting
if os.fork() == 0:
    import {FILE.removesuffix(".py").replace("/", ".")}
    os._exit(0)
os.wait()
print(planting.planted().reached.times)
"""
    assert said(site, text).stdout == "1\n"


def test_a_site_that_is_not_there_is_an_error_of_the_import():
    done = said(Site(FILE, 1, "boundary", 0))
    assert done.returncode == 1
    assert f"{FILE}:1:boundary:0: there is no such site" in done.stderr


def test_planting_comes_before_the_module(site):
    with pytest.raises(RuntimeError, match=r"xlabench\.judging\.wrongness is imported already"):
        planting.install(str(site))


def test_programs_that_are_kept_are_not_shared_with_a_mutant(site):
    asked = {"XLABENCH_CACHE": "on", "XLABENCH_MUTANT": "another"}
    made = planting.environment(site, asked)
    assert "XLABENCH_CACHE" not in made
    assert made["XLABENCH_MUTANT"] == str(site)
    assert "XLABENCH_MUTANT" not in planting.environment(None, asked)


def kind_of(_arguments, _say):
    """A job: what a worker says of two arrays a few units apart."""
    from_here = sys.modules["xlabench.judging.wrongness"]
    return {"kind": from_here.kind_of([np.float32([1, 2])], [np.float32([1, 2 + 2**-22])])}


def test_workers_of_a_campaign_have_it_and_one_that_judges_has_not(site, monkeypatch, tmp_path):
    for name, value in planting.environment(site, os.environ).items():
        monkeypatch.setenv(name, value)
    preload = ("xlabench.judging.wrongness", "recall.test_planting")
    arguments = {"job": "recall.test_planting:kind_of", "arguments": {}, "timeout_s": 60}
    with Worker(preload=preload) as worker, Unmutated(tmp_path) as unmutated:
        assert worker.run(**arguments).value == {"kind": "reassociation"}
        assert unmutated.worker.run(**arguments).value == {"kind": "rounding"}
    assert os.environ[planting.VARIABLE] == str(site)
