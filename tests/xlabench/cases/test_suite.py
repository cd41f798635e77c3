import pytest

from xlabench.cases import suite
from xlabench.errors import BenchError

PROGRAM = "HloModule m\nENTRY e {\n  ROOT x = f32[] parameter(0)\n}\n"


def _folder(tmp_path, manifest, *programs):
    (tmp_path / "suite.toml").write_text(manifest)
    for name in programs:
        (tmp_path / name).write_text(PROGRAM)
    return str(tmp_path)


def test_the_projects_suites_are_known_by_name():
    assert "smoke" in suite.known_suites()
    assert suite.load_suite("smoke").name == "smoke"


@pytest.mark.parametrize("name", suite.known_suites())
def test_every_program_of_the_projects_suites_has_a_recipe(name):
    for program in suite.load_suite(name).programs:
        paths = [program.path, *(variant.path for variant in program.reduced.values())]
        assert all(path.with_suffix(".json").is_file() for path in paths), program.name


def test_any_folder_of_programs_is_a_suite(tmp_path):
    for name in ("b", "a"):
        (tmp_path / f"{name}.hlo").write_text(PROGRAM)
    loaded = suite.load_suite(str(tmp_path))
    assert [program.name for program in loaded.programs] == ["a", "b"]


def test_a_reduced_program_holds_for_the_engine_with_more_options(tmp_path):
    manifest = '[[program]]\nname = "a"\n[program.reduced."nvptx:sim"]\nfile = "a.sim.hlo"\nreason = "cut"\n'
    (program,) = suite.load_suite(_folder(tmp_path, manifest, "a.hlo", "a.sim.hlo")).programs
    assert program.variant("nvptx:sim").reduced == "cut"
    assert program.variant("nvptx:sim,opt=0").path.name == "a.sim.hlo"
    assert program.variant("nvptx").path.name == "a.hlo"
    assert program.variant("nvptx:simple").reduced == ""


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("name = ", "not TOML"),
        ('name = "empty"', "no programs"),
        ("[[program]]\n", "without a name"),
        ('[[program]]\nname = "missing"', "no file 'missing.hlo'"),
        ('[[program]]\nname = "a"\n[[program]]\nname = "a"', "stands there twice"),
        ('[[program]]\nname = "a"\nspeed = 3', "unknown key 'speed'; known are: name, file, reduced"),
        ('colour = "red"', "unknown key 'colour'"),
        ('[[program]]\nname = "a"\nreduced = 3', "reduced"),
        ('descripton = "x"', r"unknown key 'descripton'; did you mean description\?"),
        ('[[program]]\nname = "a"\nfiel = "a.hlo"', r"unknown key 'fiel'; did you mean file\?"),
        (
            '[[program]]\nname = "a"\n[program.reduced."cpu"]\nfile = "a.hlo"\nreasons = "x"',
            r"program 'a': reduced for cpu: unknown key 'reasons'; did you mean reason\?",
        ),
    ],
)
def test_a_bad_manifest_is_said_with_its_place(tmp_path, manifest, message):
    with pytest.raises(BenchError, match=message) as caught:
        suite.load_suite(_folder(tmp_path, manifest, "a.hlo"))
    assert "suite.toml" in str(caught.value)


def test_an_unknown_suite_names_the_known_ones():
    with pytest.raises(BenchError, match=r"known are: .*smoke"):
        suite.load_suite("smock")


def test_a_folder_without_programs_is_no_suite(tmp_path):
    with pytest.raises(BenchError, match=r"no \.hlo file|no suite\.toml"):
        suite.load_suite(str(tmp_path))


def test_a_folder_that_one_may_not_look_into_is_said():
    with pytest.raises(BenchError, match="cannot be looked into: File name too long"):
        suite.load_suite("x" * 300)
