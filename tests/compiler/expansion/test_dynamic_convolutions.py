"""Convolutions over sizes known at run time against the same ones over arrays of just those sizes."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import compiler
from compiler.diagnostics import UnsupportedError

RNG = np.random.default_rng(3)
BOUND, FEATURES, OUTPUTS = 9, 3, 2


def whole(*shape: int) -> np.ndarray:
    return RNG.integers(-4, 5, shape).astype(np.float64)


@functools.cache
def engines(text: str) -> tuple[compiler.Module, list[compiler.Executable]]:
    """A program and what back ends make of it."""
    module = compiler.parse(text)
    compiler.verify(module)
    settings = (
        ("cpu", compiler.CompileOptions(verify_each=True)),
        ("cpu", compiler.CompileOptions(fusion=False)),
        ("nvptx", compiler.CompileOptions(device="sim")),
    )
    return module, [compiler.compile(module, backend, options) for backend, options in settings]


def everywhere(text: str, *inputs: np.ndarray) -> np.ndarray:
    module, executables = engines(text)
    (expected,) = compiler.interpret(module, *inputs)
    for executable in executables:
        np.testing.assert_array_equal(executable(*inputs)[0], expected)
    np.testing.assert_array_equal(compiler.interpret(module, *inputs, wide=True)[0].rounded(), expected)
    return np.asarray(expected)


class Setting:
    """A window of some size and stride over one dimension, with either kind of padding."""

    def __init__(self, size: int, stride: int, padding: str) -> None:
        self.size, self.stride, self.padding = size, stride, padding
        self.bound = self.places(BOUND)

    def places(self, length: int) -> int:
        if self.padding == "PADDING_SAME":
            return -(-length // self.stride)
        return max(length + self.stride - self.size, 0) // self.stride

    def pads(self, length: int) -> tuple[int, int]:
        if self.padding == "PADDING_VALID":
            return 0, 0
        missing = max((self.places(length) - 1) * self.stride + self.size - length, 0)
        return missing // 2, missing - missing // 2

    def static(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The convolution over arrays of just these sizes."""
        length, (low, high) = x.shape[1], self.pads(x.shape[1])
        text = f"""ENTRY e {{
          x = f64[{x.shape[0]},{length},{FEATURES}] parameter(0)
          w = f64[{self.size},{FEATURES},{OUTPUTS}] parameter(1)
          ROOT y = f64[{x.shape[0]},{self.places(length)},{OUTPUTS}] convolution(x, w),
            window={{size={self.size} stride={self.stride} pad={low}_{high}}}, dim_labels=b0f_0io->b0f }}"""
        return compiler.interpret(text, x, w)[0]

    def forward(self) -> str:
        low, high = self.pads(BOUND)
        return f"""ENTRY e {{
          x = f64[<=4,<={BOUND},{FEATURES}] parameter(0)
          w = f64[{self.size},{FEATURES},{OUTPUTS}] parameter(1)
          ROOT y = f64[<=4,<={self.bound},{OUTPUTS}] custom-call(x, w),
            window={{size={self.size} stride={self.stride} pad={low}_{high}}}, dim_labels=b0f_0io->b0f,
            custom_call_target="DynamicConvolutionForward", padding_type={self.padding} }}"""

    def input_gradient(self) -> str:
        low = self.size - 1 - self.pads(BOUND)[0]
        high = BOUND + self.size - 1 - low - ((self.bound - 1) * self.stride + 1)
        return f"""ENTRY e {{
          n = s32[3] parameter(0)
          g = f64[<=4,<={self.bound},{OUTPUTS}] parameter(1)
          w = f64[{self.size},{FEATURES},{OUTPUTS}] parameter(2)
          r = f64[{self.size},{FEATURES},{OUTPUTS}] reverse(w), dimensions={{0}}
          ROOT y = f64[<=4,<={BOUND},{FEATURES}] custom-call(n, g, r),
            window={{size={self.size} pad={low}_{high} lhs_dilate={self.stride}}}, dim_labels=b0f_0oi->b0f,
            custom_call_target="DynamicConvolutionInputGrad", padding_type={self.padding} }}"""

    def kernel_gradient(self) -> str:
        low = self.pads(BOUND)[0]
        high = self.size - 1 + (self.bound - 1) * self.stride + 1 - low - BOUND
        window = f"{{size={self.bound} pad={low}_{high} rhs_dilate={self.stride}}}"
        return f"""ENTRY e {{
          x = f64[<=4,<={BOUND},{FEATURES}] parameter(0)
          g = f64[<=4,<={self.bound},{OUTPUTS}] parameter(1)
          ROOT y = f64[{self.size},{FEATURES},{OUTPUTS}] custom-call(x, g), window={window}, dim_labels=f0b_i0o->0bf,
            custom_call_target="DynamicConvolutionKernelGrad", padding_type={self.padding} }}"""


@pytest.mark.slow
@pytest.mark.parametrize("padding", ["PADDING_SAME", "PADDING_VALID"])
@pytest.mark.parametrize(("size", "stride"), [(3, 1), (3, 2), (4, 3), (2, 1), (1, 2)])
def test_every_size_gives_what_arrays_of_that_size_give(size: int, stride: int, padding: str) -> None:
    setting = Setting(size, stride, padding)
    w = whole(size, FEATURES, OUTPUTS)
    for length, batch in ((BOUND, 4), (7, 2), (4, 1)):
        x = whole(batch, length, FEATURES)
        expected = setting.static(x, w)
        np.testing.assert_array_equal(everywhere(setting.forward(), x, w), expected)
        g = whole(*expected.shape)
        # The gradients of <g, forward(x, w)>, which is linear in x and in w.
        value = (g * expected).sum()
        by_input = everywhere(setting.input_gradient(), np.array([batch, length, FEATURES], np.int32), g, w)
        assert by_input.shape == x.shape
        assert (by_input * x).sum() == value
        assert (everywhere(setting.kernel_gradient(), x, g) * w).sum() == value


def test_what_does_not_say_enough_is_refused_by_name() -> None:
    text = Setting(3, 2, "PADDING_SAME").forward()
    for changed, reason in (
        (text.replace(", padding_type=PADDING_SAME", ""), "PADDING_INVALID does not say"),
        (text.replace("w = f64[3,", "w = f64[<=3,"), "size of its window"),
        (text.replace("ROOT y = f64[<=4,<=5,2]", "ROOT y = f64[<=4,<=7,2]"), "make"),
        (text.replace(f",{OUTPUTS}] custom-call", f",<={OUTPUTS}] custom-call"), "size of dimension 2"),
    ):
        assert changed != text
        with pytest.raises(UnsupportedError) as caught:
            compiler.compile(changed)
        assert reason in str(caught.value)
        assert "DynamicConvolutionForward" in str(caught.value)
