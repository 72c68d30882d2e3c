"""The scale subresource of a custom resource, by the paths that its definition names
(k8s.io/apiextensions-apiserver ``registry/customresource``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from apiserver.errors import BadRequest, InternalError, PlainError
from apiserver.fielderrors import FieldErrors, invalid
from apiserver.golang.fmt import go_type, go_value
from apiserver.golang.strconv import go_quote
from apiserver.meta.objects import Object

MAX_INT32 = 2**31 - 1
UNSET = -(2**31)
"""Stands in a Scale for replicas that the object does not have, until a client writes some."""


class _WrongType(ValueError):
    pass


@dataclass(frozen=True, slots=True)
class Scale:
    """Paths as written: ``.spec.replicas``; selector "" where there is none."""

    spec: str
    status: str
    selector: str

    @classmethod
    def of(cls, subresources: Object | None) -> Scale | None:
        scale = (subresources or {}).get("scale")
        if scale is None:
            return None
        return cls(
            scale.get("specReplicasPath", ""),
            scale.get("statusReplicasPath", ""),
            scale.get("labelSelectorPath") or "",
        )

    def read(self, obj: Object, *, absent: int | None) -> Object:
        """The autoscaling/v1 Scale; absent: the replicas of an object that has none. Raises
        InternalError where it is None and they are absent, and PlainError where a value is of the
        wrong type."""
        try:
            replicas, status = _int(obj, self.spec), _int(obj, self.status)
            selector = _string(obj, self.selector) if self.selector else ""
        except _WrongType as e:
            raise PlainError(str(e)) from None
        if replicas is None:
            if absent is None:
                raise InternalError(f"the spec replicas field {go_quote(self.spec)} does not exist")
            replicas = absent
        metadata = {
            k: v
            for k in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
            if (v := obj["metadata"].get(k))
        }
        state: Object = {"replicas": status or 0}
        if selector:
            state["selector"] = selector
        spec = {"replicas": replicas} if replicas else {}
        return {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": metadata,
            "spec": spec,
            "status": state,
        }

    def write(self, obj: Object, replicas: int) -> None:
        if replicas == UNSET:
            raise BadRequest(f"the spec replicas field {go_quote(self.spec)} cannot be empty")
        *above, last = _steps(self.spec)
        for i, step in enumerate(above):
            obj = obj.setdefault(step, {})
            if type(obj) is not dict:
                where = "." + ".".join(above[: i + 1])
                raise PlainError(
                    f"value cannot be set because {where} is not a map[string]interface{{}}"
                )
        obj[last] = replicas

    def spec_errors(self, obj: Object) -> FieldErrors:
        return _replicas_errors(obj, self.spec)

    def status_errors(self, obj: Object) -> FieldErrors:
        errors = _replicas_errors(obj, self.status)
        try:
            if self.selector:
                _string(obj, self.selector)
        except _WrongType as e:
            errors.append(invalid(self.selector, "", str(e)))
        return errors


def _replicas_errors(obj: Object, path: str) -> FieldErrors:
    try:
        replicas = _int(obj, path) or 0
    except _WrongType as e:
        return [invalid(path, 0, str(e))]
    if replicas < 0:
        return [invalid(path, replicas, "should be a non-negative integer")]
    return (
        [invalid(path, replicas, f"should be less than or equal to {MAX_INT32}")]
        if replicas > MAX_INT32
        else []
    )


def _steps(path: str) -> list[str]:
    return path.removeprefix(".").split(".")


def _nested(obj: Object, path: str) -> tuple[Any, bool]:
    value: Any = obj
    steps = _steps(path)
    for i, step in enumerate(steps):
        if type(value) is not dict:
            if value is None:
                return None, False
            where = "." + ".".join(steps[: i + 1])
            raise _WrongType(
                f"{where} accessor error: {go_value(value)} is of the type {go_type(value)}, "
                "expected "
                f"map[string]interface{{}}"
            )
        if step not in value:
            return None, False
        value = value[step]
    return value, True


def _int(obj: Object, path: str) -> int | None:
    value, is_there = _nested(obj, path)
    if not is_there:
        return None
    if type(value) is not int:
        raise _WrongType(
            f"{path} accessor error: {go_value(value)} is of the type {go_type(value)}, "
            f"expected int64"
        )
    return value


def _string(obj: Object, path: str) -> str:
    value, is_there = _nested(obj, path)
    if not is_there:
        return ""
    if type(value) is not str:
        raise _WrongType(
            f"{path} accessor error: {go_value(value)} is of the type {go_type(value)}, "
            f"expected string"
        )
    return value
