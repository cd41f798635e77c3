"""Arrays of any element type as the bytes of an `.npz` file, which depend on nothing but the arrays.

Types that `.npy` cannot say (bfloat16 and narrower) are stored as raw unsigned integers, their names kept elsewhere.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Sequence

import numpy as np

from xlabench.bundles import archive
from xlabench.cases.inputs import DTYPES, is_npy_type, restore
from xlabench.judging.tolerance import Array, DType, raw_bits


def pack_arrays(arrays: Sequence[Array]) -> bytes:
    """The bytes of an `.npz` file that depend on nothing but the arrays."""
    members = {}
    for number, value in enumerate(arrays):
        array = np.asarray(value)
        stored = array if is_npy_type(array.dtype) else raw_bits(array)
        member = io.BytesIO()
        np.lib.format.write_array(member, np.asarray(stored, order="C"), version=(1, 0), allow_pickle=False)
        members[f"array_{number:04d}.npy"] = member.getvalue()
    return archive.pack(members)


def unpack_arrays(data: bytes, dtypes: Sequence[str], max_bytes: int) -> list[Array]:
    """The arrays of such a file, which may come from a stranger: ValueError or BadZipFile where it is not right.

    Args:
        data: the bytes of an .npz file.
        dtypes: names of the arrays' types, in order.
        max_bytes: of all arrays together.
    """
    by_name = {dtype.name: dtype for dtype in DTYPES.values()}
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        members = file.infolist()
        if sum(member.file_size for member in members) > max_bytes:
            raise ValueError(f"its arrays take more than the limit of {max_bytes:,} bytes")
        if any(member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1 for member in members):
            raise ValueError("its arrays are compressed or encrypted, which those of a bundle are not")
        if len(members) != len(dtypes):
            raise ValueError(f"{len(members)} arrays, but the manifest lists {len(dtypes)}")
        pairs = zip(members, dtypes, strict=True)
        return [_read_array(file.read(member), by_name[name]) for member, name in pairs]


def _read_array(data: bytes, dtype: DType) -> Array:
    """One `.npy` file; its header is believed only if as many bytes follow as it says."""
    file = io.BytesIO(data)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array of an unknown .npy version")
    shape, is_fortran, stored = np.lib.format.read_array_header_1_0(file)
    rest = data[file.tell() :]
    if stored.hasobject or is_fortran or math.prod(shape) * stored.itemsize != len(rest):
        raise ValueError("an array that is not as long as its header says")
    array = restore(np.frombuffer(rest, stored).reshape(shape), dtype)
    if array.dtype != dtype:
        raise ValueError(f"an array of {array.dtype}, but the manifest says {dtype}")
    return array.copy()
