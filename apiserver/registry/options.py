"""Request options: the query (or a DeleteOptions body) read as Go's conversion does and validated
as kube-apiserver validates it.

Sources: k8s.io/apimachinery ``meta/v1`` conversion and validation,
``meta/internalversion/validation``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.errors import BadRequest, Invalid
from apiserver.fielderrors import FieldErrors, forbidden, invalid, not_supported, required
from apiserver.fieldmanager.names import validate_manager_name
from apiserver.golang import strconv
from apiserver.meta.gvk import GroupKind
from apiserver.meta.objects import Object

Query = Mapping[str, Sequence[str]]
OPTIONS_VERSION = "meta.k8s.io/v1"
UNSAFE = "ignoreStoreReadErrorWithClusterBreakingPotential"


def parse_int(text: str) -> int:
    """An int64. Raises BadRequest with Go's text."""
    try:
        return strconv.parse_int(text)
    except strconv.NumError as e:
        raise BadRequest(str(e)) from None


def parse_bool(text: str) -> bool:
    """A query's boolean: only "false" in any case and "0" are false; even an empty value is
    true."""
    return not (text == "0" or text.lower() == "false")


def first(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def _optional_int(query: Query, name: str) -> int | None:
    return parse_int(query[name][0]) if query.get(name) else None


def _optional_bool(query: Query, name: str) -> bool | None:
    return parse_bool(query[name][0]) if query.get(name) else None


_TEXTS = (
    ("labelSelector", "label_selector"),
    ("fieldSelector", "field_selector"),
    ("continue", "continue_token"),
    ("resourceVersion", "resource_version"),
    ("resourceVersionMatch", "resource_version_match"),
    ("shardSelector", "shard_selector"),
    ("filter", "filter"),
    ("count", "count"),
)
"""Parameters of lists, and the members that hold their first values as they are."""


_MOST_OF_PAGE = 2**31 - 1
"""Objects of a page that asks for more: no list has as many."""


def read_version(query: Query) -> str:
    """The resourceVersion that a GET of one object asks for. Raises BadRequest where the query asks
    for an export, which is no more: an object with everything would be taken for one without its
    status."""
    if _optional_bool(query, "export"):
        raise BadRequest("the export parameter, deprecated since v1.14, is no longer supported")
    return first(query, "resourceVersion")


@dataclass(slots=True)
class ListOptions:
    """Of LIST and watch. timeout_seconds: None where the client does not say; what then holds is in
    `apiserver.endpoints.consumers`."""

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    timeout_seconds: int | None = None
    watch: bool = False
    allow_watch_bookmarks: bool = False
    send_initial_events: bool | None = None
    shard_selector: str = ""
    filter: str = ""
    sort_by: tuple[str, ...] = ()
    count: str = ""

    @classmethod
    def parse(cls, query: Query) -> ListOptions:
        if not query:
            return cls()
        return cls(
            limit=min(max(_optional_int(query, "limit") or 0, 0), _MOST_OF_PAGE),
            timeout_seconds=_optional_int(query, "timeoutSeconds"),
            watch=_optional_bool(query, "watch") or False,
            allow_watch_bookmarks=_optional_bool(query, "allowWatchBookmarks") or False,
            send_initial_events=_optional_bool(query, "sendInitialEvents"),
            sort_by=tuple(query.get("sortBy", ())),
            **{member: values[0] for name, member in _TEXTS if (values := query.get(name))},
        )

    def validate(self) -> None:
        """A watch that is one by its path alone is looked at as a list. Raises Invalid."""
        errors = self._watch_errors() if self.watch else self._list_errors()
        if errors:
            raise Invalid(GroupKind("meta.k8s.io", "ListOptions"), "", errors)

    def check_unasked(self, verb: str) -> None:
        """Raises Invalid for questions (`apiserver.registry.questions`) that ``verb`` does not
        answer: to ignore them would be to do something to more objects than are meant."""
        asked = {"filter": self.filter, "sortBy": self.sort_by, "count": self.count}
        if verb == "watch":
            del asked["filter"]
        errors = [
            forbidden(n, f"{n} is forbidden for {verb}") for n, value in asked.items() if value
        ]
        if errors:
            raise Invalid(GroupKind("meta.k8s.io", "ListOptions"), "", errors)

    def _watch_errors(self) -> FieldErrors:
        errors: FieldErrors = []
        match, path = self.resource_version_match, "resourceVersionMatch"
        if self.send_initial_events is not None and match != "NotOlderThan":
            errors.append(
                forbidden(
                    path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
                )
            )
        if match:
            if self.send_initial_events is None:
                errors.append(
                    forbidden(
                        path,
                        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is "
                        "provided",
                    )
                )
            if match != "NotOlderThan":
                errors.append(not_supported(path, match, ["NotOlderThan"]))
        # One that says nothing of the three begins with the state, as if it asked for that by them.
        by_itself = self.send_initial_events is None and self.resource_version in ("", "0")
        if self.continue_token and (match or by_itself):
            errors.append(
                forbidden(path, "resourceVersionMatch is forbidden when continue is provided")
            )
        return errors

    def _list_errors(self) -> FieldErrors:
        errors: FieldErrors = []
        match, path = self.resource_version_match, "resourceVersionMatch"
        if self.send_initial_events is not None:
            errors.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
        if not match:
            return errors
        if not self.resource_version:
            errors.append(
                forbidden(
                    path, "resourceVersionMatch is forbidden unless resourceVersion is provided"
                )
            )
        if self.continue_token:
            errors.append(
                forbidden(path, "resourceVersionMatch is forbidden when continue is provided")
            )
        if match not in ("Exact", "NotOlderThan"):
            errors.append(not_supported(path, match, ["Exact", "NotOlderThan", ""]))
        if match == "Exact" and self.resource_version == "0":
            errors.append(
                forbidden(path, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
            )
        return errors


@dataclass(slots=True)
class WriteOptions:
    """CreateOptions, UpdateOptions and PatchOptions in one; ``force`` counts for patches."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = ""
    force: bool | None = None

    @classmethod
    def parse(cls, query: Query, kind: str, *, apply: bool = False) -> WriteOptions:
        """kind: "CreateOptions", "UpdateOptions" or "PatchOptions", which errors name. Raises
        Invalid."""
        dry_run = list(query.get("dryRun", ()))
        options = cls(
            dry_run=bool(dry_run),
            field_manager=first(query, "fieldManager"),
            field_validation=first(query, "fieldValidation"),
            force=_optional_bool(query, "force") if kind == "PatchOptions" else None,
        )
        errors: FieldErrors = []
        if kind == "PatchOptions":
            if apply and not options.field_manager:
                errors.append(required("fieldManager", "is required for apply patch"))
            if not apply and options.force is not None:
                errors.append(forbidden("force", "may not be specified for non-apply patch"))
        errors += validate_manager_name(options.field_manager)
        errors += dry_run_errors(dry_run)
        if options.field_validation not in ("", "Ignore", "Strict", "Warn"):
            errors.append(
                not_supported(
                    "fieldValidation", options.field_validation, ["", "Ignore", "Strict", "Warn"]
                )
            )
        if errors:
            raise Invalid(GroupKind("meta.k8s.io", kind), "", errors)
        return options

    def as_object(self) -> Object:
        """As admission sees them, but for their kind (k8s.io/apiserver ``handlers/patch.go``
        patchToUpdateOptions)."""
        members = {
            "dryRun": ["All"] if self.dry_run else None,
            "fieldManager": self.field_manager,
            "fieldValidation": self.field_validation,
        }
        return {name: value for name, value in members.items() if value}


def options_of(kind: str, members: Object) -> Object:
    """``members``: of `WriteOptions.as_object`."""
    return {"kind": kind, "apiVersion": OPTIONS_VERSION, **members}


def dry_run_errors(dry_run: Sequence[str]) -> FieldErrors:
    if any(v != "All" for v in dry_run):
        return [not_supported("dryRun", list(dry_run), ["All"])]
    return []


@dataclass(slots=True)
class DeleteOptions:
    """grace_period None where nobody asked; dry_run as given; unsafe:
    ignoreStoreReadErrorWithClusterBreakingPotential."""

    dry_run_values: tuple[str, ...] = ()
    grace_period: int | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    precondition_uid: str | None = None
    precondition_resource_version: str | None = None
    has_preconditions: bool = False
    unsafe: bool | None = None

    @property
    def dry_run(self) -> bool:
        return bool(self.dry_run_values)

    @classmethod
    def from_query(cls, query: Query) -> DeleteOptions:
        """Preconditions stand there as if they were options (Convert_url_Values_To_v1_DeleteOptions
        of k8s.io/apimachinery ``apis/meta/v1``)."""
        uid, version = first(query, "uid") or None, first(query, "resourceVersion") or None
        return cls(
            dry_run_values=tuple(query.get("dryRun", ())),
            grace_period=_optional_int(query, "gracePeriodSeconds"),
            propagation_policy=first(query, "propagationPolicy")
            if query.get("propagationPolicy")
            else None,
            orphan_dependents=_optional_bool(query, "orphanDependents"),
            precondition_uid=uid,
            precondition_resource_version=version,
            has_preconditions=bool(uid or version),
            unsafe=_optional_bool(query, UNSAFE),
        )

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> DeleteOptions:
        """``body``: a decoded DeleteOptions object."""
        preconditions = body.get("preconditions")
        return cls(
            dry_run_values=tuple(body.get("dryRun") or ()),
            grace_period=body.get("gracePeriodSeconds"),
            propagation_policy=body.get("propagationPolicy"),
            orphan_dependents=body.get("orphanDependents"),
            precondition_uid=(preconditions or {}).get("uid"),
            precondition_resource_version=(preconditions or {}).get("resourceVersion"),
            has_preconditions=preconditions is not None,
            unsafe=body.get(UNSAFE),
        )

    def as_object(self) -> Object:
        """As admission sees them."""
        preconditions = {
            "uid": self.precondition_uid,
            "resourceVersion": self.precondition_resource_version,
        }
        members: Object = {
            "kind": "DeleteOptions",
            "apiVersion": OPTIONS_VERSION,
            "gracePeriodSeconds": self.grace_period,
            "preconditions": {k: v for k, v in preconditions.items() if v is not None}
            if self.has_preconditions
            else None,
            "orphanDependents": self.orphan_dependents,
            "propagationPolicy": self.propagation_policy,
            "dryRun": list(self.dry_run_values) or None,
            UNSAFE: self.unsafe,
        }
        return {name: value for name, value in members.items() if value is not None}

    def validate(self) -> None:
        """Raises Invalid."""
        errors: FieldErrors = []
        policy = self.propagation_policy
        if policy is not None and self.orphan_dependents is not None:
            errors.append(
                invalid(
                    "propagationPolicy",
                    policy,
                    "orphanDependents and deletionPropagation cannot be both set",
                )
            )
        if policy is not None and policy not in ("Foreground", "Background", "Orphan"):
            errors.append(
                not_supported(
                    "propagationPolicy", policy, ["Foreground", "Background", "Orphan", "nil"]
                )
            )
        errors += dry_run_errors(self.dry_run_values)
        if self.unsafe:
            set_together = {
                ".dryRun": bool(self.dry_run_values),
                ".propagationPolicy": policy is not None,
                ".orphanDependents": self.orphan_dependents is not None,
                ".gracePeriodSeconds": self.grace_period is not None,
                ".preconditions": self.has_preconditions,
            }
            for name, present in set_together.items():
                if present:
                    errors.append(
                        invalid(
                            UNSAFE,
                            True,
                            f"cannot be set together with {name}",
                        )
                    )
        if errors:
            raise Invalid(GroupKind("meta.k8s.io", "DeleteOptions"), "", errors)
