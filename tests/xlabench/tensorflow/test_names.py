"""Every public name leads to a thing, and what is refused says what to do."""

from importlib import import_module

import pytest

from xlabench.tensorflow.names import MODULES, NAMESPACES, modules_of_names, values
from xlabench.tensorflow.refused import REFUSED


@pytest.mark.parametrize("public", modules_of_names())
def test_a_name_is_in_its_module(public):
    module, name = modules_of_names()[public]
    assert hasattr(import_module(f"xlabench.tensorflow.{module}"), name)
    assert "." not in public or public.rpartition(".")[0] in NAMESPACES


def test_no_name_means_two_things():
    names = [set(modules_of_names()), set(values()), set(MODULES), set(REFUSED)]
    assert sum(map(len, names)) == len(set().union(*names))
    assert values()["newaxis"] is None
