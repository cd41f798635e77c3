"""How figures become files: one style, and bytes that depend on what is drawn and on nothing else."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import matplotlib.style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

_STYLE = Path(__file__).with_name("chart.mplstyle")
_FORMATS = {"svg": (FigureCanvasSVG, {"Date": None, "Creator": None}), "png": (FigureCanvasAgg, {"Software": None})}


def files(draw: Callable[[], Figure]) -> dict[str, bytes]:
    """What is drawn as the bytes of an SVG and of a PNG file, by extension."""
    with matplotlib.style.context(_STYLE):
        return {kind: _save(draw(), kind) for kind in _FORMATS}


def _save(figure: Figure, kind: str) -> bytes:
    """Bytes without a date or the version of the library, so that the same records give the same file."""
    canvas, metadata = _FORMATS[kind]
    canvas(figure)
    data = io.BytesIO()
    figure.savefig(data, format=kind, metadata=metadata)
    return data.getvalue()
