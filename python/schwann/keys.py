"""Which keys and which policy are in force in this process."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal, TypeAlias

from . import _schwann

Policy: TypeAlias = Literal["off", "prefer", "require"]
"""`off`: streams are plain. `prefer`: sealed among members of the lab. `require`: who does not seal is refused."""


@dataclass(frozen=True)
class Device:
    """This computer's membership in a lab."""

    name: str
    """What people call it."""
    fingerprint: str
    """The fingerprint of its key, as `schwann keys status` shows it."""
    serial: int
    """The number of its certificate."""
    valid_from: datetime
    """When its certificate begins to be valid."""
    valid_until: datetime
    """When it ends."""
    may_send: bool
    """Whether others take streams from it."""
    may_receive: bool
    """Whether others let it receive streams."""
    revocation_list: int
    """The number of the newest revocation list that it has."""


@dataclass(frozen=True)
class Status:
    """What is in force; printing it shows a sentence."""

    folder: pathlib.Path
    """Where the keys are, if there are any."""
    policy: Policy
    """The policy of streams without one of their own."""
    device: Device | None
    """None if no key is installed."""
    problem: str | None
    """Why streams cannot be sealed although they must be, and what mends it; None if nothing is wrong."""
    summary: str
    """All of it in a sentence."""

    def __str__(self) -> str:
        return self.summary


def status() -> Status:
    """The keys and the policy of this process, which reads them once."""
    folder, policy, summary, problem, membership = _schwann.key_status()
    device = None
    if membership is not None:
        valid_from, valid_until = (datetime.fromtimestamp(second, timezone.utc) for second in membership.valid)
        device = Device(
            membership.device,
            membership.fingerprint,
            membership.serial,
            valid_from,
            valid_until,
            membership.may_send,
            membership.may_receive,
            membership.revocation_list,
        )
    return Status(folder, policy, device, problem, summary)  # type: ignore[arg-type]


def policy(stream: str) -> Policy:
    """The policy of the stream of this name. Raises UnsealedError if the keys cannot be used."""
    return _schwann.policy_of(stream)  # type: ignore[return-value]
