"""Every way of writing groups of devices says the same groups."""

import pytest

from compiler.ir.devices import AxisRef, IotaDevices, IotaReplicaGroups, Mesh, MeshReplicaGroups, ReplicaGroups

MESH = Mesh((("a", 2), ("b", 4)))


@pytest.mark.parametrize(
    ("iota", "devices"),
    [
        (IotaDevices((6,)), [0, 1, 2, 3, 4, 5]),
        (IotaDevices((2, 3), (1, 0)), [0, 3, 1, 4, 2, 5]),
        (IotaDevices((2, 1, 2), (2, 0, 1)), [0, 2, 1, 3]),
        (IotaDevices((1,)), [0]),
    ],
)
def test_a_transposed_iota_lists_devices(iota, devices):
    assert iota.devices().tolist() == devices


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (ReplicaGroups(), ()),
        (ReplicaGroups(((0, 1), (2, 3))), ((0, 1), (2, 3))),
        (IotaReplicaGroups(2, 3, IotaDevices((6,))), ((0, 1, 2), (3, 4, 5))),
        (IotaReplicaGroups(3, 2, IotaDevices((2, 3), (1, 0))), ((0, 3), (1, 4), (2, 5))),
        (MeshReplicaGroups(MESH, (AxisRef("a"),)), ((0, 4), (1, 5), (2, 6), (3, 7))),
        (MeshReplicaGroups(MESH, (AxisRef("b"),)), ((0, 1, 2, 3), (4, 5, 6, 7))),
        (MeshReplicaGroups(MESH, (AxisRef("b"), AxisRef("a"))), ((0, 4, 1, 5, 2, 6, 3, 7),)),
        (MeshReplicaGroups(MESH, (AxisRef("b", (1, 2)),)), ((0, 2), (1, 3), (4, 6), (5, 7))),
        (MeshReplicaGroups(MESH, (AxisRef("b", (2, 2)),)), ((0, 1), (2, 3), (4, 5), (6, 7))),
    ],
)
def test_devices_that_differ_in_what_is_named_are_one_group(groups, expected):
    assert groups.groups() == expected


def test_a_mesh_lists_its_devices_in_any_order():
    assert Mesh((("a", 2), ("b", 2)), (3, 2, 1, 0)).grid().tolist() == [[3, 2], [1, 0]]
    assert Mesh((("a", 2), ("b", 2)), IotaDevices((2, 2), (1, 0))).grid().tolist() == [[0, 2], [1, 3]]
    assert Mesh().grid().tolist() == 0
