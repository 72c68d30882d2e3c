"""PriorityLevelConfiguration (kubernetes ``pkg/apis/flowcontrol``)."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

from apiserver.fielderrors import (
    FieldErrors,
    FieldPath,
    forbidden,
    invalid,
    not_supported,
    required,
)
from apiserver.kinds.base import WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.run import covered
from apiserver.kinds.flowcontrol.conditions import FlowControlKind
from apiserver.kinds.flowcontrol.flowschema import GROUP
from apiserver.kinds.flowcontrol.mandatory import mandatory_errors
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.meta.times import age

_SPEC = FieldPath("spec")
_QUEUING = {"queues": 64, "handSize": 8, "queueLengthLimit": 50}
_MOST_QUEUES = 10_000_000
_ENTROPY_BITS = 60
_ZERO_KEPT = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"


@register(GROUP, "PriorityLevelConfiguration")
class PriorityLevelConfiguration(FlowControlKind):
    declared = Declared(
        {
            "spec.type": [t.alpha(t.required()), t.alpha(t.discriminator())],
            "spec.limited": [
                t.alpha(t.optional()),
                t.alpha(t.member("Limited", t.required())),
                t.alpha(t.member("Exempt", t.forbidden())),
            ],
            "spec.exempt": [
                t.alpha(t.optional()),
                t.alpha(t.member("Exempt", t.optional())),
                t.alpha(t.member("Limited", t.forbidden())),
            ],
            "spec.limited.limitResponse.type": [t.alpha(t.required()), t.alpha(t.discriminator())],
            "spec.limited.limitResponse.queuing": [
                t.alpha(t.optional()),
                t.alpha(t.member("Queue", t.required())),
                t.alpha(t.member("Reject", t.forbidden())),
            ],
        }
    )

    def default(self, obj: Object, version: str) -> None:
        spec = obj.setdefault("spec", {})
        if spec.get("exempt") is not None:
            for member in ("nominalConcurrencyShares", "lendablePercent"):
                if spec["exempt"].get(member) is None:
                    spec["exempt"][member] = 0
        limited = spec.get("limited")
        if limited is not None:
            if limited.get("nominalConcurrencyShares") is None:
                limited["nominalConcurrencyShares"] = 30
            if limited.get("lendablePercent") is None:
                limited["lendablePercent"] = 0
            queuing = (limited.get("limitResponse") or {}).get("queuing")
            if queuing is not None:
                for member, value in _QUEUING.items():
                    queuing[member] = queuing.get(member) or value
        obj.setdefault("status", {})

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return [
            *_zero_kept(obj["metadata"].get("annotations") or {}),
            *_errors(obj),
            *mandatory_errors("prioritylevelconfigurations", obj),
        ]

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, spec = obj["metadata"], obj.get("spec") or {}
        limited = spec.get("limited") or {}
        shares = limited.get("nominalConcurrencyShares", "<none>")
        queuing = (limited.get("limitResponse") or {}).get("queuing") or {}
        queues = [
            queuing.get(member, "<none>") for member in ("queues", "handSize", "queueLengthLimit")
        ]
        return [
            metadata["name"],
            spec.get("type", ""),
            shares,
            *queues,
            age(metadata.get("creationTimestamp"), now),
        ]


def _zero_kept(annotations: Object) -> c.Errors:
    """Only v1beta3 needed it."""
    if _ZERO_KEPT in annotations:
        why = f"annotation '{_ZERO_KEPT}' is forbidden"
        yield forbidden(FieldPath("metadata.annotations"), why)


def _errors(obj: Object) -> c.Errors:
    spec, name = obj.get("spec") or {}, obj["metadata"].get("name", "")
    kind, limited, exempt = spec.get("type", ""), spec.get("limited"), spec.get("exempt")
    if (name == "exempt") != (kind == "Exempt"):
        yield invalid(
            _SPEC.child("type"), kind, "must be 'Exempt' if and only if `name` is 'exempt'"
        )
    if kind == "Exempt":
        if limited is not None:
            yield from covered(
                [forbidden(_SPEC.child("limited"), "must be nil if the type is not Limited")]
            )
        if exempt is not None:
            yield from _shares(exempt, _SPEC.child("exempt"))
    elif kind == "Limited":
        if exempt is not None:
            yield from covered(
                [forbidden(_SPEC.child("exempt"), "must be nil if the type is Limited")]
            )
        if limited is None:
            yield from covered(
                [required(_SPEC.child("limited"), "must not be empty when type is Limited")]
            )
        else:
            yield from _shares(limited, _SPEC.child("limited"))
            yield from _response(
                limited.get("limitResponse") or {}, _SPEC.child("limited", "limitResponse")
            )
            borrowing = limited.get("borrowingLimitPercent")
            if borrowing is not None and borrowing < 0:
                at = _SPEC.child("limited", "borrowingLimitPercent")
                yield invalid(at, borrowing, "if specified, must be a non-negative integer")
    else:
        yield not_supported(_SPEC.child("type"), kind, ["Exempt", "Limited"])


def _shares(part: Object, path: FieldPath) -> c.Errors:
    shares, lendable = part.get("nominalConcurrencyShares", 0), part.get("lendablePercent", 0)
    if shares < 0:
        yield invalid(
            path.child("nominalConcurrencyShares"), shares, "must be a non-negative integer"
        )
    if not 0 <= lendable <= 100:
        yield invalid(
            path.child("lendablePercent"), lendable, "must be between 0 and 100, inclusive"
        )


def _response(response: Object, path: FieldPath) -> c.Errors:
    kind, queuing = response.get("type", ""), response.get("queuing")
    if kind == "Reject":
        if queuing is not None:
            yield from covered(
                [
                    forbidden(
                        path.child("queuing"),
                        "must be nil if limited.limitResponse.type is not Limited",
                    )
                ]
            )
    elif kind == "Queue":
        if queuing is None:
            yield from covered(
                [
                    required(
                        path.child("queuing"),
                        "must not be empty if limited.limitResponse.type is Limited",
                    )
                ]
            )
        else:
            yield from _queues(queuing, path.child("queuing"))
    else:
        yield not_supported(path.child("type"), kind, ["Queue", "Reject"])


def _queues(queuing: Object, path: FieldPath) -> c.Errors:
    queues, hand, length = (queuing.get(m, 0) for m in ("queues", "handSize", "queueLengthLimit"))
    if length <= 0:
        yield invalid(path.child("queueLengthLimit"), length, "must be positive")
    if queues <= 0:
        yield invalid(path.child("queues"), queues, "must be positive")
    elif queues > _MOST_QUEUES:
        yield invalid(path.child("queues"), queues, f"must not be greater than {_MOST_QUEUES}")
    if hand <= 0:
        yield invalid(path.child("handSize"), hand, "must be positive")
    elif hand > queues:
        yield invalid(path.child("handSize"), hand, f"should not be greater than queues ({queues})")
    elif math.ceil(math.log2(queues) * hand) > _ENTROPY_BITS:
        why = (
            f"required entropy bits of deckSize {queues} and handSize {hand} should not "
            f"be greater than {_ENTROPY_BITS}"
        )
        yield invalid(path.child("handSize"), hand, why)
