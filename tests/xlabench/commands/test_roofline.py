import json

import pytest
from click.testing import CliRunner

import compiler
from reports import roofline as chart
from xlabench.cli import cli
from xlabench.timing import roofline


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """One short iteration of each: what is right does not depend on how well it is measured."""
    monkeypatch.setattr(roofline, "_ROUNDS", 1)
    monkeypatch.setattr(roofline, "_ROUND_S", 1e-4)
    monkeypatch.setattr(compiler.limits, "_RUNS", 1)
    monkeypatch.setattr(compiler.limits, "_RUN_S", 1e-4)


def _run(*arguments):
    return CliRunner().invoke(cli, ["roofline", *map(str, arguments)])


@pytest.mark.slow
def test_the_record_and_the_chart_of_a_run_are_kept(tmp_path):
    result = _run("--out", tmp_path, "--largest", 1 << 12, "--json")
    assert result.exit_code == 0, result.output
    record = json.loads((tmp_path / "roofline.json").read_text())
    assert json.loads(result.stdout) == record
    assert [kind["name"] for kind in record["kinds"]] == [kind.name for kind in roofline.KINDS]
    assert all(len(kind["points"]) == 2 for kind in record["kinds"])
    assert chart.charts(record) == {kind: (tmp_path / f"roofline.{kind}").read_bytes() for kind in ("svg", "png")}


@pytest.mark.slow
def test_the_table_names_every_kind_and_size(tmp_path):
    result = _run("--out", tmp_path, "--largest", 1 << 10, "--engine", "cpu:threads=1")
    assert result.exit_code == 0, result.output
    for word in ("1,024", "loop, GB/s", "dot, GFLOP/s", "roofline.svg"):
        assert word in result.stdout


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").touch()
    result = _run("--out", tmp_path / "file", "--largest", 1 << 10)
    assert result.exit_code == 2
    assert "give another folder" in result.output


@pytest.mark.parametrize("kind", roofline.KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("size", [roofline.SMALLEST, 1 << 16])
def test_a_kind_touches_about_as_many_bytes_as_it_is_asked_to(kind, size):
    touched, work = kind.work(kind.sizes(size))
    assert 0.8 * size <= touched <= size
    assert work > 0


@pytest.mark.parametrize("loop", ["read", "copy"])
@pytest.mark.parametrize("threads", [1, 2])
def test_limits_are_rates_of_real_work(loop, threads):
    assert 1e5 < compiler.limits.bandwidth(loop, 1 << 16, threads=threads) < 1e14
    assert 1e5 < compiler.limits.peak_flops(threads=threads) < 1e14
