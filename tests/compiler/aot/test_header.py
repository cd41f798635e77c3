"""A C++ class is named as its caller says, and its files and symbol follow from that."""

import pytest

from compiler.aot.header import Array, CppClass, Facts, header
from compiler.diagnostics import InputError
from compiler.ir.shape import ArrayShape
from compiler.ir.types import F32, TYPES


@pytest.mark.parametrize(
    ("text", "namespaces", "name", "file"),
    [
        ("Graph", (), "Graph", "graph"),
        ("::my::ns::MatMulComp", ("my", "ns"), "MatMulComp", "mat_mul_comp"),
        ("a::X2Y", ("a",), "X2Y", "x2_y"),
    ],
)
def test_a_name_is_taken_apart(text, namespaces, name, file):
    found = CppClass.parse(text)
    assert (found.namespaces, found.name, found.file) == (namespaces, name, file)
    assert found.symbol == "tfcompile_" + "__".join((*namespaces, name))


@pytest.mark.parametrize("text", ["", "::", "a::", "1a", "a b", "a::class", "é", "a:b"])
def test_what_is_no_name_is_refused(text):
    with pytest.raises(InputError, match="is no name of C"):
        CppClass.parse(text)


def arrays(*dims):
    return [Array(f"n{number}", ArrayShape(F32, sizes)) for number, sizes in enumerate(dims)]


def text_of(facts):
    return header(CppClass.parse("ns::Graph"), "run", facts, "x86_64", 1000)


def test_an_object_has_room_for_all_that_it_owns_in_whole_lines():
    facts = Facts(arrays((2, 3), ()), arrays((9,)), arrays((1,)), [0], [0])
    text = text_of(facts)
    assert "arg_n0_count() { return 6; }" in text
    assert "arg1_size() { return 4; }" in text
    assert "n0(std::size_t dim0, std::size_t dim1)" in text
    assert "[(dim0) * 3 + dim1]" in text
    assert "memory_ + 320)" in text
    assert "calloc(1, 1320 + 64)" in text


def test_a_class_of_nothing_is_a_class():
    text = text_of(Facts([], [], [], [], []))
    assert "namespace ns {" in text
    assert "class Graph" in text


def test_types_that_cpp_lacks_are_given_as_bits():
    half = [Array("h", ArrayShape(TYPES["bf16"], (2,))), Array("i", ArrayShape(TYPES["s4"], (2,)))]
    text = text_of(Facts(half, [], [], [], []))
    assert "std::uint16_t& arg_h(" in text
    assert "std::uint8_t& arg_i(" in text
