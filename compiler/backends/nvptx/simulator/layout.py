"""Where the variables of a kernel lie in shared and local memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from compiler.backends.nvptx.simulator.decode import Program
from compiler.backends.nvptx.simulator.image import Image
from compiler.backends.nvptx.simulator.syntax import Function, Variable
from compiler.diagnostics import InputError


@dataclass(frozen=True, slots=True)
class Layout:
    """Offsets in shared and local memory, addresses of globals, and the sizes."""

    addresses: dict[str, int]
    shared_bytes: int
    dynamic_bytes: int
    local_bytes: int

    def address(self, key: str, kernel: Function, parameter_address: int) -> int:
        """The address of a variable or kernel parameter in its own space.

        Args:
            key: the variable's, or `param:` and the parameter's name.
            kernel: whose parameter it may be.
            parameter_address: where the parameters begin.

        Raises:
            InputError: the module does not define it.
        """
        if key.startswith("param:"):
            name = key.removeprefix("param:")
            return parameter_address + next(p.offset for p in kernel.parameters if p.name == name)
        if key not in self.addresses:
            raise InputError(f"kernel {kernel.name} names {key!r}, which the module does not define")
        return self.addresses[key]


def lay_out(program: Program, image: Image, dynamic_bytes: int) -> Layout:
    """Place the kernel's variables; dynamic shared memory follows the static part.

    Args:
        program: the kernel.
        image: where the module's variables lie.
        dynamic_bytes: of shared memory that the launch asks for.
    """
    module_shared = {n: v for n, v in image.module.variables.items() if v.space == "shared"}
    own_shared = {n: v for n, v in program.variables.items() if v.space == "shared"}
    shared = {**module_shared, **own_shared}
    used = program.slots.symbols
    static = {n: v for n, v in shared.items() if n in used and not _is_dynamic(v)}
    addresses = dict(image.addresses)
    shared_bytes = _lay_out(addresses, static.items(), 0)
    dynamic = [(n, v) for n, v in shared.items() if n in used and _is_dynamic(v)]
    for name, variable in dynamic:
        shared_bytes = -(-shared_bytes // variable.align) * variable.align
        addresses[name] = shared_bytes
    for name, _ in dynamic:
        addresses[name] = shared_bytes
    local = {n: v for n, v in program.variables.items() if v.space in ("local", "param")}
    local_bytes = _lay_out(addresses, local.items(), 0)
    return Layout(addresses, shared_bytes + dynamic_bytes, dynamic_bytes, local_bytes)


def _is_dynamic(variable: Variable) -> bool:
    return variable.is_extern or variable.size_bytes == 0


def _lay_out(addresses: dict[str, int], variables: Iterable[tuple[str, Variable]], offset: int) -> int:
    for name, variable in variables:
        offset = -(-offset // variable.align) * variable.align
        addresses[name] = offset
        offset += variable.size_bytes
    return offset
