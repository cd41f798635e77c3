"""Zip archives of a few small files: written with the same bytes each time, read from strangers.

Nothing is ever unpacked to disk, so a name in an archive cannot lead out of a folder; names that try are refused all
the same, since whoever made them meant harm.  Sizes are limited before and while members are read: what an archive
says of itself need not be true.  What this tool packs is not compressed, as what people zip by hand is: that may grow
to `MOST_INFLATED` bytes only, since a small file can claim any number.
"""

from __future__ import annotations

import io
import re
import stat
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can say
_MODE = 0o100644 << 16
_MOST_MEMBERS = 1000
MOST_INFLATED = 256 << 20
_CHUNK = 1 << 20
_DRIVE = re.compile("[A-Za-z]:")
_UNIX = 3


def pack(files: Mapping[str, bytes]) -> bytes:
    """An archive that depends on nothing but the files' names and bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr, info.create_system = _MODE, _UNIX
            archive.writestr(info, files[name])
    return buffer.getvalue()


def unpack(path: Path, max_bytes: int, known: Collection[str] | None = None) -> dict[str, bytes]:
    """The files of an archive by name, of which all are known; a folder that holds them all is left out of their names.

    Args:
        path: a .zip archive.
        max_bytes: what its files may take, unpacked.
        known: names that it may hold; None where nothing else is asked for.

    Raises:
        ValueError: the archive is not what it should be, or holds more than it may.
        zipfile.BadZipFile: it is damaged.
    """
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) > _MOST_MEMBERS or sum(member.file_size for member in members) > max_bytes:
            raise ValueError(f"it holds more than {_MOST_MEMBERS} files or the limit of {max_bytes:,} bytes")
        inflated = sum(member.file_size for member in members if member.compress_type != zipfile.ZIP_STORED)
        if inflated > MOST_INFLATED:
            raise ValueError(f"what is compressed in it grows to more than the limit of {MOST_INFLATED:,} bytes")
        for member in members:
            _check(member)
            if known is not None and PurePosixPath(member.filename).name not in known:
                raise ValueError(f"it holds {member.filename!r}, which is no file of a bundle")
        if len({member.filename for member in members}) < len(members):
            raise ValueError("a file stands in it twice")
        folders = {str(PurePosixPath(member.filename).parent) for member in members}
        if len(folders) > 1:
            raise ValueError(f"its files lie in several folders: {', '.join(sorted(folders))}")
        return {PurePosixPath(member.filename).name: _read(archive, member) for member in members}


def _check(member: zipfile.ZipInfo) -> None:
    """Refuse names that lead elsewhere, links, and what nobody has the key for."""
    name = member.filename
    names_ = PurePosixPath(name).parts
    if name.startswith("/") or "\\" in name or ".." in names_ or _DRIVE.match(name):
        raise ValueError(f"{name!r} leads out of the archive")
    if stat.S_ISLNK(member.external_attr >> 16):
        raise ValueError(f"{name} is a link")
    if member.flag_bits & 1:
        raise ValueError(f"{name} is encrypted")


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """The bytes of a member, never many more of them than it says."""
    data = bytearray()
    with archive.open(member) as file:
        while len(data) <= member.file_size and (chunk := file.read(_CHUNK)):
            data += chunk
    if len(data) != member.file_size:
        raise ValueError(f"{member.filename} is not as long as the archive says")
    return bytes(data)
