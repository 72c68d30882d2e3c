"""Cron schedules: the syntax that kube-apiserver accepts, and its complaints
(github.com/robfig/cron, ParseStandard)."""

from __future__ import annotations

from apiserver.golang.strconv import NumError, atoi
from apiserver.golang.time import TimeError, parse_duration

_MONTHS = {
    m: i
    for i, m in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1
    )
}
_DAYS = {d: i for i, d in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])}
_FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)
_DESCRIPTORS = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)


class ScheduleError(ValueError):
    """The text is the parser's."""


def check_schedule(text: str) -> None:
    """Raises ScheduleError for what is no schedule. A TZ= prefix is passed over."""
    if not text:
        raise ScheduleError("empty spec string")
    if text.startswith(("TZ=", "CRON_TZ=")):
        text = text.partition(" ")[2].strip()
    if text.startswith("@"):
        _descriptor(text)
        return
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise ScheduleError(
            f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]"
        )
    for field, (low, high, words) in zip(fields, _FIELDS, strict=True):
        for part in filter(None, field.split(",")):
            _range(part, low, high, words)


def _descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith("@every "):
        raise ScheduleError(f"unrecognized descriptor: {text}")
    try:
        parse_duration(text.removeprefix("@every "))
    except TimeError as e:
        raise ScheduleError(f"failed to parse duration {text}: {e}") from None


def _range(text: str, low: int, high: int, words: dict[str, int]) -> None:
    bounds, *steps = text.split("/")
    ends = bounds.split("-")
    if ends[0] in ("*", "?"):
        start, end = low, high
    else:
        start = end = _number(ends[0], words)
        if len(ends) == 2:
            end = _number(ends[1], words)
        elif len(ends) > 2:
            raise ScheduleError(f"too many hyphens: {text}")
    if len(steps) > 1:
        raise ScheduleError(f"too many slashes: {text}")
    step = _number(steps[0], {}) if steps else 1
    if steps and len(ends) == 1 and ends[0] not in ("*", "?"):
        end = high
    if start < low:
        raise ScheduleError(f"beginning of range ({start}) below minimum ({low}): {text}")
    if end > high:
        raise ScheduleError(f"end of range ({end}) above maximum ({high}): {text}")
    if start > end:
        raise ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {text}")


def _number(text: str, words: dict[str, int]) -> int:
    named = words.get(text.lower())
    if named is not None:
        return named
    try:
        number = atoi(text)
    except NumError as e:
        raise ScheduleError(f"failed to parse int from {text}: {e}") from None
    if number < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number
