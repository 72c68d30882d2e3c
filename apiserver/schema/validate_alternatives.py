"""anyOf, oneOf, allOf and not: which errors of several alternatives are shown (kube-openapi
``pkg/validation/validate/schema_props.go``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver.fielderrors import FieldErrors
from apiserver.golang.strconv import go_quote
from apiserver.schema.correlate import Correlation
from apiserver.schema.types import Schema
from apiserver.schema.validate_errors import Path, text_of, whole

Old = Correlation | None
Node = Callable[[Any, Old, Path, FieldErrors], int]
"""(value, old, path, errors) -> matches, as `apiserver.schema.validate` explains them."""


def alternatives(schema: Schema, node_of: Callable[[Schema], Node]) -> Node | None:
    """The check of anyOf, oneOf, allOf and not of a node; None where it has none. ``node_of``: the
    compiled check of each of them."""
    parts = [
        part
        for part in (
            _any_of([*map(node_of, schema.any_of)]) if schema.any_of else None,
            _one_of([*map(node_of, schema.one_of)]) if schema.one_of else None,
            _all_of([*map(node_of, schema.all_of)]) if schema.all_of else None,
            _not(node_of(schema.not_)) if schema.not_ is not None else None,
        )
        if part is not None
    ]
    if not parts:
        return None
    return lambda value, old, path, errors: sum([part(value, old, path, errors) for part in parts])


def _any_of(nodes: list[Node]) -> Node:
    def check(value: Any, old: Old, path: Path, errors: FieldErrors) -> int:
        best, best_count = None, -1
        for node in nodes:
            own: FieldErrors = []
            count = node(value, old, path, own)
            if not own:
                return count
            if count > best_count:
                best, best_count = own, count
        errors.append(whole(f"{go_quote(text_of(path))} must validate at least one schema (anyOf)"))
        errors += best or ()
        return best_count

    return check


def _one_of(nodes: list[Node]) -> Node:
    def check(value: Any, old: Old, path: Path, errors: FieldErrors) -> int:
        best, best_count, valid, first = None, -1, 0, 0
        for node in nodes:
            own: FieldErrors = []
            count = node(value, old, path, own)
            if not own:
                valid += 1
                best = None
                first = first or count
            elif not valid and count > best_count:
                best, best_count = own, count
        if valid == 1:
            return first
        count_text = f"Found {valid} valid alternatives" if valid else "Found none valid"
        errors.append(
            whole(
                f"{go_quote(text_of(path))} must validate one and only one schema (oneOf). "
                f"{count_text}"
            )
        )
        errors += best or ()
        return max(best_count, 0) if best else 0

    return check


def _all_of(nodes: list[Node]) -> Node:
    def check(value: Any, old: Old, path: Path, errors: FieldErrors) -> int:
        count = valid = 0
        for node in nodes:
            before = len(errors)
            count += node(value, old, path, errors)
            valid += len(errors) == before
        if valid != len(nodes):
            none = "" if valid else ". None validated"
            errors.append(
                whole(f"{go_quote(text_of(path))} must validate all the schemas (allOf){none}")
            )
        return count

    return check


def _not(node: Node) -> Node:
    def check(value: Any, old: Old, path: Path, errors: FieldErrors) -> int:
        own: FieldErrors = []
        node(value, old, path, own)
        if not own:
            errors.append(whole(f"{go_quote(text_of(path))} must not validate the schema (not)"))
        return 0

    return check
