"""Searching for streams."""

from ._checked import checked_count, checked_string, checked_timeout
from ._errors import ArgumentError, TimedOutError
from ._info import StreamInfo
from ._schwann import resolve as _resolve


def _literal(value: str) -> str:
    """The value as XPath writes it; a value with both kinds of quotes is joined from parts."""
    if "'" not in value:
        return f"'{value}'"
    if '"' not in value:
        return f'"{value}"'
    return "concat(" + ", \"'\", ".join(f"'{part}'" for part in value.split("'")) + ")"


def resolve(
    query: str | None = None,
    *,
    name: str | None = None,
    type: str | None = None,
    source_id: str | None = None,
    hostname: str | None = None,
    count: int = 1,
    timeout: float | None = 5.0,
) -> list[StreamInfo]:
    """Finds streams on the network.

    `query` is an XPath condition such as `"type='EEG' and channel_count > 8"`; `name`, `type`, `source_id` and `hostname`
    must be equal as well. Returns as soon as `count` streams are found; a count of 0 collects for the whole timeout.

    Raises TimedOutError if no stream was found in time, unless `count` is 0; ArgumentError for a malformed query.
    """
    count, timeout = checked_count(count, "The number of streams"), checked_timeout(timeout)
    if count == 0 and timeout is None:
        raise ArgumentError("A search needs a count of streams that are enough, or with a count of 0 a timeout.")
    wanted = {"name": name, "type": type, "source_id": source_id, "hostname": hostname}
    for key, value in {"query": query, **wanted}.items():
        if value is not None:
            checked_string(value, f"The argument {key}")
    parts = [f"{key}={_literal(value)}" for key, value in wanted.items() if value is not None]
    parts += [f"({query})"] if query is not None and parts else [query] if query is not None else []
    predicate = " and ".join(parts) or None
    found = [StreamInfo._found(native) for native in _resolve(predicate, count, timeout)]
    if not found and count > 0:
        what = f"with {predicate}" if predicate else "at all"
        raise TimedOutError(f"No stream {what} was found in {timeout:g} s: `schwann doctor` looks for the reason.")
    return found
