"""CertificateSigningRequest: what its requester may say once, its approval and its certificate
through two subresources."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apiserver.fielderrors import (
    FieldErrors,
    FieldPath,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from apiserver.golang.strconv import go_quote
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.certificates.requests import certificate_problem, request_problem
from apiserver.kinds.certificates.signers import signer_name_errors
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.namerules import anything
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.run import covered
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object, seen_before
from apiserver.meta.times import age, format_time, human_duration

_USAGES = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
]
_APPROVAL = ("Approved", "Denied")
_SPEC, _CONDITIONS, _CERTIFICATE = (
    FieldPath("spec"),
    FieldPath("status.conditions"),
    FieldPath("status.certificate"),
)


@register("certificates.k8s.io", "CertificateSigningRequest")
class CertificateSigningRequest(Kind):
    generation = False
    metadata_of_parts = (True, 1)
    status = True
    unprinted = frozenset({"approval"})
    name_rule = staticmethod(anything)
    declared = Declared(
        {
            "": [t.supports_subresource("/status"), t.supports_subresource("/approval")],
            "status.conditions": [
                t.alpha(t.list_type("map")),
                t.alpha(t.list_map_key("type")),
                t.alpha(t.custom_unique()),
                t.alpha(t.optional()),
                t.alpha(t.item(t.zero_or_one_of_member(), type="Approved")),
                t.alpha(t.item(t.zero_or_one_of_member(), type="Denied")),
            ],
        }
    )

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        """Who asks is who sent the request, whatever the request says."""
        super().prepare_create(obj, context)
        obj["status"] = {}
        spec = obj.setdefault("spec", {})
        extra = {key: list(values) for key, values in context.user_extra.items()}
        asker = {
            "username": context.user,
            "uid": context.user_uid,
            "groups": list(context.groups),
            "extra": extra,
        }
        for name, value in asker.items():
            spec.pop(name, None)
            if value:
                spec[name] = value

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        super().prepare_update(obj, old, context)
        obj["spec"] = old["spec"]

    def prepare_status_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        """Approval is not decided here: as many conditions as there were are those that were."""
        super().prepare_status_update(obj, old, context)
        for kind in _APPROVAL:
            decided = _of_type(old, kind)
            if len(decided) == len(_of_type(obj, kind)):
                stored = iter(decided)
                obj.setdefault("status", {})["conditions"] = [
                    next(stored) if x.get("type") == kind else x for x in _conditions(obj)
                ]
        if not _conditions(obj):
            obj["status"].pop("conditions", None)
        _stamp(obj, old, context.now)

    def prepare_subresource_update(
        self, subresource: str, obj: Object, old: Object, context: WriteContext
    ) -> None:
        """``approval`` decides conditions and nothing else."""
        conditions = _conditions(obj)
        super().prepare_status_update(obj, old, context)
        obj["status"] = {k: v for k, v in (old.get("status") or {}).items() if k != "conditions"}
        if conditions:
            obj["status"]["conditions"] = conditions
        _stamp(obj, old, context.now)

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_spec_errors(obj.get("spec") or {}))

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        errors, changes = list(_condition_errors(obj)), [*_removed(obj, old), *_added(obj, old)]
        new, before = ((o.get("status") or {}).get("certificate") or "" for o in (obj, old))
        if new:
            why = certificate_problem(new)
            if why:
                errors.append(invalid(_CERTIFICATE, "<certificate data>", why))
        if before and new != before:
            changes.append(
                forbidden(_CERTIFICATE, "updates may not modify existing certificate content")
            )
        return errors + changes

    def validate_subresource_update(
        self, subresource: str, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        return [*_condition_errors(obj), *_removed(obj, old)]

    def fields(self, obj: Object) -> Mapping[str, str]:
        return {"spec.signerName": (obj.get("spec") or {}).get("signerName", "")}

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, spec = obj["metadata"], obj.get("spec") or {}
        seconds = spec.get("expirationSeconds")
        return [
            metadata["name"],
            age(metadata.get("creationTimestamp"), now),
            spec.get("signerName") or "<none>",
            spec.get("username", ""),
            human_duration(seconds) if seconds is not None else "<none>",
            _state(obj),
        ]


def _conditions(obj: Object) -> list[Object]:
    return (obj.get("status") or {}).get("conditions") or []


def _of_type(obj: Object, kind: str) -> list[Object]:
    return [x for x in _conditions(obj) if x.get("type") == kind]


def _stamp(obj: Object, old: Object, now: datetime) -> None:
    """Conditions without times get them."""
    before = {x.get("type"): x for x in _conditions(old)}
    for condition in _conditions(obj):
        condition_before = before.get(condition.get("type"), {})
        if condition.get("lastTransitionTime") is None:
            same = condition_before.get("status") == condition.get("status")
            moved = condition_before.get("lastTransitionTime") if same else None
            condition["lastTransitionTime"] = moved or format_time(now)
        if condition.get("lastUpdateTime") is None:
            condition["lastUpdateTime"] = format_time(now)


def _spec_errors(spec: Object) -> c.Errors:
    request = spec.get("request") or ""
    why = request_problem(request)
    if why:
        yield invalid(_SPEC.child("request"), spec.get("request"), why)
    usages, path = spec.get("usages") or [], _SPEC.child("usages")
    if not usages:
        yield required(path)
    for i, (usage, again) in enumerate(zip(usages, seen_before(usages), strict=True)):
        if usage not in _USAGES:
            yield not_supported(path.at(i), usage, _USAGES)
        if again:
            yield duplicate(path.at(i), usage)
    signer = spec.get("signerName", "")
    if signer == "kubernetes.io/legacy-unknown":
        yield invalid(
            _SPEC.child("signerName"),
            signer,
            "the legacy signerName is not allowed via this API version",
        )
    else:
        yield from signer_name_errors(signer, _SPEC.child("signerName"))
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < 600:
        yield invalid(
            _SPEC.child("expirationSeconds"),
            seconds,
            "may not specify a duration less than 600 seconds (10 minutes)",
        )


def _condition_errors(obj: Object) -> c.Errors:
    seen: set[str] = set()
    for i, condition in enumerate(_conditions(obj)):
        path, kind, status = (
            _CONDITIONS.at(i),
            condition.get("type", ""),
            condition.get("status", ""),
        )
        if not kind:
            yield required(path.child("type"))
        allowed = ["True"] if kind in (*_APPROVAL, "Failed") else ["False", "True", "Unknown"]
        yield from c.one_of(status, path.child("status"), allowed)
        if kind in seen:
            yield duplicate(path.child("type"), kind)
        seen.add(kind)
        if kind in _APPROVAL and set(_APPROVAL) <= seen:
            yield from covered(
                [
                    invalid(
                        _CONDITIONS, kind, "Approved and Denied conditions are mutually exclusive"
                    )
                ],
                "zeroOrOneOf",
            )


def _removed(obj: Object, old: Object) -> c.Errors:
    for kind in (*_APPROVAL, "Failed"):
        if len(_of_type(obj, kind)) < len(_of_type(old, kind)):
            yield forbidden(
                _CONDITIONS, f"updates may not remove a condition of type {go_quote(kind)}"
            )


def _added(obj: Object, old: Object) -> c.Errors:
    """Whoever writes the status does not approve."""
    for kind in _APPROVAL:
        if len(_of_type(obj, kind)) > len(_of_type(old, kind)):
            yield forbidden(
                _CONDITIONS, f"updates may not add a condition of type {go_quote(kind)}"
            )


def _state(obj: Object) -> str:
    types = {x.get("type") for x in _conditions(obj)}
    state = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    if "Failed" in types:
        state += ",Failed"
    return state + ",Issued" if (obj.get("status") or {}).get("certificate") else state
