"""What can go wrong, by who must act.

::

    SycclError
    |-- InputError        an input is wrong: exit 3   (file, line or field, value, what is allowed)
    |-- FindingsError     the thing asked about does not hold: exit 1
    |-- InfeasibleError   proved: no schedule exists: exit 4
    |-- GaveUpError       a limit was reached first: exit 5
    `-- InternalError     our own output is wrong: exit 70
"""

from __future__ import annotations

from typing import ClassVar


class SycclError(Exception):
    """Base of every error that syccl raises on purpose."""

    exit_code: ClassVar[int] = 70


class InputError(SycclError):
    """An input is wrong; the message names place, value, what is allowed and the next step."""

    exit_code: ClassVar[int] = 3


class FindingsError(SycclError):
    """The thing asked about does not hold; the findings are listed."""

    exit_code: ClassVar[int] = 1


class InfeasibleError(SycclError):
    """No schedule exists, and that is proved."""

    exit_code: ClassVar[int] = 4


class GaveUpError(SycclError):
    """A time or step limit was reached before an answer was found."""

    exit_code: ClassVar[int] = 5


class InternalError(SycclError):
    """A bug in syccl: its own output failed verification."""

    exit_code: ClassVar[int] = 70
