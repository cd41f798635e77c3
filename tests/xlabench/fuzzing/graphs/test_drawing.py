"""Ops are drawn as their records take them; what a record refuses leaves nothing."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from compiler.tf import RECORDS, ArrayShape, NotConstantError, lower
from xlabench.fuzzing.graphs import operands
from xlabench.fuzzing.graphs.drawing import EVERY_TYPE, PLAIN, TYPES, Drawer, Fed, dims_of, dtype_of
from xlabench.tensorflow.framework.functions import Traced
from xlabench.tensorflow.framework.graph import Graph, get_default_graph

OF_EACH_KIND = ("float32", "bfloat16", "complex64", "int64", "uint8", "bool")


def drawer_of(seed=0, ops=PLAIN, types=TYPES):
    drawer = Drawer(Graph(), np.random.default_rng(seed), types, ops, Fed())
    drawer.pool.append(drawer.source("float32", (2, 3)))
    return drawer


def nodes(drawer):
    return [(one.name, one.type, [tensor.name for tensor in one.inputs]) for one in drawer.graph.get_operations()]


def test_equal_seeds_draw_equal_graphs():
    one, same, other = drawer_of(4), drawer_of(4), drawer_of(5)
    for drawer in (one, same, other):
        for _ in range(8):
            drawer.op()
    assert nodes(one) == nodes(same) != nodes(other)


def test_what_is_drawn_by_its_signature_takes_and_gives_arrays():
    for name in PLAIN:
        ports = (*RECORDS[name].signature.inputs, *RECORDS[name].signature.outputs)
        assert not {"resource", "variant", "string"} & {port.type for port in ports}, name
        assert RECORDS[name].lower is not None, name
    assert {"AddV2", "MatMul", "Sum"} <= set(PLAIN)
    assert not {"Const", "Switch", "VarHandleOp", "PartitionedCall"} & set(PLAIN)


def test_what_is_added_can_be_taken_by_the_next():
    drawer = drawer_of()
    before = list(drawer.pool)
    (made,) = drawer.attempt("Tanh")
    assert made in drawer.pool
    assert made.op.type == "Tanh"
    assert set(before) < set(drawer.pool)


def test_what_no_value_is_known_for_leaves_nothing(monkeypatch):
    monkeypatch.setattr(operands, "KNOWN", {})
    drawer = drawer_of()
    before = list(drawer.pool)
    assert drawer.attempt("NonMaxSuppressionV4") == []
    assert [one.op.type for one in drawer.pool if one not in before] in ([], ["Placeholder"])
    assert drawer_of(ops=("NonMaxSuppressionV4",)).op() is None


@pytest.mark.parametrize("name", PLAIN)
def test_what_has_no_lowering_for_the_types_and_attributes_that_were_drawn_is_not_kept(name):
    for seed, kind in enumerate(OF_EACH_KIND):
        drawer = drawer_of(seed, types=(kind,))
        made = [one.output for one in drawer.attempt(name)]
        fed = {fed: ArrayShape(data_type.element_type, dims) for fed, (data_type, dims) in drawer.fed.shapes.items()}
        with suppress(NotConstantError):
            lower(drawer.graph.definition, fed, [one.text for one in made])


def test_the_nearest_whole_number_of_a_complex_one_is_not_drawn():
    assert drawer_of(types=("complex64",)).attempt("Round") == []
    drawer = drawer_of(types=("complex64",))
    drawer.pool.clear()
    assert drawer.attempt("Round") == []
    assert drawer.open_ends == []


def test_large_arrays_are_made_and_not_taken_further():
    drawer = drawer_of(types=("float32",))
    drawer.pool = [drawer.source("float32", (16, 17))]
    kept = [one for _ in range(20) for one in drawer.attempt("Tanh")]
    made = [one.outputs[0] for one in drawer.graph.get_operations() if one.type == "Tanh"]
    assert (16, 17) in {dims_of(one) for one in made}
    assert kept == [one for one in made if np.prod(dims_of(one)) <= 256]


def test_a_graph_is_fed_with_so_many_arrays_and_the_others_are_constants():
    drawer = drawer_of(1)
    made = [drawer.source("int32", (2,)) for _ in range(40)]
    fed = {one.op.name for one in [*drawer.pool, *made] if one.op.type == "Placeholder"}
    assert fed == drawer.fed.shapes.keys()
    assert {one.op.type for one in made} == {"Placeholder", "Const"}
    assert made[-1].op.type == "Const"


def test_within_a_function_nothing_is_fed():
    made = []

    def body():
        inner = Drawer(get_default_graph(), np.random.default_rng(0), TYPES, PLAIN, Fed())
        made.extend(inner.source("float32", (2,)) for _ in range(9))
        return made[0]

    Traced(body, [], Graph())
    assert {one.op.type for one in made} == {"Const"}


@pytest.mark.parametrize("kind", sorted(set(EVERY_TYPE)))
def test_an_array_of_any_type_is_there_or_made(kind):
    drawer = drawer_of(types=(kind,))
    found = drawer.of(lambda name: name == kind, (2, 2))
    assert (found.dtype.base_dtype.name, dims_of(found)) == (kind, (2, 2))
    assert drawer.constant(np.zeros(3, dtype_of(kind))).dtype.base_dtype.name == kind


def test_a_type_that_nothing_has_is_refused():
    with pytest.raises(ValueError, match="no type that is drawn is allowed"):
        drawer_of().of(lambda name: name == "string")


@pytest.mark.parametrize("error", [IndexError, TypeError, KeyError, ZeroDivisionError])
def test_a_lowering_that_fails_otherwise_than_by_refusing_is_no_refusal(error, monkeypatch):
    def fails(_operation):
        raise error("slip")

    monkeypatch.setitem(RECORDS, "Tanh", replace(RECORDS["Tanh"], lower=fails))
    with pytest.raises(error, match="slip"):
        drawer_of(ops=("Tanh",)).attempt("Tanh")


def test_where_nothing_was_drawn_nothing_is_taken():
    drawer = drawer_of()
    drawer.pool.clear()
    with pytest.raises(ValueError, match="no array"):
        drawer.any()
