"""Several objects that a look sees to: one that may not be written keeps none of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from apiserver.errors import ApiError

Turn = Callable[[], AbstractContextManager[None]]


@contextmanager
def each_its_turn() -> Iterator[Turn]:
    """Gives what to enter around the work on one of them. Raises what the last refusal (ApiError)
    was, when all have had their turn."""
    refused: list[ApiError] = []

    @contextmanager
    def turn() -> Iterator[None]:
        try:
            yield
        except ApiError as e:
            refused.append(e)

    yield turn
    if refused:
        raise refused[-1]
