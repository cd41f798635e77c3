"""The simulator and a real GPU can be asked for the same, in the same words."""

import inspect

import pytest

from compiler.backends.nvptx.cuda import CudaDevice
from compiler.backends.nvptx.device import Device, LoadedModule
from compiler.backends.nvptx.simulated import SimulatedDevice

METHODS = [name for name, value in vars(Device).items() if inspect.isfunction(value) and not name.startswith("_")]


def arguments(function):
    """A function's parameters with their defaults; what each is for is the type checker's."""
    return [(name, p.default) for name, p in inspect.signature(function).parameters.items()]


@pytest.mark.parametrize("device", [CudaDevice, SimulatedDevice])
@pytest.mark.parametrize("method", METHODS)
def test_a_device_takes_what_the_interface_says(method, device):
    assert arguments(getattr(device, method)) == arguments(getattr(Device, method))


def test_a_loaded_module_launches_on_the_first_stream_unless_told_otherwise():
    assert inspect.signature(LoadedModule.launch).parameters["stream"].default == 0
