"""GraphDef in both forms: what is written is read as it was, and what is damaged is an error with a place."""

import gzip
import re
import subprocess
import sys
import time

import graphs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compiler
from compiler import graph as tf

pytest.importorskip("google.protobuf", reason="protobuf is not installed")

EVERYTHING = graphs.everything()
PIECES = [bytes([byte]) for byte in (0, 1, 8, 10, 18, 34, 42, 127, 128, 255)] + [b"\xff\xff\xff\xff\x07", b"{", b'"']


@pytest.mark.parametrize("write", [tf.to_binary, tf.to_text])
def test_what_is_written_is_read_as_it_was(write):
    written = write(EVERYTHING)
    read = tf.parse_graph(written)
    assert read == EVERYTHING
    assert write(read) == written


def test_tensors_keep_every_bit():
    read = tf.parse_graph(tf.to_text(EVERYTHING)).node("tensors").attributes
    for element_type in graphs.element_types():
        for number, array in enumerate(graphs.arrays(element_type)):
            value = read[f"{element_type}_{number}"].array()
            assert (value.dtype, value.shape, value.tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_not_numbers_are_written_back():
    node = tf.Node("a", "B", (), "", {"f": float("nan"), "l": tf.AttributeList("f", (float("nan"), 1.0))})
    for write in (tf.to_binary, tf.to_text):
        written = write(tf.Graph([node]))
        assert write(tf.parse_graph(written)) == written


REST = r"""
node {
  name: "a" op: "B"
  attr {
    key: "v"
    value { tensor { dtype: DT_VARIANT tensor_shape { } variant_val { type_name: "q" metadata: "\001" } } }
  }
  attr {
    key: "r"
    value { tensor { dtype: DT_RESOURCE tensor_shape { } resource_handle_val { name: "h" hash_code: 7 } } }
  }
  experimental_debug_info { original_node_names: "x" }
  experimental_type { type_id: TFT_PRODUCT args { type_id: TFT_TENSOR args { type_id: TFT_FLOAT } } }
}
library {
  function {
    signature {
      name: "f" description: "d" is_stateful: true attr { name: "T" type: "type" }
      input_arg { name: "x" type: DT_FLOAT description: "e" }
    }
    arg_attr { key: 0 value { attr { key: "_user_specified_name" value { s: "x" } } } }
    resource_arg_unique_id { key: 0 value: 3 }
  }
  gradient { function_name: "f" gradient_func: "g" }
}
versions { producer: 1 bad_consumers: 5 }
debug_info { files: "x.py" frames_by_id { key: 1 value { line: 0 func: "f" } } }
"""


def test_what_the_model_has_no_word_for_is_written_back():
    first = tf.parse_graph(REST)
    for write in (tf.to_binary, tf.to_text):
        assert write(tf.parse_graph(write(first))) == write(first)
    text = " ".join(tf.to_text(first).split())
    words = REST.split()
    assert {word for word in words if word not in "{}"} <= set(text.split())
    assert "line: 0" in text


def test_fields_of_numbers_that_nobody_knows_are_kept_in_binary_form_and_refused_as_text():
    field = b"\xaa\x3f\x03new"  # field 1013: bytes
    data = b"\x0a" + bytes([6 + len(field)]) + b"\x0a\x01a\x12\x01B" + field
    read = tf.parse_graph(data)
    assert tf.to_binary(read) == data
    with pytest.raises(compiler.UnsupportedError, match="write the binary form"):
        tf.to_text(read)


@pytest.mark.parametrize("name", ["g.pb", "g.pbtxt", "g", "g.pb.gz", "g.pbtxt.gz"])
def test_files_are_told_by_name_or_content(tmp_path, name):
    written = tf.to_text(EVERYTHING).encode() if "txt" in name else tf.to_binary(EVERYTHING)
    (tmp_path / name).write_bytes(gzip.compress(written) if name.endswith(".gz") else written)
    assert tf.read_graph(tmp_path / name) == EVERYTHING


def test_text_without_a_name_is_told_by_its_start():
    for start in ("", "# made by hand\n\n  ", "\n"):
        assert tf.parse_graph((start + 'node { name: "a" op: "B" }').encode()).node("a").op == "B"


def deep(levels):
    """A function in the attribute of a function in ..., as text."""
    inner = 'func { name: "g" attr { key: "f" value { '
    return 'node { name: "a" op: "B" attr { key: "f" value { ' + inner * levels + "i: 1" + " } } }" * levels + " } } }"


def attribute(value):
    return f'node {{ name: "a" op: "B" attr {{ key: "x" value {{ {value} }} }} }}'


DAMAGED = [
    (
        b"\x0a\xff\xff\xff\xff\x07abc",
        "at byte 1, node says that it ends at byte 2,147,483,653, but what holds it ends at 9",
    ),
    (b"\x0a\x04\x0a\x7fab", "at byte 3, in node\\[0\\], name says that it ends at byte 131"),
    (b"\x0a\x03\x0a\x01\xff", "in node\\[0\\], name is no UTF-8"),
    (b"\x0a", "the bytes end in the middle of a number"),
    (b"\xff" * 20, "a number takes more than 10 bytes"),
    (b"\x03", "a field has the number 0"),
    (b"\x0b", "wire type 3"),
    (b"\x22\x03\x08\x01", "versions says that it ends"),
    (b"\x22\x03\x1a\x01\x80", "in versions, the bytes end in the middle of a number"),
    ("node { name: ", ":1:1"),
    ('node {\n  title: "a"\n}', ":2:3: .*no field named"),
    ("node {" * 200, "more than 100 deep"),
    ('node { name: "a" op: "B" attr { key: "x" value { i: ' + "9" * 5000 + " } } }", ":1:"),
    (deep(40), "more than 100 deep"),
    (
        attribute("shape { dim { size: -2 } }"),
        "node 'a', attribute 'x': a shape has the size -2",
    ),
    (
        attribute("shape { dim { size: 2 } unknown_rank: true }"),
        "unknown rank has 1 sizes",
    ),
    (attribute('list { i: 1 s: "" }'), "several kinds: s, i"),
    (
        attribute('tensor { dtype: DT_FLOAT tensor_content: "abc" }'),
        "takes 4 bytes, but 3 are stated",
    ),
    (
        attribute("tensor { dtype: DT_FLOAT float_val: 1 float_val: 2 }"),
        "1 elements states 2",
    ),
    (
        attribute('tensor { dtype: DT_STRING string_val: "" string_val: "" }'),
        "1 elements states 2",
    ),
    (
        attribute("tensor { dtype: DT_FLOAT tensor_shape { dim { size: -1 } } }"),
        "not all known",
    ),
    (
        attribute("tensor { dtype: DT_COMPLEX64 scomplex_val: 1 }"),
        "odd number",
    ),
    ('node { name: "a" op: "B" input: "c" }', "no node is named 'c'"),
    (b'node { name: "\xff" }', ":1: no text: byte 14"),
]


@pytest.mark.parametrize(("data", "said"), DAMAGED, ids=range(len(DAMAGED)))
def test_damage_is_said_with_its_place(data, said):
    started = time.monotonic()
    with pytest.raises(compiler.CompilerError, match=f"(?s)g.*{said}"):
        tf.parse_graph(data, "g.pb" if data[:1] in (b"\x0a", b"\xff") else "g")
    assert time.monotonic() - started < 5


def refusal(data, filename):
    """What is said of bytes that are no graph, empty where they are one."""
    try:
        tf.parse_graph(data, filename)
    except compiler.CompilerError as error:
        return str(error)
    return ""


def test_every_truncation_is_read_or_said():
    """A graph cut between two fields is a graph of fewer; elsewhere it is an error with a place."""
    whole = tf.to_binary(tf.parse_graph(REST))
    for end in range(len(whole)):
        said = refusal(whole[:end], "g.pb")
        assert not said or re.search("at byte |attribute |invalid graph", said), said


def test_a_tensor_of_a_terabyte_is_not_made():
    read = tf.parse_graph(tf.to_binary(EVERYTHING))
    for name in ("zeros", "splat"):
        with pytest.raises(compiler.UnsupportedError, match="more than 2 GiB"):
            read.node("values").attributes[name].array()


WHOLE = {"binary": tf.to_binary(tf.parse_graph(REST)), "text": tf.to_text(tf.parse_graph(REST)).encode()}


@pytest.mark.parametrize("form", WHOLE)
@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_changed_bytes_are_read_or_refused(form, data):
    raw = bytearray(WHOLE[form])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw)))
        change = data.draw(st.sampled_from(("put", "cut", "insert", "repeat")))
        piece = data.draw(st.one_of(st.sampled_from(PIECES), st.binary(min_size=1, max_size=3)))
        if change == "put":
            raw[at : at + len(piece)] = piece
        elif change == "insert":
            raw[at:at] = piece
        elif change == "cut":
            del raw[at : at + data.draw(st.integers(1, 40))]
        else:
            raw[at:at] = raw[at : at + data.draw(st.integers(1, 200))]
    filename = {"text": "g.pbtxt", "binary": "g.pb"}[form]
    said = refusal(bytes(raw), filename)
    if said:
        assert said.startswith(filename)
        return
    read = tf.parse_graph(bytes(raw), filename)
    assert tf.to_binary(tf.parse_graph(tf.to_binary(read))) == tf.to_binary(read)
    str(read)


def test_a_graph_needs_no_library_before_it_is_read():
    code = "import compiler.graph, sys; sys.exit('google.protobuf' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_the_library_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setattr(tf, "find_spec", lambda name: None)
    for call in (lambda: tf.parse_graph(b"", "g.pb"), lambda: tf.to_text(tf.Graph())):
        with pytest.raises(
            compiler.UnsupportedError, match=r"protobuf, which is not installed; pip install '.\[graphs\]'"
        ):
            call()


def test_the_listing_has_a_line_for_each_node():
    lines = str(EVERYTHING).splitlines()
    assert lines[1].startswith("tensors = Of/Nobody(values, values:3, ^values) {bf16_0=bfloat16[]")
    assert "  both = Wild(sum:z:0, ^sum) on /device:GPU:0" in lines
    assert "function f(x: float32, y: N*T) -> (a: float32, rest: L) {" in lines
    assert max(map(len, lines[2:])) < 120
    assert EVERYTHING.counts()["Wild"] == 1


def test_values_that_are_no_numbers_have_no_array():
    with pytest.raises(compiler.UnsupportedError, match="its elements are no numbers"):
        EVERYTHING.node("values").attributes["strings"].array()
    with pytest.raises(compiler.UnsupportedError, match="they have no such type"):
        tf.tensor_of(np.array(["a"], object))


def test_what_is_not_there_is_said():
    with pytest.raises(compiler.InputError, match="no node 'value' in the graph; did you mean values"):
        EVERYTHING.node("value")
    with pytest.raises(compiler.InputError, match="no function 'q'"):
        EVERYTHING.function("q")
