"""Paths inside containers and volumes (k8s.io/kubernetes ``apis/core/validation``:
validateLocalDescendingPath and friends)."""

from __future__ import annotations

from apiserver.fielderrors import FieldPath, invalid
from apiserver.kinds.common.checks import Errors


def no_backsteps(value: str, path: FieldPath) -> Errors:
    if ".." in value.split("/"):
        yield invalid(path, value, "must not contain '..'")


def descending(value: str, path: FieldPath) -> Errors:
    """Relative, and never up."""
    if value.startswith("/"):
        yield invalid(path, value, "must be a relative path")
    yield from no_backsteps(value, path)


def local(value: str, path: FieldPath) -> Errors:
    """Descending, and not beginning with ".." in any form: those names are the kubelet's own."""
    yield from descending(value, path)
    if value.startswith("..") and not value.startswith("../"):
        yield invalid(path, value, "must not start with '..'")


def file_mode(value: int | None, path: FieldPath) -> Errors:
    if value is not None and not 0 <= value <= 0o777:
        yield invalid(path, value, "must be a number between 0 and 0777 (octal), both inclusive")
