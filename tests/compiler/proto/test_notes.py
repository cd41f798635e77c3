"""What is said about instructions keeps its fields as messages."""

from compiler.ir.attributes import (
    BufferDonor,
    Origin,
    OriginArray,
    OutputAlias,
    ParameterAlias,
    ResultAccuracy,
    StackFrames,
    Statistics,
)
from compiler.proto import notes


def test_metadata_keeps_names_and_makes_words_of_numbers():
    message = notes.metadata_proto([("op_name", "a"), ("source_line", 3), ("profile_type", [1])])
    assert (message["op_name"], message["source_line"]) == ("a", 3)
    assert all(isinstance(word, str) for word in message["profile_type"])
    assert notes.metadata_proto([("metadata_payload", "é")])["metadata_payload"] == {"value": "é".encode()}
    assert notes.metadata_proto([]) == {}


def test_texts_by_names_keep_their_order():
    assert notes.strings_proto([("b", "1"), ("a", "")]) == {
        "map": [{"key": "b", "value": "1"}, {"key": "a", "value": ""}]
    }


def test_an_accuracy_is_a_mode_or_a_tolerance():
    assert notes.accuracy_proto(ResultAccuracy(mode="highest")) == {"mode": "HIGHEST"}
    assert notes.accuracy_proto(ResultAccuracy(atol=1.0, rtol=2.0, ulps=3)) == {
        "tolerance": {"atol": 1.0, "rtol": 2.0, "ulps": 3}
    }


def test_statistics_say_which_is_shown():
    message = notes.statistics_proto(Statistics(values=(("flops", 2.0),), shown=0))
    assert message == {"stat_index_to_visualize": 0, "statistics": [{"stat_name": "flops", "stat_val": 2.0}]}


def test_an_origin_has_an_element_for_each_leaf():
    tree = (OriginArray("a", (1,)), (None, ()))
    elements = notes.origin_proto(Origin(tree))["elements"]
    assert [one["shape_index"] for one in elements] == [(0,), (1, 0)]
    assert elements[0]["original_array"] == {"instruction_name": "a", "shape_index": (1,)}
    assert notes.origin_proto(Origin(None)) == {"is_synthetic_call": True}


def test_aliases_and_donors_name_both_ends():
    assert notes.output_aliases([OutputAlias((0,), 2, (1,))]) == [
        {"output_shape_index": (0,), "operand_index": 2, "operand_shape_index": (1,)}
    ]
    (entry,) = notes.parameter_aliases([ParameterAlias((), 1, (0,), "must-alias")])["entries"]
    assert (entry["parameter_number"], entry["kind"]) == (1, "MUST_ALIAS")
    assert notes.buffer_donors([BufferDonor(3, ())])["entries"] == [
        {"parameter_number": 3, "parameter_shape_index": ()}
    ]


def test_a_frame_without_a_parent_has_none():
    frames = StackFrames(("f",), ("g",), (), (({"file_location_id": 1, "parent_frame_id": 1}.items()),))
    assert notes.stack_frames(frames)["stack_frames"] == [{"file_location_id": 1, "parent_frame_id": 0}]
