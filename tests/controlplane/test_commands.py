"""What all of Polyplane's commands have in common: JSON for programs, an immediate beginning, one
line for what an operator can mend."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import socket
import subprocess
import sys
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml
from django.core.management import CommandError, call_command, load_command_class

from apiserver.storage.interface import ObjectKey, Write
from apiserver.storage.postgres import PostgresStore
from controlplane import commandhelp, version
from controlplane.commandline import OUTPUTS, main
from controlplane.errors import OperatorError
from controlplane.kubectl import command
from controlplane.tenancy import service
from tests.support.installation import MANAGE

ROOT = Path(__file__).parents[2]
COMMANDS = {
    path.stem: path.parent.parent.parent.name
    for path in ROOT.glob("*/management/commands/*.py")
    if path.stem != "__init__"
}
"""The application of each."""
PRINT_NO_DATA = {
    "up": "runs until it is stopped, and tells what it does",
    "serve": "runs until it is stopped",
    "migrate": "Django's, which tells what it does",
    "psql": "PostgreSQL's own client prints, in its forms (--csv, -c)",
    "reset": "tells what it removes; nothing is left to be printed",
}


def parsers(parser: ArgumentParser) -> Iterator[ArgumentParser]:
    """Those that take options: the parsers of subcommands, where there are any."""
    nested = [a for a in parser._actions if isinstance(a, _SubParsersAction)]
    if not nested:
        yield parser
    for action in nested:
        for sub in action.choices.values():
            yield from parsers(sub)


def run(*arguments: str) -> Any:
    out = StringIO()
    call_command(*arguments, "-o", "json", stdout=out, stderr=StringIO())
    return json.loads(out.getvalue())


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


def _of(name: str) -> list[ArgumentParser]:
    return list(parsers(load_command_class(COMMANDS[name], name).create_parser("manage.py", name)))


def _outputs(parser: ArgumentParser) -> set[str]:
    """What `-o` takes, nothing where there is no such option."""
    found = [a for a in parser._actions if {"-o", "--output"} <= {*a.option_strings}]
    return set(found[0].choices or ()) if found else set()


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - PRINT_NO_DATA.keys()))
def test_every_command_that_prints_has_all_forms(name: str) -> None:
    assert _of(name)
    for own in _of(name):
        assert _outputs(own) == {*OUTPUTS}, own.prog


@pytest.mark.parametrize("name", sorted(PRINT_NO_DATA))
def test_what_prints_no_data_offers_no_form_of_it(name: str) -> None:
    found = _of(name)
    assert found
    assert not any(map(_outputs, found)), "then it is no longer in the list"


def test_the_plugin_of_kubectl_has_all_forms() -> None:
    own = list(parsers(command._parser()))
    assert len(own) > 5
    for one in own:
        assert _outputs(one) == {*OUTPUTS}, one.prog


WRITE_THEMSELVES = {
    "convert": "manifests have a form of their own: documents, a List",
    "reset": PRINT_NO_DATA["reset"],
}


def test_what_a_command_prints_goes_through_the_option() -> None:
    """Standard output is written by controlplane/management/output.py alone, which knows `-o`."""
    writing = set()
    for name, app in COMMANDS.items():
        tree = ast.parse((ROOT / app / f"management/commands/{name}.py").read_text())
        attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        if "stdout" in attributes or "print" in names:
            writing.add(name)
    assert writing == WRITE_THEMSELVES.keys()


def test_help_lists_every_command() -> None:
    listed = {name for section in commandhelp.COMMANDS.values() for name in section}
    assert {*COMMANDS} <= listed


@pytest.mark.parametrize("name", sorted({*COMMANDS} - {"serve"}))
def test_no_command_loads_the_kinds_before_it_has_to(name: str) -> None:
    """They take a second; checks of the URLs, which Django makes before each command, load them
    with the console."""
    code = (
        "import sys, django; django.setup()\n"
        "from django.core.management import load_command_class\n"
        f"command = load_command_class('controlplane', {name!r})\n"
        f"command.create_parser('manage.py', {name!r})\n"
        "checks = command.requires_system_checks\n"
        "if isinstance(checks, list): command.check(tags=checks)\n"
        "assert 'apiserver.kinds.imports' not in sys.modules\n"
    )
    done = python(code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tennant", "list"), "Unknown command: 'tennant'. Did you mean tenant?"),
        (("versoin",), 'There is no command "versoin".\n  fix: did you mean version?'),
        (("hlep", "tenant"), 'There is no command "hlep".\n  fix: did you mean help?'),
    ],
)
def test_a_misspelt_command_needs_no_database(
    tmp_path: Path, words: Sequence[str], said: str
) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "DATABASE_URL"}
    done = subprocess.run(
        [*MANAGE, *words],
        env={**environment, "POLYPLANE_DATA_DIR": str(tmp_path / "data")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert said in done.stderr


def test_a_misspelt_tenant_leads_to_those_that_are_nearest(postgres: str) -> None:
    for name in ("near-team-a", "near-team-ab", "near-team-of-another-sort"):
        service.ensure_tenant(name)
    for words in (
        ("tenant", "show", "near-teem-a"),
        ("kubeconfig", "near-teem-a"),
        ("restored", "--while-running", "--tenant", "near-teem-a"),
    ):
        with pytest.raises(OperatorError) as refused:
            run(*words)
        assert refused.value.problem == 'There is no tenant "near-teem-a".'
        assert refused.value.fix.startswith("did you mean near-team-a or near-team-ab? `manage.py")
    with pytest.raises(OperatorError) as refused:
        run("tenant", "show", "quite-another-word")
    assert refused.value.fix.startswith("`manage.py tenant list` shows all")


def test_tenants_as_json(postgres: str) -> None:
    created = run("tenant", "create", "as-json", "--max-objects", "300")
    assert (created["name"], created["path"]) == ("as-json", "/clusters/as-json")
    assert (created["limits"]["maxObjects"], created["limits"]["maxBytes"]) == (300, None)
    assert run("tenant", "show", "as-json") == created
    assert created in run("tenant", "list")
    assert run("tenant", "suspend", "as-json")["state"] == "suspended"
    assert run("tenant", "resume", "as-json")["state"] == "active"
    assert run("tenant", "update", "as-json", "--max-objects", "400")["limits"]["maxObjects"] == 400
    gone = run("tenant", "delete", "as-json", "--yes")
    assert gone == {"name": "as-json", "state": "deleted"}


def test_one_tenant_as_text(postgres: str) -> None:
    service.ensure_tenant("as-text")
    out = StringIO()
    call_command("tenant", "show", "as-text", stdout=out)
    lines = out.getvalue().splitlines()
    assert lines[0] == "name: as-text"
    assert "  objects: 0" in lines and "  maxObjects: default" in lines


def test_tokens_as_json(postgres: str) -> None:
    service.ensure_tenant("tokens-json")
    created = run("token", "create", "ann", "--tenant", "tokens-json", "--group", "dev")
    secret = created.pop("token")
    assert secret.startswith("pp_")
    assert (created["user"], created["tenant"], created["groups"], created["state"]) == (
        "ann",
        "tokens-json",
        ["dev"],
        "valid",
    )
    assert run("token", "list", "--tenant", "tokens-json") == [created]
    assert run("token", "revoke", str(created["id"]))["state"] == "revoked"


def test_compaction_and_migration_as_json(postgres: str) -> None:
    service.ensure_tenant("work-json")
    done = run("compact", "--tenant", "work-json")
    assert [(one["tenant"], one["removedEvents"]) for one in done] == [("work-json", 0)]
    outcomes = run("migrate_storage", "--tenant", "work-json")
    assert [one for one in outcomes if one["outdated"] or one["failed"]] == []


def test_a_tenant_that_keeps_nothing_keeps_nothing(postgres: str) -> None:
    service.ensure_tenant("forgetful")
    tenant = service.get_tenant("forgetful")
    key = ObjectKey("", "configmaps", "default", "changed")

    async def change() -> None:
        store = PostgresStore(postgres, size=1)
        await store.open()
        uid = str(uuid4())
        data = json.dumps({"metadata": {"name": "changed", "uid": uid}}).encode()
        version = await store.write(tenant.pk, Write("create", key, uid, data))
        for _ in range(2):
            update = Write("update", key, uid, data, expected=version)
            version = await store.write(tenant.pk, update)
        await store.close()

    asyncio.run(change())
    assert run("compact", "--tenant", "forgetful")[0]["removedEvents"] == 0, "a day is kept"
    run("tenant", "update", "forgetful", "--retention-seconds", "0")
    assert run("compact", "--tenant", "forgetful")[0]["removedEvents"] == 2


@pytest.mark.parametrize("flag", [["-o", "json"], ["--output=json"], ["-oyaml"]])
def test_the_version_for_programs(flag: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["manage.py", "version", *flag])
    printed = yaml.safe_load(capsys.readouterr().out)
    assert printed == {"version": version.VERSION, "kubernetes": version.KUBERNETES}


def test_the_version_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["version"], ["--version"], ["version", "-o", "table"]):
        main(["manage.py", *words])
        assert capsys.readouterr().out.startswith(f"polyplane {version.VERSION} (")
    with pytest.raises(SystemExit):
        main(["manage.py", "version", "-o", "xml"])
    assert "invalid choice: 'xml'" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["tenant list --nope", "token list --nope 3", "role list x"])
def test_what_a_subcommand_does_not_know_is_told_by_its_own_usage(words: str) -> None:
    done = manage(*words.split(), DATABASE_URL="postgresql://ann@127.0.0.1:1/x")
    command, action, *rest = words.split()
    assert done.returncode == 2
    assert f"{command} {action} [-h]" in done.stderr.splitlines()[0]
    assert f"unrecognized arguments: {' '.join(rest)}" in done.stderr
    with pytest.raises(CommandError, match="unrecognized arguments"):
        call_command(command, action, *rest)


# --- psql -----------------------------------------------------------------------------------------
def psql(*arguments: str) -> list[str]:
    """Lines of `manage.py psql --csv`, which writes to the process's own standard output."""
    code = (
        "import django; django.setup()\n"
        "from django.core.management import call_command\n"
        f"call_command('psql', '--csv', *{arguments!r})\n"
    )
    done = python(code)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_psql_sees_all_tenants_or_one(postgres: str) -> None:
    service.ensure_tenant("psql-one")
    service.ensure_tenant("psql-two")
    heads = "SELECT count(DISTINCT tenant_id) > 1 AS several FROM tenant_heads"
    who = "SELECT current_user"
    assert psql("-c", heads, "-c", who) == ["several", "t", "current_user", "polyplane"]
    assert psql("psql-one", "-c", heads, "-c", who) == [
        "several",
        "f",
        "current_user",
        "polyplane_app",
    ]


@pytest.mark.parametrize("whose", [(), ("psql-reads1",)])
def test_psql_writes_when_it_is_told_to(
    postgres: str, whose: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    name = f"psql-reads{len(whose)}"
    service.ensure_tenant(name)
    write = f"UPDATE tenancy_tenant SET display_name = 'by SQL' WHERE name = '{name}'"
    with pytest.raises(SystemExit) as ended:
        call_command("psql", *whose, "-c", write)
    assert ended.value.code == 1
    assert "cannot execute UPDATE in a read-only transaction" in capfd.readouterr().err
    assert service.get_tenant(name).display_name == ""
    err = StringIO()
    call_command("psql", *whose, "-qc", write, "--write", stderr=err)
    assert service.get_tenant(name).display_name == "by SQL"
    assert len(err.getvalue().splitlines()) == 1 and "no watch sees it" in err.getvalue()


def test_psql_stays_read_only_over_a_new_connection(
    postgres: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "again.sql"
    script.write_text("\\connect\nSHOW transaction_read_only;\n")
    call_command("psql", "-qAt", "-f", str(script))
    assert capfd.readouterr().out.splitlines()[-1] == "on"


def test_psql_takes_options_of_its_form_in_their_order(
    postgres: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "two.sql"
    script.write_text("SELECT 2;")
    call_command("psql", "-Atc", "SELECT 1", "-f", str(script), "-c", "SELECT 3")
    assert capfd.readouterr().out.split() == ["1", "2", "3"]
    call_command("psql", "-xc", "SELECT 4 AS four")
    assert "four | 4" in capfd.readouterr().out


def test_psql_ends_as_its_statement_does(postgres: str) -> None:
    with pytest.raises(SystemExit) as ended:
        call_command("psql", "-c", "SELECT 1/0")
    assert ended.value.code == 1


# --- before the first start -----------------------------------------------------------------------
@pytest.mark.parametrize("words", ["token create ann", "tenant list", "psql demo -c TABLE"])
def test_a_database_without_tables_is_one_line_with_the_fix(postgres: str, words: str) -> None:
    """The database `postgres` of the same cluster has no tables."""
    from urllib.parse import quote

    from controlplane.datadir import DataDir

    host = quote(str(DataDir.from_environment().socket_dir), safe="")
    code = f"from controlplane.commandline import main; main(['manage.py', *{words.split()!r}])"
    done = python(code, DATABASE_URL=f"postgresql:///postgres?host={host}&user=polyplane")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: The database has no tables yet, or those of an older version.",
        "  fix: start Polyplane once (`make run`), or run `manage.py migrate`.",
    ]


def manage(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    code = f"from controlplane.commandline import main; main(['manage.py', *{words!r}])"
    return python(code, **environment)


@pytest.mark.parametrize("words", ["token create ann", "tenant list", "psql"])
def test_a_question_makes_no_database(tmp_path: Path, words: str) -> None:
    data = tmp_path / "data"
    done = manage(*words.split(), POLYPLANE_DATA_DIR=str(data))
    assert done.returncode == 1 and f"no tables yet: {data} is not there" in done.stderr
    assert "POLYPLANE_DATA_DIR" in done.stderr
    assert not data.exists()


@pytest.mark.parametrize("words", ["reset --yes", "tenant list", "migrate"])
def test_what_somebody_else_keeps_in_the_data_directory_is_left_alone(
    tmp_path: Path, words: str
) -> None:
    """Also where some of the names are those of Polyplane's own files."""
    for name in ("lock", "log", "thesis.tex"):
        (tmp_path / name).write_text("chapter one")
    mode = tmp_path.stat().st_mode
    done = manage(*words.split(), POLYPLANE_DATA_DIR=str(tmp_path))
    assert done.returncode == 1
    assert "holds something else than a Polyplane (thesis.tex, ...)" in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lock", "log", "thesis.tex"]
    assert (tmp_path / "lock").read_text() == "chapter one" and tmp_path.stat().st_mode == mode


def test_an_unreachable_database_is_one_line_with_its_cause(tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        host = f"127.0.0.1:{nobody.getsockname()[1]}"
        url = f"postgresql://ann:secret@{host}/x"
        done = manage("tenant", "list", DATABASE_URL=url, POLYPLANE_DATA_DIR=str(tmp_path / "d"))
    assert done.returncode == 1
    first, fix = done.stderr.splitlines()
    assert first.startswith(f"error: PostgreSQL at ann@{host}/x (DATABASE_URL) cannot be reached: ")
    assert first.endswith("Connection refused") and fix.startswith("  fix: start that server")
