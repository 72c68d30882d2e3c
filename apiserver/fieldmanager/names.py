"""Names of field managers: from the request's fieldManager, or from its User-Agent.

Sources: k8s.io/apiserver ``endpoints/handlers/create.go`` (managerOrUserAgent), apimachinery
``apis/meta/v1/validation``.
"""

from __future__ import annotations

from apiserver.fielderrors import FieldErrors, invalid, too_long

MAX_BYTES = 128


def manager_name(field_manager: str, user_agent: str) -> str:
    """A write's manager: ``field_manager``, or what prints of the User-Agent up to its slash; "" is
    recorded as "unknown"."""
    if field_manager:
        return field_manager
    head = user_agent.partition("/")[0]
    if head.isascii() and head.isprintable():
        return head[:MAX_BYTES]
    name, size = "", 0
    for char in head:
        if not char.isprintable():
            continue
        size += len(char.encode("utf-8", "surrogatepass"))
        if size > MAX_BYTES:
            break
        name += char
    return name


def validate_manager_name(name: str, path: str = "fieldManager") -> FieldErrors:
    """Errors of a fieldManager that a request gives, or of the name of an entry of managedFields;
    "" is valid here (apply requires one)."""
    if name.isascii() and name.isprintable() and len(name) <= MAX_BYTES:
        return []
    errors: FieldErrors = []
    if len(name.encode()) > MAX_BYTES:
        errors.append(too_long(path, MAX_BYTES))
    for i, char in enumerate(name):
        if not char.isprintable():
            at = len(name[:i].encode())
            errors.append(
                invalid(path, name, f"invalid character U+{ord(char):04X} (at position {at})")
            )
    return errors
