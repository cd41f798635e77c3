import json
from pathlib import Path

import pytest

from xlabench.cases import inputs, recipe_keys, suite
from xlabench.errors import BenchError

ROOT = Path(__file__).parents[3]
MANUAL = (ROOT / "suites" / "README.md").read_text()
TABLES = {
    "recipe": recipe_keys.RECIPE_KEYS,
    "parameter": recipe_keys.PARAMETER_KEYS,
    "suite": suite.KEYS,
    "program": suite.PROGRAM_KEYS,
    "reduction": suite.REDUCED_KEYS,
}
PARAMETER = {"name": "x", "shape": [2, 2], "dtype": "f32"}
ARGUMENTS = {"std": 1, "mean": 0, "lo": 0, "hi": 1, "p": 0.5, "value": 1, "values": [1, 2], "cond": 2}


def _load(tmp_path, content):
    path = tmp_path / "p.json"
    path.write_text(json.dumps(content))
    return inputs.load_recipe(path)


def _recipe(generator, **more):
    return {"seed": 1, "params": [{**PARAMETER, "gen": generator}], **more}


def _misspelt(word):
    return word + word[-1]


def _rows(table):
    return [f"| `{key}` | {says} |" for key, says in table.items()]


def test_every_generator_has_its_keys():
    assert set(recipe_keys.GENERATOR_KEYS) == set(inputs.GENERATORS)


@pytest.mark.parametrize("kind", recipe_keys.GENERATOR_KEYS)
def test_a_generator_takes_its_keys_and_no_others(tmp_path, kind):
    keys = recipe_keys.GENERATOR_KEYS[kind]
    given = {"kind": kind, **{key: ARGUMENTS[key] for key in (*keys.required, *keys.optional)}}
    assert _load(tmp_path, _recipe(given)).make()
    for key in keys.required:
        with pytest.raises(BenchError, match=f"generator {kind} lacks {key}"):
            _load(tmp_path, _recipe({name: value for name, value in given.items() if name != key}))
    for key in (*keys.optional, "kind"):
        with pytest.raises(BenchError, match=f"generator {kind}: unknown key '{_misspelt(key)}'; did you mean {key}"):
            _load(tmp_path, _recipe({**given, _misspelt(key): 1}))


@pytest.mark.parametrize("key", recipe_keys.RECIPE_KEYS)
def test_a_misspelt_key_of_a_recipe_is_said(tmp_path, key):
    with pytest.raises(BenchError, match=rf"p\.json: unknown key '{_misspelt(key)}'; did you mean .*{key}"):
        _load(tmp_path, _recipe({"kind": "normal"}, **{_misspelt(key): 1}))


@pytest.mark.parametrize("key", recipe_keys.PARAMETER_KEYS)
def test_a_misspelt_key_of_a_parameter_is_said(tmp_path, key):
    recipe = _recipe({"kind": "normal"})
    recipe["params"][0][_misspelt(key)] = 1
    with pytest.raises(BenchError, match=rf"p\.json: x: unknown key '{_misspelt(key)}'; did you mean .*{key}"):
        _load(tmp_path, recipe)


@pytest.mark.parametrize(("change", "said"), [({"dtype": "f3"}, "'f3'; did you mean"), ({}, "'normalx'; did you")])
def test_a_misspelt_type_or_generator_is_said(tmp_path, change, said):
    recipe = _recipe({"kind": "normal" if change else "normalx"})
    recipe["params"][0].update(change)
    with pytest.raises(BenchError, match=said):
        _load(tmp_path, recipe)


@pytest.mark.parametrize("table", TABLES)
def test_the_manual_says_every_key(table):
    assert "\n".join(_rows(TABLES[table])) in MANUAL


def test_the_manual_says_every_generator():
    rows = [
        f"| `{kind}` | {keys.makes} | {', '.join(f'`{key}`' for key in keys.required) or 'nothing'} |"
        for kind, keys in recipe_keys.GENERATOR_KEYS.items()
    ]
    assert "\n".join(rows) in MANUAL


@pytest.mark.parametrize("path", sorted((ROOT / "suites").glob("*/*.json")), ids=lambda path: path.name)
def test_the_projects_recipes_hold_known_keys(path):
    recipe_keys.check_recipe(path, json.loads(path.read_text()))
