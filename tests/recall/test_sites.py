"""Sites are the same every time, lie where results come from, and a seed draws of them what nobody can foresee."""

import ast
from pathlib import Path

import pytest
from recall import sites
from recall.sites import FOLDERS, GRAPH_FOLDERS, UNUSED, Site, edits, mutated, named, sample, shown, sites_of

import compiler

ROOT = Path(compiler.__file__).resolve().parents[1]
SMALL = ("compiler/wide", "xlabench/judging")


@pytest.mark.parametrize(
    "text",
    [
        '"""Of 3 < 4."""',
        "def f(a: tuple[int, 3]) -> Literal[3]:\n    ...",
        "def f(a):\n    raise ValueError(a + 1, min(a, 2))",
        "assert a < b and c",
        "if TYPE_CHECKING:\n    x = 3",
        "__all__ = ['f', 'g'][0]",
        "Pair = tuple[Index, 2]",
        "x: int",
        "from a import b",
        "warnings.warn('3', b, c)",
        "@cache(3)\ndef f():\n    ...",
        "class A(B[0]):\n    '''Of 1.'''",
        "x = f'{a:>3}'",
        "def __repr__(self):\n    return self.a + 1",
        "e = CompilerError(a, b)",
    ],
)
def test_what_has_no_influence_on_results_is_passed_over(text):
    assert list(edits(ast.parse(text))) == []


def test_a_condition_of_an_error_is_mutated_but_not_its_message():
    tree = ast.parse("if a < 3:\n    raise ValueError(a - 1)")
    assert {edit.old.lineno for _, edit in edits(tree)} == {1}


@pytest.mark.parametrize("folder", SMALL)
def test_sites_are_the_same_every_time_and_each_is_one(folder):
    first = sites_of(ROOT, folder)
    sites_of.cache_clear()
    assert first == sites_of(ROOT, folder)
    assert len(set(first)) == len(first)
    assert all(Site.of(str(site)) == site and site.folder == folder for site in first)


@pytest.mark.parametrize("path", sites.files_of(ROOT, "xlabench/judging"), ids=lambda path: path.stem)
def test_every_site_of_a_file_compiles_and_changes_it(path):
    file, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    plain = ast.dump(ast.parse(text))
    every = [site for site, _ in named(ast.parse(text), file)]
    for site in every[:: len(every) // 10 or 1]:
        tree = mutated(ast.parse(text), site)
        assert ast.dump(tree) != plain, site
        compile(tree, file, "exec")


def test_a_mutant_is_one_edit_that_says_that_it_is_run():
    text = "x = a < b\ny = a < b\nfor c in d:\n    break\n"
    tree = mutated(ast.parse(text), Site("m.py", 2, "boundary", 0))
    assert ast.unparse(tree).splitlines()[:2] == ["x = a < b", "y = (__reached__(), a <= b)[1]"]
    tree = mutated(ast.parse(text), Site("m.py", 4, "break-continue", 0))
    assert ast.unparse(tree).splitlines()[3:] == [
        "    if __reached__():",
        "        continue",
        "    else:",
        "        continue",
    ]


def test_a_site_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"m\.py:1:boundary:0: there is no such site"):
        mutated(ast.parse("x = a"), Site("m.py", 1, "boundary", 0))


def test_a_seed_draws_the_same_sample_and_another_seed_another():
    one = sample(ROOT, 1, 40, SMALL)
    assert one == sample(ROOT, 1, 40, SMALL)
    assert sample(ROOT, 1, 60, SMALL)[:40] == one
    assert not set(one) & set(sample(ROOT, 2, 40, SMALL)) or one != sample(ROOT, 2, 40, SMALL)


def test_a_sample_is_spread_over_folders_and_rules():
    drawn = sample(ROOT, 3, 80, SMALL)
    assert [site.folder for site in drawn] == [*SMALL] * 40
    assert len(set(drawn)) == 80
    assert len({site.rule for site in drawn}) > 15


def test_a_folder_s_part_of_a_sample_does_not_depend_on_the_others():
    alone = sample(ROOT, 4, 20, SMALL[:1])
    assert [site for site in sample(ROOT, 4, 40, SMALL) if site.folder == SMALL[0]] == alone


def test_a_sample_ends_where_there_is_nothing_left():
    assert sorted(sample(ROOT, 5, 10**6, SMALL[1:])) == sorted(sites_of(ROOT, SMALL[1]))


def test_folders_and_unused_files_are_there():
    assert all(sites.files_of(ROOT, folder) for folder in (*FOLDERS, *GRAPH_FOLDERS))
    assert all((ROOT / file).exists() for file in UNUSED)


def test_what_a_site_is_about_is_shown():
    site = next(site for site in sites_of(ROOT, "xlabench/judging") if site.rule == "negate-condition")
    old, new = shown(ROOT, site)
    assert new in (f"not {old}", old.removeprefix("not "))
