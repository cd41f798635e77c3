"""Zip archives of a few small files: written with the same bytes each time, read from strangers.

Nothing is ever unpacked to disk, so a name in an archive cannot lead out of a folder; names that try are refused all
the same, since whoever made them meant harm.  Sizes are limited before and while members are read: what an archive
says of itself need not be true.
"""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can say
_MODE = 0o100644 << 16
_MOST_MEMBERS = 1000
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


def unpack(path: Path, max_bytes: int) -> dict[str, bytes]:
    """The files of an archive by name; a folder that holds them all is left out of their names.

    Raises:
        ValueError: the archive is not what it should be, or holds more than it may.
        zipfile.BadZipFile: it is damaged.
    """
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) > _MOST_MEMBERS or sum(member.file_size for member in members) > max_bytes:
            raise ValueError(f"it holds more than {_MOST_MEMBERS} files or the limit of {max_bytes:,} bytes")
        for member in members:
            _check(member)
        if len({member.filename for member in members}) < len(members):
            raise ValueError("a file stands in it twice")
        folders = {str(PurePosixPath(member.filename).parent) for member in members}
        if len(folders) > 1:
            raise ValueError(f"its files lie in several folders: {', '.join(sorted(folders))}")
        return {PurePosixPath(member.filename).name: _read(archive, member) for member in members}


def _check(member: zipfile.ZipInfo) -> None:
    """Refuse names that lead elsewhere, links, and what nobody has the key for."""
    name = member.filename
    parts = PurePosixPath(name).parts
    if name.startswith("/") or "\\" in name or ".." in parts or ":" in name:
        raise ValueError(f"{name!r} leads out of the archive")
    if stat.S_ISLNK(member.external_attr >> 16):
        raise ValueError(f"{name} is a link")
    if member.flag_bits & 1:
        raise ValueError(f"{name} is encrypted")


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    with archive.open(member) as file:
        data = file.read(member.file_size + 1)
    if len(data) != member.file_size:
        raise ValueError(f"{member.filename} is not as long as the archive says")
    return data
