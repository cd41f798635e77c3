"""Complex numbers are made of parts of half their width, and of no others."""

import numpy as np
import pytest

from compiler.diagnostics import InputError
from compiler.graph import BY_NAME, Graph, Node, PartialShape
from compiler.tf2xla import lower


@pytest.mark.parametrize("part", ["float32", "float64"])
@pytest.mark.parametrize("whole", ["complex64", "complex128"])
def test_parts_are_of_half_the_width(part, whole):
    stated = {"dtype": BY_NAME[part], "shape": PartialShape((2,))}
    made = Node("z", "Complex", ("x", "y"), "", {"T": BY_NAME[part], "Tout": BY_NAME[whole]})
    graph = Graph([Node("x", "Placeholder", (), "", stated), Node("y", "Placeholder", (), "", stated), made])
    feeds = {name: np.ones(2, part) for name in "xy"}
    if np.dtype(whole).itemsize == 2 * np.dtype(part).itemsize:
        (result,) = lower(graph, feeds, ["z"]).module.entry.root.operands
        assert str(result.array.element_type) == f"c{whole[7:]}"
        return
    with pytest.raises(InputError, match=r"node 'z' \(Complex\): .*parts of f\d\d make numbers of c\d+, not of c\d+"):
        lower(graph, feeds, ["z"])
