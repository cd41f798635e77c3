"""Devices that work together, in XLA's three spellings."""

import pytest

from compiler.ir.devices import IotaDevices, IotaReplicaGroups, ReplicaGroups
from compiler.proto.devices import groups_proto


def test_groups_are_listed():
    found = groups_proto(ReplicaGroups(((0, 1), (2, 3))))
    assert found == {"collective_device_list": {"replica_groups": [{"replica_ids": (0, 1)}, {"replica_ids": (2, 3)}]}}


def test_no_groups_are_an_empty_list():
    assert groups_proto(ReplicaGroups()) == {"collective_device_list": {"replica_groups": []}}


@pytest.mark.parametrize(("transpose", "written"), [((), (0, 1)), ((1, 0), (1, 0))])
def test_a_rule_keeps_its_transpose_and_one_that_has_none_gets_the_identity(transpose, written):
    found = groups_proto(IotaReplicaGroups(2, 4, IotaDevices((4, 2), transpose)))
    assert found == {
        "iota_collective_device_list": {
            "num_replica_groups": 2,
            "num_devices_per_group": 4,
            "iota_reshape_dims": (4, 2),
            "iota_transpose_perm": written,
        }
    }
