"""The table of TensorFlow's messages against the descriptors of an installed TensorFlow."""

import pytest

from compiler.graph.schema import ENUMERATIONS, MESSAGES, SCALARS

pytest.importorskip("tensorflow", reason="tensorflow is not installed")

from tensorflow.compiler.tf2xla import tf2xla_pb2
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import saved_model_pb2, tensor_bundle_pb2

[POOL] = {one.DESCRIPTOR.pool for one in (graph_pb2, saved_model_pb2, tensor_bundle_pb2, tf2xla_pb2)}
INNER = {
    "ObjectReference": "TrackableObjectGraph.TrackableObject.ObjectReference",
    "Endianness": "BundleHeaderProto.Endianness",
}
"""Names that are shorter in the table."""
TFCOMPILE = tf2xla_pb2.DESCRIPTOR.message_types_by_name


def _full_name(name):
    """The messages of tfcompile's configs stand in a package of their own."""
    return f"tensorflow.{'tf2xla.' if name in TFCOMPILE else ''}{INNER.get(name, name)}"


@pytest.mark.parametrize("name", MESSAGES)
def test_fields_have_their_numbers_and_types(name):
    theirs = POOL.FindMessageTypeByName(_full_name(name)).fields_by_name
    for field in MESSAGES[name]:
        row = theirs[field.name]
        assert row.number == field.number
        if field.key:
            assert row.message_type.GetOptions().map_entry
        elif field.type in SCALARS:
            assert getattr(row, f"TYPE_{field.type.upper()}") == row.type
        else:
            kind = row.message_type or row.enum_type
            assert kind.full_name == _full_name(field.type)


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_words_have_their_numbers(name):
    theirs = POOL.FindEnumTypeByName(f"tensorflow.{INNER.get(name, name)}")
    assert {word.name: word.number for word in theirs.values} == dict(ENUMERATIONS[name])
