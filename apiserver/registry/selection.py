"""Selection: the label, field and shard selectors of one request, parsed, checked against the kind,
and ready to match."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from apiserver.errors import BadRequest
from apiserver.golang.strconv import go_quote
from apiserver.kinds.served import Resource
from apiserver.meta import features
from apiserver.meta.fields import (
    EVERYTHING,
    FieldSelector,
    FieldSelectorError,
    parse_field_selector,
)
from apiserver.meta.labels import (
    DOUBLE_EQUALS,
    EQUALS,
    IN,
    LabelSelector,
    LabelSelectorError,
    parse_label_selector,
)
from apiserver.registry import sharding
from apiserver.registry.options import ListOptions
from apiserver.registry.sharding import ShardError, ShardSelector
from apiserver.watch.labelled import Demand

_MOST_NAMED = 20
"""Declared fields that a refusal names."""


@dataclass(frozen=True, slots=True)
class Selection:
    """fields: requirements on fields that the kind knows; declared: those on fields that the tenant
    has declared (`apiserver.registry.indexes`), which `matches` knows nothing of. everything:
    nothing is selected by."""

    labels: LabelSelector
    fields: FieldSelector
    everything: bool
    match_labels: Callable[[Mapping[str, str]], bool]
    match_fields: Callable[[Mapping[str, str]], bool]
    shard: ShardSelector | None = None
    declared: FieldSelector = EVERYTHING

    def matches(self, labels: Mapping[str, str], fields: Mapping[str, str]) -> bool:
        return (
            self.match_labels(labels)
            and self.match_fields(fields)
            and (self.shard is None or self.shard.matches(fields))
        )

    @property
    def demands(self) -> list[Demand]:
        """Labels of which all that is selected has one of some values."""
        wanted = (EQUALS, DOUBLE_EQUALS, IN)
        return [Demand(r.key, r.values) for r in self.labels.requirements if r.operator in wanted]

    @property
    def name(self) -> str:
        """The one name that the field selector leaves possible, or ""."""
        return self.fields.exact("metadata.name") or ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Equal for equal selections: watchers that share it share the work of matching."""
        return str(self.labels), str(self.fields), "" if self.shard is None else str(self.shard)


def parse(
    resource: Resource, version: str, options: ListOptions, declared: Collection[str] = ()
) -> Selection:
    """``declared``: fields that the kind need not know. Raises BadRequest with kube-apiserver's
    texts, and Invalid for options that do not go together."""
    if not (options.label_selector or options.field_selector or options.shard_selector):
        return _ALL
    try:
        labels = parse_label_selector(options.label_selector)
        fields = parse_field_selector(options.field_selector)
    except (LabelSelectorError, FieldSelectorError) as e:
        raise BadRequest(str(e)) from None
    options.validate()  # before fields that the kind does not know
    own, others = fields, EVERYTHING
    if declared:
        own, others = fields.split(frozenset(declared).difference(resource.selectable(version)))
    if options.field_selector:
        fields = own.transform(
            lambda name, value: (_stored_field(resource, version, name, declared), value)
        )
    shard = _shard(options.shard_selector)
    everything = not (labels.requirements or fields.requirements or others.requirements or shard)
    return _selection(labels, fields, everything, shard, others)


def _selection(
    labels: LabelSelector,
    fields: FieldSelector,
    everything: bool,
    shard: ShardSelector | None = None,
    declared: FieldSelector = EVERYTHING,
) -> Selection:
    return Selection(
        labels, fields, everything, labels.matcher(), fields.matcher(), shard, declared
    )


_ALL = _selection(LabelSelector(), EVERYTHING, True)


def _stored_field(resource: Resource, version: str, name: str, declared: Collection[str]) -> str:
    """Raises BadRequest, with the fields that would do where kube-apiserver has none."""
    try:
        return resource.stored_field(version, name)
    except BadRequest as e:
        if not declared:
            raise
        paths = sorted(declared)
        known = ", ".join(map(go_quote, paths[:_MOST_NAMED]))
        more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
        raise BadRequest(f"{e.message}; declared by FieldIndexes: {known}{more}") from None


def _shard(text: str) -> ShardSelector | None:
    """None without one, and where the feature is off. Raises BadRequest."""
    if not text or not features.enabled(sharding.GATE):
        return None
    try:
        return sharding.parse(text)
    except ShardError as e:
        raise BadRequest(f"invalid shardSelector: {e}") from None
