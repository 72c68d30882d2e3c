"""Values that are made at every request: dataclasses that nobody changes.

A frozen dataclass sets each member by a call, which takes four times as long as setting it (1.0 µs
instead of 0.26 for five members), and a write makes some seventy members of such values. So that
they stay frozen is left to the type checker, and at run time nothing is paid for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:
    from dataclasses import dataclass

    def value(*, frozen: bool, slots: bool):
        """``@value(frozen=True, slots=True)``, in the place of dataclass: equal and hashed by its
        members as a frozen one."""
        return dataclass(slots=slots, unsafe_hash=frozen)


__all__ = ["value"]
