"""HTML pages from templates: one head, with the style that all pages share, and a body for each kind of page."""

from __future__ import annotations

from pathlib import Path
from string import Template

_FOLDER = Path(__file__).parent


def fill(body: str, **fields: str) -> str:
    """The page with body template `body`, e.g. `page.html`; the fields are HTML already."""
    text = "".join((_FOLDER / name).read_text(encoding="utf-8") for name in ("head.html", body))
    return Template(text).substitute(fields)
