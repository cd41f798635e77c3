"""What a failure is looked into with: a file or a bundle, its engines, its reference."""

import pytest
from one_program import X, run_command, write_bundle


@pytest.mark.parametrize("command", ["reduce", "bisect", "isolate"])
@pytest.mark.parametrize("option", [("--seed", 1), ("--inputs", "in.npz"), ("--module", 1), ("--fill-elided", 1)])
def test_what_a_bundle_brings_cannot_be_given(tmp_path, command, option):
    done = run_command(command, write_bundle(tmp_path / "b", X), *option)
    assert done.exit_code == 2, done.output
    assert f"{option[0]} cannot be given" in done.stderr


@pytest.mark.parametrize(("options", "expected"), [([], "cpu:opt=0"), (["--reference", "reference"], "reference")])
def test_the_reference_of_a_bundle_is_asked_unless_another_is_given(tmp_path, monkeypatch, options, expected):
    asked = []
    monkeypatch.setattr("xlabench.commands.isolate.Prober", lambda setup: asked.append(setup.reference))
    run_command("isolate", write_bundle(tmp_path / "b", X, reference="cpu:opt=0"), *options)
    assert asked == [expected]
