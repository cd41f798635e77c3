"""Devices by names in every form, what may be clustered on them, and which a cluster runs on."""

from dataclasses import replace

import pytest

from compiler.diagnostics import InputError
from compiler.jit.devices import DEFAULT_DEVICE, Policy, device_of, pick_device, registration_of
from compiler.jit.flags import DEFAULTS

CPU, GPU, OTHER_GPU, XLA = (device_of(name) for name in ("/cpu:0", "/gpu:0", "/gpu:1", "/device:XLA_GPU:0"))


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("", DEFAULT_DEVICE),
        ("/gpu:1", "/job:localhost/replica:0/task:0/device:GPU:1"),
        ("/device:XLA_CPU", "/job:localhost/replica:0/task:0/device:XLA_CPU:0"),
        ("/job:worker/task:3", "/job:worker/replica:0/task:3/device:CPU:0"),
        ("/device:GPU:*/replica:*", "/job:localhost/replica:0/task:0/device:GPU:0"),
        (DEFAULT_DEVICE, DEFAULT_DEVICE),
    ],
)
def test_what_is_left_out_is_that_of_the_default(name, full):
    assert str(device_of(name)) == full


def test_an_index_is_of_its_type():
    assert device_of("/device:CPU", OTHER_GPU).index == "0"
    assert device_of("/job:a", OTHER_GPU).index == "1"


@pytest.mark.parametrize("name", ["gpu:0", "/gpu", "/job:", "/cpu:0x", "/what:1"])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(InputError, match="is no name of a device"):
        device_of(name)


@pytest.mark.parametrize(
    ("devices", "mixing", "chosen"),
    [
        ([CPU], False, CPU),
        ([CPU, GPU], False, GPU),
        ([GPU, OTHER_GPU], False, None),
        ([CPU, XLA], False, None),
        ([CPU, XLA], True, XLA),
        ([GPU, XLA], True, None),
        ([], False, None),
    ],
)
def test_a_cpu_joins_one_gpu_and_others_stand_alone(devices, mixing, chosen):
    assert pick_device(devices, allow_mixing=mixing) == chosen
    assert pick_device(devices[::-1], allow_mixing=mixing) == chosen


def test_what_may_be_clustered_follows_from_type_and_flags():
    assert registration_of(CPU, DEFAULTS).policy is Policy.IF_EXPLICITLY_REQUESTED
    assert registration_of(CPU, replace(DEFAULTS, cpu_global_jit=True)).policy is Policy.IF_ENABLED_GLOBALLY
    assert registration_of(XLA, replace(DEFAULTS, enable_xla_devices=False)) is None
    assert registration_of(XLA, replace(DEFAULTS, enable_xla_devices=True)).allows_everything
    assert registration_of(device_of("/device:TPU:0"), DEFAULTS) is None
