"""HLO text from a file, compressed by gzip or not.

A byte order mark, which some editors write, is no part of the text.  Bytes that are no UTF-8 become lone surrogates,
so that a string in a program keeps them; elsewhere the parser points to them like to any other stray character.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from pathlib import Path

from compiler.diagnostics import InputError

GZIP_MAGIC = b"\x1f\x8b"
_LARGEST = 1 << 30


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        InputError: the file cannot be read or decompressed, or its text is longer than a gibibyte.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
        if data.startswith(GZIP_MAGIC):
            with gzip.open(path) as file:
                data = file.read(_LARGEST + 1)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (EOFError, zlib.error) as error:
        raise InputError(f"cannot decompress {path}: {error}") from error
    if len(data) > _LARGEST:
        raise InputError(f"{path} holds more than {_LARGEST} bytes of text, the most that is read")
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
