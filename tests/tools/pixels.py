"""Facts of a picture of a page: what is red, coloured, dark or bright in a part of it. They are the same whatever fonts a machine has."""

import pathlib
import tempfile

import numpy
from PIL import Image   # comes with matplotlib, and that with MNE

HUES = {"red": (345, 15), "green": (130, 200)}   # degrees


class Picture:
    """What is seen of a page, in pixels of the page."""

    def __init__(self, page, path: pathlib.Path | None = None) -> None:
        self.page, self.path = page, path or pathlib.Path(tempfile.mkdtemp(), "page.png")
        page.screenshot(self.path)
        with Image.open(self.path) as image:
            self.pixels = numpy.asarray(image.convert("RGB")).astype(int)

    def part(self, element: str, left: int = 0, top: int = 0, right: int = 0, bottom: int = 0) -> "Part":
        """An element without so many pixels at its edges; of a canvas, what is drawn there."""
        box = self.page.value(f"(({{ left, top, right, bottom }}) => [left, top, right, bottom])(document.querySelector({element!r}).getBoundingClientRect())")
        ratio = self.pixels.shape[1] / self.page.value("innerWidth")
        edges = [round(ratio * (edge + more)) for edge, more in zip(box, (left, top, -right, -bottom))]
        return Part(self.pixels[max(edges[1], 0):edges[3], max(edges[0], 0):edges[2]])


class Part:
    """A part of a picture."""

    def __init__(self, pixels: numpy.ndarray) -> None:
        self.pixels = pixels
        self.most, self.least = pixels.max(axis=2), pixels.min(axis=2)
        self.spread = self.most - self.least

    @property
    def ground(self) -> str:
        """Whether most of it is `bright` or `dark`."""
        return "bright" if numpy.median(self.most) > 128 else "dark"

    def cut(self, rows: slice = slice(None), columns: slice = slice(None)) -> "Part":
        return Part(self.pixels[rows, columns])

    def coloured(self) -> int:
        """Pixels that are no shade of grey."""
        return int((self.spread > 60).sum())

    def mask(self, hue: str) -> numpy.ndarray:
        """Where a colour of this name is."""
        red, green, blue = (self.pixels[:, :, place] for place in range(3))
        spread = numpy.maximum(self.spread, 1)
        sixths = numpy.select([self.most == red, self.most == green], [(green - blue) / spread, (blue - red) / spread + 2], (red - green) / spread + 4)
        degrees, (first, last) = (60 * sixths) % 360, HUES[hue]
        is_between = (degrees >= first) | (degrees <= last) if first > last else (degrees >= first) & (degrees <= last)
        return is_between & (self.spread > 60)

    def count(self, hue: str) -> int:
        return int(self.mask(hue).sum())

    def stripes(self, hue: str) -> int:
        """How often a colour begins along the row in which it does so most: many for what is hatched, few for what is filled."""
        mask = self.mask(hue)
        return int((mask[:, 1:] & ~mask[:, :-1]).sum(axis=1).max())

    def equals(self, other: "Part") -> bool:
        return self.pixels.shape == other.pixels.shape and bool((self.pixels == other.pixels).all())
