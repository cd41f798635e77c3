"""The table of TensorFlow's messages against the descriptors of an installed TensorFlow."""

import pytest

from compiler.graph.schema import ENUMERATIONS, MESSAGES, SCALARS

pytest.importorskip("tensorflow", reason="tensorflow is not installed")

from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import saved_model_pb2, tensor_bundle_pb2

[POOL] = {one.DESCRIPTOR.pool for one in (graph_pb2, saved_model_pb2, tensor_bundle_pb2)}
INNER = {
    "ObjectReference": "TrackableObjectGraph.TrackableObject.ObjectReference",
    "Endianness": "BundleHeaderProto.Endianness",
}
"""Names that are shorter in the table."""


@pytest.mark.parametrize("name", MESSAGES)
def test_fields_have_their_numbers_and_types(name):
    theirs = POOL.FindMessageTypeByName(f"tensorflow.{INNER.get(name, name)}").fields_by_name
    for field in MESSAGES[name]:
        row = theirs[field.name]
        assert row.number == field.number
        if field.key:
            assert row.message_type.GetOptions().map_entry
        elif field.type in SCALARS:
            assert getattr(row, f"TYPE_{field.type.upper()}") == row.type
        else:
            kind = row.message_type or row.enum_type
            assert kind.full_name == f"tensorflow.{INNER.get(field.type, field.type)}"


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_words_have_their_numbers(name):
    theirs = POOL.FindEnumTypeByName(f"tensorflow.{INNER.get(name, name)}")
    assert {word.name: word.number for word in theirs.values} == dict(ENUMERATIONS[name])
