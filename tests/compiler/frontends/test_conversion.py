"""StableHLO and XLA's protocol buffers as HLO text: what jaxlib drops is put in, what is open settled.

The module is a program, too: its exit says nothing, what it leaves in its folder does.
"""

import json

import pytest

conversion = pytest.importorskip("compiler.frontends.conversion", reason="no jaxlib")

MODULE = """module @m {attributes} {{
  func.func @main(%x: tensor<{sizes}xf32>) -> tensor<{sizes}xf32> {{
    %0 = stablehlo.add %x, %x : tensor<{sizes}xf32>
    return %0 : tensor<{sizes}xf32>
  }}
}}"""


def converted(sizes="2", attributes="", shapes=None, **details):
    text = MODULE.format(sizes=sizes, attributes=f"attributes {{{attributes}}}" if attributes else "")
    return conversion.convert("mlir", text.encode(), shapes, details)


def test_a_program_keeps_its_name_and_says_nothing_that_was_not_said():
    header = converted().splitlines()[0]
    assert header.startswith("HloModule m,")
    assert "replica_count" not in header
    assert "exported_arguments" not in header


def test_replicas_and_partitions_are_those_of_the_modules_attributes():
    counts = "mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 4 : i32"
    assert converted(attributes=counts).splitlines()[0].endswith(", replica_count=2, num_partitions=4")


def test_the_arguments_that_an_export_kept_are_noted_beside_other_attributes():
    assert 'frontend_attributes={exported_arguments="0 2"}' in converted(arguments="0 2").splitlines()[0]
    assert conversion._noting('HloModule m, frontend_attributes={a="b"}', "1") == (
        'HloModule m, frontend_attributes={exported_arguments="1",a="b"}'
    )
    assert conversion._noting("HloModule m, frontend_attributes={}", "1") == (
        'HloModule m, frontend_attributes={exported_arguments="1"}'
    )


def test_sizes_that_are_open_are_those_of_the_inputs():
    assert "f32[5,3]" in converted("?x3", shapes=[(5, 3)])


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (None, r"its sizes are open, main\(tensor<\?x3xf32>\): give inputs"),
        ([], "main takes 1 inputs, 0 are given"),
        ([(5,)], r"input 0 has the sizes \[5\], and main takes tensor<\?x3xf32>"),
        ([(5, 4)], r"input 0 has the sizes \[5, 4\]"),
    ],
)
def test_inputs_that_do_not_settle_them_are_refused_with_what_is_taken(shapes, said):
    with pytest.raises(ValueError, match=said):
        converted("?x3", shapes=shapes)


def test_what_a_protocol_buffer_is_stands_in_its_fields():
    fields = list(conversion._fields(b"\x0a\x02hi\x10\x96\x01\x1d\x00\x00\x00\x00\x22\x00"))
    assert [(field.number, field.content, field.value) for field in fields] == [
        (1, b"hi", 0),
        (2, b"", 150),
        (3, b"", 0),
        (4, b"", 0),
    ]


@pytest.mark.parametrize("data", [b"", b"\x0b", b"\xff\xff", b"\x0a"])
def test_fields_end_where_they_make_no_sense(data):
    assert all(field.number >= 0 for field in conversion._fields(data))


def test_a_dump_and_a_module_alone_are_the_same_program():
    import_text = conversion._hlo.hlo_module_from_text("HloModule p\nENTRY e { ROOT x = f32[2] parameter(0) }")
    alone = import_text.as_serialized_hlo_module_proto()
    size = len(alone)
    varint = bytes([size & 127 | 128, size >> 7]) if size > 127 else bytes([size])
    dump = b"\x0a" + varint + alone
    expected = conversion.convert("proto", alone, None, {})
    assert expected.startswith("HloModule p")
    assert conversion.convert("proto", dump, None, {}) == expected


@pytest.mark.parametrize(
    ("source", "left"), [(MODULE.format(sizes="2", attributes=""), "result"), ("module {", "refusal")]
)
def test_as_a_program_it_leaves_a_result_or_what_is_wrong(tmp_path, source, left):
    (tmp_path / "source").write_text(source)
    (tmp_path / "request.json").write_text(json.dumps({"form": "mlir", "shapes": None, "details": {}}))
    conversion.main(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"source", "request.json", left}
    assert (tmp_path / left).read_text()
