"""manage.py tenant create|update|list|show|suspend|resume|delete."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Any

from apiserver.controllers.names import CONTROLLERS
from apiserver.storage.models import TenantHead
from apiserver.storage.visibility import django_everywhere, django_within
from controlplane.errors import OperatorError
from controlplane.management.output import PolyplaneCommand, add_output, timestamp
from controlplane.tenancy import service
from controlplane.tenancy.models import Tenant

_LIMITS = {
    f.name: str(f.help_text)
    for f in Tenant._meta.fields
    if f.name in (*Tenant.QUOTAS, "retention_seconds")
}
_DEFAULT = "default"


def _names(text: str) -> list[str]:
    """Of controllers, or the word that turns all on again. Raises OperatorError."""
    names = [] if text == _DEFAULT else [name for name in text.split(",") if name]
    if unknown := sorted(set(names) - set(CONTROLLERS)):
        raise OperatorError(
            f'There is no controller "{unknown[0]}".', f"there are {', '.join(CONTROLLERS)}."
        )
    return sorted(set(names))


def _limit(text: str) -> int | str:
    """A number, or the word that takes a tenant's own limit away."""
    return text if text == _DEFAULT else int(text)


class Command(PolyplaneCommand):
    help = "Create, change, show, suspend, resume and delete tenants."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="make a tenant")
        create.add_argument("name")
        create.add_argument("--display-name", default="")
        update = actions.add_parser(
            "update", help="change limits; running servers follow within two seconds"
        )
        update.add_argument("name")
        for parser_of in (create, update):
            for field, text in _LIMITS.items():
                parser_of.add_argument(
                    f"--{field.replace('_', '-')}",
                    type=_limit,
                    help=f"{text}; {_DEFAULT}: the installation's",
                )
            parser_of.add_argument(
                "--without-controllers",
                metavar="NAMES",
                type=_names,
                help=f"comma-separated: left to somebody else; {_DEFAULT}: none. "
                f"There are {', '.join(CONTROLLERS)}",
            )
        listing = actions.add_parser("list", help="all tenants with state and what they use")
        for sub in (create, update, listing):
            add_output(sub)
        for action, text in (
            ("show", "one tenant with its limits and what it uses"),
            ("suspend", "refuse all requests"),
            ("resume", "accept requests again"),
            ("delete", "remove with all objects"),
        ):
            sub = actions.add_parser(action, help=text)
            sub.add_argument("name")
            add_output(sub)
            if action == "delete":
                sub.add_argument("--yes", action="store_true", help="do it: there is no way back")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _create(self, options: dict[str, Any]) -> None:
        tenant = service.create_tenant(
            options["name"],
            display_name=options["display_name"],
            controllers_off=options["without_controllers"] or [],
            **_limits(options),
        )
        text = f'tenant "{tenant.name}" created: /clusters/{tenant.name}'
        self.print(options, _described(tenant, _head(tenant)), text)

    def _update(self, options: dict[str, Any]) -> None:
        limits, off = _limits(options), options["without_controllers"]
        if not limits and off is None:
            raise OperatorError(
                "Nothing to change.",
                "give at least one limit, such as --max-objects 200000; --help lists them.",
            )
        tenant = service.get_tenant(options["name"])
        if limits:
            service.set_quotas(tenant, **limits)
        if off is not None:
            service.turn_controllers_off(tenant, off)
        self._changed(options, "updated")

    def _list(self, options: dict[str, Any]) -> None:
        with django_everywhere():
            heads = TenantHead.objects.in_bulk()
        tenants = [(t, heads.get(t.pk) or TenantHead()) for t in Tenant.objects.all()]
        value = [_described(tenant, head) for tenant, head in tenants]
        self.print(options, value, lambda: "\n".join(_rows(tenants)))

    def _show(self, options: dict[str, Any]) -> None:
        tenant = service.get_tenant(options["name"])
        value = _described(tenant, _head(tenant))
        self.print(options, value, lambda: "\n".join(_lines(value)))

    def _suspend(self, options: dict[str, Any]) -> None:
        service.suspend(options["name"])
        self._changed(options, "suspended")

    def _resume(self, options: dict[str, Any]) -> None:
        service.resume(options["name"])
        self._changed(options, "resumed")

    def _changed(self, options: dict[str, Any], what: str) -> None:
        tenant = service.get_tenant(options["name"])
        self.print(options, _described(tenant, _head(tenant)), f'tenant "{tenant.name}" {what}')

    def _delete(self, options: dict[str, Any]) -> None:
        name = options["name"]
        service.get_tenant(name)
        if not options["yes"]:
            raise OperatorError(
                f'Deleting tenant "{name}" removes all its objects and cannot be undone.',
                f"manage.py tenant delete {name} --yes",
            )
        service.delete_tenant(name)
        self.print(options, {"name": name, "state": "deleted"}, f'tenant "{name}" deleted')


def _head(tenant: Tenant) -> TenantHead:
    """What the tenant uses."""
    with django_within(tenant.pk):
        return TenantHead.objects.filter(pk=tenant.pk).first() or TenantHead()


def _described(tenant: Tenant, head: TenantHead) -> dict[str, Any]:
    """limits: those of its own; null: the installation's."""
    return {
        "name": tenant.name,
        "displayName": tenant.display_name,
        "state": tenant.state,
        "path": f"/clusters/{tenant.name}",
        "createdAt": timestamp(tenant.created_at),
        "resourceVersion": str(head.head),
        "used": {
            "objects": head.object_count,
            "bytes": head.bytes,
            "logBytes": head.log_bytes,
            "hourBytes": head.written_this_hour,
        },
        "controllersOff": tenant.controllers_off,
        "limits": {_camel(field): getattr(tenant, field) for field in _LIMITS},
    }


def _camel(field: str) -> str:
    first, *rest = field.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _rows(tenants: Sequence[tuple[Tenant, TenantHead]]) -> Iterator[str]:
    yield (
        f"{'NAME':<32}{'STATE':<12}{'OBJECTS':>10}{'BYTES':>14}{'LOG BYTES':>14}"
        f"{'THIS HOUR':>14}  CREATED"
    )
    for tenant, head in tenants:
        yield (
            f"{tenant.name:<32}{tenant.state:<12}{head.object_count:>10}{head.bytes:>14}"
            f"{head.log_bytes:>14}{head.written_this_hour:>14}  {timestamp(tenant.created_at)}"
        )


def _lines(described: dict[str, Any]) -> Iterator[str]:
    """One member a line, those of `used` and `limits` indented."""
    for name, value in described.items():
        if isinstance(value, dict):
            yield f"{name}:"
            yield from (f"  {line}" for line in _lines(value))
        elif isinstance(value, list):
            yield f"{name}: {', '.join(value)}"
        else:
            yield f"{name}: {_DEFAULT if value is None else value}"


def _limits(options: dict[str, Any]) -> dict[str, int | None]:
    """Those that were given; None is the installation's default."""
    given = {field: options[field] for field in _LIMITS if options.get(field) is not None}
    return {field: None if value == _DEFAULT else value for field, value in given.items()}
