"""Small plots for notebooks, as SVG: no other package is needed."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WIDTH, _ROW, _LEFT = 640, 28, 90
_MOST_ROWS, _BINS = 16, 320


def plot(data: NDArray[Any], times: NDArray[np.float64], labels: Sequence[str] = ()) -> str:
    """The samples as an SVG image. It shows a line for each of the first channels, or the marks of a stream of strings."""
    if len(times) == 0:
        return "<p>no samples</p>"
    shown = min(data.shape[1], _MOST_ROWS)
    height = shown * _ROW + 20
    rows = [_row(data[:, index], times, index, _name(labels, index)) for index in range(shown)]
    span = f"{times[0]:.3f} s … {times[-1]:.3f} s"
    more = f", {data.shape[1] - shown} more channels" if data.shape[1] > shown else ""
    caption = f'<text x="{_LEFT}" y="{height - 5}" font-size="11">{span}{more}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" font-family="sans-serif" '
        f'fill="currentColor">{"".join(rows)}{caption}</svg>'
    )


def _name(labels: Sequence[str], index: int) -> str:
    return labels[index] if index < len(labels) and labels[index] else str(index)


def _row(values: NDArray[Any], times: NDArray[np.float64], index: int, label: str) -> str:
    top = index * _ROW
    name = f'<text x="0" y="{top + _ROW / 2 + 4}" font-size="11">{html.escape(label[:14])}</text>'
    across = (times - times[0]) / (times[-1] - times[0] or 1.0) * (_WIDTH - _LEFT) + _LEFT
    if values.dtype == object:
        return name + "".join(_mark(x, top, str(text)) for x, text in list(zip(across, values))[:_BINS])
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in _points(values.astype(np.float64), across, top))
    return f'{name}<polyline points="{line}" fill="none" stroke="#1f77b4"/>'


def _mark(x: float, top: int, text: str) -> str:
    title = f"<title>{html.escape(text)}</title>"
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top + 4}" y2="{top + _ROW - 4}" stroke="#d62728">{title}</line>'


def _points(values: NDArray[np.float64], across: NDArray[np.float64], top: int) -> list[tuple[float, float]]:
    """The points of the line: all samples of a short stream, or the least and the greatest of each bin."""
    finite = np.isfinite(values)
    values, across = values[finite], across[finite]
    if len(values) == 0:
        return []
    low, high = float(values.min()), float(values.max())
    scaled = top + _ROW - 4 - (values - low) / ((high - low) or 1.0) * (_ROW - 8)
    if len(values) <= 2 * _BINS:
        return list(zip(across.tolist(), scaled.tolist()))
    starts = np.linspace(0, len(values), _BINS, endpoint=False).astype(int)
    least, greatest = np.minimum.reduceat(scaled, starts), np.maximum.reduceat(scaled, starts)
    return [point for x, a, b in zip(across[starts].tolist(), least.tolist(), greatest.tolist()) for point in ((x, a), (x, b))]
