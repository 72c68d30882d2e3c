"""manage.py tenant create|update|list|show|suspend|resume|delete."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from apiserver.controllers.names import CONTROLLERS
from apiserver.meta.times import format_optional_time, format_time
from apiserver.storage.models import TenantHead
from apiserver.storage.visibility import django_everywhere, django_within
from controlplane.accounttokens import service_account_issuer
from controlplane.errors import OperatorError
from controlplane.management.asking import ask
from controlplane.management.declared import (
    add_declared,
    add_names,
    declared,
    matches,
    selected,
)
from controlplane.management.output import PolyplaneCommand, add_actions, add_output
from controlplane.tenancy import authentication, service
from controlplane.tenancy.models import Tenant

_LIMITS = {
    f.name: str(f.help_text)
    for f in Tenant._meta.fields
    if f.name in (*Tenant.QUOTAS, "retention_seconds")
}
_DEFAULT = "default"
_DONE = {
    Tenant.State.SUSPENDED: "suspended",
    Tenant.State.ACTIVE: "resumed",
    Tenant.State.DELETING: "deleted",
}


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


def _add_settings(parser: ArgumentParser) -> None:
    for field, text in _LIMITS.items():
        parser.add_argument(
            f"--{field.replace('_', '-')}",
            type=_limit,
            help=f"{text}; {_DEFAULT}: the installation's",
        )
    parser.add_argument(
        "--authentication-config",
        metavar="FILE",
        help="AuthenticationConfiguration: whose JWTs are good in this tenant, beside the "
        f"installation's; {_DEFAULT}: nobody's",
    )
    parser.add_argument(
        "--without-controllers",
        metavar="NAMES",
        type=_names,
        help=f"comma-separated: left to somebody else; {_DEFAULT}: none. "
        f"There are {', '.join(CONTROLLERS)}",
    )


class Command(PolyplaneCommand):
    help = "Create, change, show, suspend, resume and delete tenants."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = add_actions(parser)
        create = actions.add_parser("create", help="make tenants")
        create.add_argument("names", nargs="+", metavar="name")
        create.add_argument(
            "--template",
            action="append",
            default=[],
            help="a TenantTemplate of tenant default; applied by a server that runs",
        )
        update = actions.add_parser(
            "update", help="change limits; running servers follow within two seconds"
        )
        update.add_argument("name")
        for parser_of in (create, update):
            add_declared(parser_of)
            _add_settings(parser_of)
        for sub in (create, update):
            add_output(sub)
        _add_the_rest(actions)

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _create(self, options: dict[str, Any]) -> None:
        document = _document(options["authentication_config"])
        if document:
            authentication.check(document, _issuers())
        tenants = service.create_tenants(
            options["names"],
            controllers_off=options["without_controllers"] or [],
            templates=options["template"],
            **{**declared(options, {}), **_limits(options)},
        )
        for tenant in tenants:
            if document:
                authentication.set_document(tenant, document, _issuers())
            self.line(options, f'tenant "{tenant.name}" created: /clusters/{tenant.name}')
        documents = [_whole(tenant) for tenant in tenants]
        self.document(options, documents if len(documents) > 1 else documents[0])

    def _update(self, options: dict[str, Any]) -> None:
        tenant = service.get_tenant(options["name"])
        limits, off = _limits(options), options["without_controllers"]
        columns = declared(options, tenant.labels)
        document = _document(options["authentication_config"])
        if not limits and not columns and off is None and document is None:
            raise OperatorError(
                "Nothing to change.",
                "give at least one limit, such as --max-objects 200000; --help lists them.",
            )
        if columns:
            service.change(tenant, **columns)
        if limits:
            service.set_quotas(tenant, **limits)
        if document is not None:
            authentication.set_document(tenant, document, _issuers())
        if off is not None:
            service.turn_controllers_off(tenant, off)
        self._changed(options, "updated")

    def _list(self, options: dict[str, Any]) -> None:
        with django_everywhere():
            heads = TenantHead.objects.in_bulk()
        selected = (t for t in Tenant.objects.all() if matches(options["selector"], t))
        tenants = [(t, heads.get(t.pk) or TenantHead()) for t in selected]
        documents = authentication.documents()
        value = [_described(t, head, documents.get(t.pk, "")) for t, head in tenants]
        self.print(options, value, lambda: "\n".join(_rows(tenants)))

    def _show(self, options: dict[str, Any]) -> None:
        tenant = service.get_tenant(options["name"])
        value = _whole(tenant)
        self.print(options, value, lambda: "\n".join(_lines(value)))

    def _suspend(self, options: dict[str, Any]) -> None:
        self._each(options, Tenant.State.SUSPENDED, service.suspend)

    def _resume(self, options: dict[str, Any]) -> None:
        self._each(options, Tenant.State.ACTIVE, service.resume)

    def _delete(self, options: dict[str, Any]) -> None:
        self._each(options, Tenant.State.DELETING, service.delete_tenant)

    def _each(
        self, options: dict[str, Any], state: Tenant.State, act: Callable[[str], None]
    ) -> None:
        """One by one. Those that cannot be brought to the state are named in the end, when the
        others are done. A single tenant is described as ever, several are listed."""
        what, tenants = _DONE[state], selected(options)
        possible, refused = _parted(tenants, state)
        if refused and not possible:
            raise _together(refused)
        self._confirm(options, what, [tenant.name for tenant in possible])
        done: list[dict[str, Any]] = []
        for tenant in possible:
            act(tenant.name)
            self.line(options, f'tenant "{tenant.name}" {what}')
            if what == "deleted":
                done.append({"name": tenant.name, "state": what})
            else:
                tenant.refresh_from_db()
                done.append(_whole(tenant))
        several = options["selector"] or len(tenants) > 1
        self.document(options, done if several else done[0])
        if refused:
            raise _together(refused)

    def _confirm(self, options: dict[str, Any], what: str, names: Sequence[str]) -> None:
        """Asks before a deletion, and before anything is done to what a selector has found. Raises
        OperatorError unless somebody says yes."""
        if not names or (what != "deleted" and not options["selector"]):
            return
        text = ", ".join(f'"{name}"' for name in names[:10])
        if len(names) > 10:
            text += f" and {len(names) - 10} more"
        lost = " with all objects, which cannot be undone." if what == "deleted" else "."
        ask(options, f"{text} will be {what}.", f"{text} would be {what}{lost}")

    def _changed(self, options: dict[str, Any], what: str) -> None:
        tenant = service.get_tenant(options["name"])
        self.print(options, _whole(tenant), f'tenant "{tenant.name}" {what}')


def _parted(
    tenants: Sequence[Tenant], state: Tenant.State
) -> tuple[list[Tenant], list[OperatorError]]:
    """Those that can be brought to the state, and why the others cannot."""
    possible, refused = [], []
    for tenant in tenants:
        try:
            service.check_state(tenant, state)
        except OperatorError as e:
            refused.append(e)
        else:
            possible.append(tenant)
    return possible, refused


def _together(refused: Sequence[OperatorError]) -> OperatorError:
    """One that says all of them."""
    fixes = dict.fromkeys(e.fix for e in refused)
    return OperatorError(" ".join(e.problem for e in refused), "\n       ".join(fixes))


def _add_the_rest(actions: Any) -> None:
    """Subcommands that change nothing but a tenant's state."""
    listing = actions.add_parser("list", help="all tenants with state and what they use")
    listing.add_argument("-l", "--selector", default="", help="only those with these labels")
    show = actions.add_parser("show", help="one tenant with its limits and what it uses")
    show.add_argument("name")
    for sub in (listing, show):
        add_output(sub)
    for action, text in (
        ("suspend", "refuse all requests"),
        ("resume", "accept requests again"),
        ("delete", "remove with all objects; there is no way back"),
    ):
        sub = actions.add_parser(action, help=text)
        add_names(sub)
        sub.add_argument("--yes", action="store_true", help="do it without asking")
        add_output(sub)


def _document(path: str | None) -> str | None:
    """An empty one takes it away; None leaves it as it is. Raises OperatorError."""
    if path is None or path == _DEFAULT:
        return None if path is None else ""
    try:
        with Path(path).open() as file:
            return file.read(authentication.LARGEST + 1)
    except (OSError, UnicodeDecodeError) as e:
        raise OperatorError(f"{path} cannot be read: {e}.", "name a file of YAML.") from None


def _issuers() -> list[str]:
    return [service_account_issuer()]


def _head(tenant: Tenant) -> TenantHead:
    """What the tenant uses."""
    with django_within(tenant.pk):
        return TenantHead.objects.filter(pk=tenant.pk).first() or TenantHead()


def _whole(tenant: Tenant) -> dict[str, Any]:
    return _described(tenant, _head(tenant), authentication.document_of(tenant))


def _described(tenant: Tenant, head: TenantHead, document: str) -> dict[str, Any]:
    """limits: those of its own; null: the installation's."""
    return {
        "name": tenant.name,
        "displayName": tenant.display_name,
        "state": tenant.state,
        "path": f"/clusters/{tenant.name}",
        "createdAt": format_optional_time(tenant.created_at),
        "resourceVersion": str(head.head),
        "used": {
            "objects": head.object_count,
            "bytes": head.bytes,
            "logBytes": head.log_bytes,
            "hourBytes": head.written_this_hour,
        },
        "labels": tenant.labels,
        "owners": tenant.owners,
        "templates": tenant.templates,
        "expiresAt": format_optional_time(tenant.expires_at),
        "deletionProtection": tenant.deletion_protection,
        "controllersOff": tenant.controllers_off,
        "issuers": authentication.issuers_in(document) if document else [],
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
            f"{head.log_bytes:>14}{head.written_this_hour:>14}  {format_time(tenant.created_at)}"
        )


def _lines(described: dict[str, Any]) -> Iterator[str]:
    """One member a line, those of `used` and `limits` indented."""
    for name, value in described.items():
        if isinstance(value, dict):
            yield f"{name}:"
            yield from (f"  {line}" for line in _lines(value))
        elif isinstance(value, list):
            yield f"{name}: {', '.join(value)}"
        elif isinstance(value, bool):
            yield f"{name}: {'on' if value else 'off'}"
        elif name == "expiresAt":
            yield f"{name}: {value or 'never'}"
        else:
            yield f"{name}: {_DEFAULT if value is None else value}"


def _limits(options: dict[str, Any]) -> dict[str, int | None]:
    """Those that were given; None is the installation's default."""
    given = {field: options[field] for field in _LIMITS if options.get(field) is not None}
    return {field: None if value == _DEFAULT else value for field, value in given.items()}
