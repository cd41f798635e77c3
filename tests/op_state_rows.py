"""Calls of ops on variables: the values of variables stand among the inputs."""

import numpy as np
from op_values import numbers

from compiler.graph import BY_NAME
from compiler.tf2xla import RECORDS

INT32, INT64 = BY_NAME["int32"], BY_NAME["int64"]


def held(element_type):
    yield {}, [numbers(element_type, 2, 3)]
    yield {}, [numbers(element_type)]


def counts(element_type):
    yield {"limit": 5}, [np.array(3, element_type.dtype)]


def assigned(element_type):
    yield {}, [numbers(element_type, 2, 3), numbers(element_type, 2, 3, seed=1)]
    yield {}, [numbers(element_type), numbers(element_type, seed=1)]


def sizes(_element_type):
    yield {}, [numbers(BY_NAME["float32"].element_type, 2, 0, 3)]


def rows(element_type):
    x = numbers(element_type, 4, 3)
    yield {"Tindices": INT32}, [x, np.array([[0, 3], [1, 1]], np.int32)]
    yield {"Tindices": INT64}, [x, np.array(2)]
    yield {"Tindices": INT32}, [x, np.zeros((0,), np.int32)]


def batched_rows(element_type):
    yield from rows(element_type)
    x = numbers(element_type, 2, 4, 3)
    yield {"Tindices": INT32, "batch_dims": 1}, [x, np.array([[0, 3], [1, 1]], np.int32)]


def deep_rows(element_type):
    x = numbers(element_type, 4, 3)
    yield {"Tindices": INT32}, [x, np.array([[0, 2], [3, 1]], np.int32)]
    yield {"Tindices": INT64}, [x, np.array([[2]])]


def scatters(element_type):
    """No place twice: the kernels may take them in any order."""
    x, updates = numbers(element_type, 5, 2), numbers(element_type, 3, 2, seed=1)
    updates = np.where(updates == 0, updates.dtype.type(1), updates)
    yield {"Tindices": INT32}, [x, np.array([4, 0, 2], np.int32), updates]
    yield {"Tindices": INT64}, [x, np.array([[1], [3]]), updates[:2, None]]
    yield {"Tindices": INT32}, [x, np.array([1, 3], np.int32), updates[0, 0]]
    yield {"Tindices": INT32}, [x, np.array(3, np.int32), updates[0]]


def steps(name):
    """A step of an optimizer: variables and gradients of small numbers, other numbers between 0 and 1."""

    def made(element_type):
        ports = [port.name for port in RECORDS[name].signature.inputs]
        values = {}
        for number, port in enumerate(ports):
            if port in ("var", "m", "mom", "mg", "grad", "delta") or (port == "accum" and "Momentum" in name):
                values[port] = numbers(element_type, 3, 4, seed=number) / element_type.dtype.type(8)
            elif port in ("linear", "gradient_accumulator"):
                values[port] = numbers(element_type, 3, 4, seed=number)
            elif port in ("ms", "v", "accum", "accum_update", "gradient_squared_accumulator"):
                values[port] = np.abs(numbers(element_type, 3, 4, seed=number)) / element_type.dtype.type(4) + 1
            elif port != "indices":
                values[port] = np.array(_NUMBERS[port])
        if "indices" in ports:
            values["indices"] = ROWS
            values |= {port: values[port][ROWS] for port in ("grad",)}
        kinds = {"indices": np.int32, "global_step": np.int64}
        given = [values[port].astype(kinds.get(port, element_type.dtype)) for port in ports]
        switches = [
            one
            for one in ("use_nesterov", "update_slots", "multiply_linear_by_lr")
            if one in RECORDS[name].signature.attributes
        ]
        kinds = {"Tindices": INT32} if "indices" in ports else {}
        yield kinds, given
        for switch in switches:
            yield {**kinds, switch: switch != "update_slots"}, given
        if not kinds:
            yield {}, [value.reshape(-1)[:1].reshape(()) for value in given]

    return made


ROWS = np.array([2, 0], np.int32)
_NUMBERS = {
    "alpha": 0.5,
    "lr": 0.125,
    "momentum": 0.875,
    "rho": 0.75,
    "beta1": 0.875,
    "beta2": 0.96875,
    "beta1_power": 0.75,
    "beta2_power": 0.9375,
    "epsilon": 0.0078125,
    "l1": 0.0625,
    "l2": 0.25,
    "l2_shrinkage": 0.125,
    "lr_power": -0.5,
    "logbase": 1.5,
    "sign_decay": 0.75,
    "beta": 0.875,
    "global_step": 3,
}
