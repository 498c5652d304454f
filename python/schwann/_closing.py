"""Things that hold something of the system until they are closed."""

from __future__ import annotations

import os
import warnings
from types import TracebackType
from typing import TypeVar

_Self = TypeVar("_Self", bound="Closing")


class Closing:
    """Closes at the end of `with`. One that is forgotten warns, and closes when it is deleted.

    A child of a fork does neither: it is the parent's.
    """

    _called: str
    """What a warning calls it."""

    def __init__(self) -> None:
        self._process = os.getpid()

    @property
    def closed(self) -> bool:
        raise NotImplementedError

    def close(self) -> object:
        raise NotImplementedError

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process == os.getpid():
            self.close()

    def __del__(self) -> None:
        # Without `_native` it was never made.
        if hasattr(self, "_native") and self._process == os.getpid() and not self.closed:
            warnings.warn(f"{self._called} was not closed: use `with`, or call close().", ResourceWarning, source=self)
            self.close()
