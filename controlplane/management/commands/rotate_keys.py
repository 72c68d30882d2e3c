"""manage.py rotate_keys: new keys for service accounts' tokens, without a break."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Any

from apiserver.authn.signing import ALGORITHMS, ES256
from apiserver.meta.times import format_optional_time
from controlplane.management.output import PolyplaneCommand, add_output
from controlplane.tenancy import accountkeys
from controlplane.tenancy.models import KeyGeneration


class Command(PolyplaneCommand):
    help = (
        "Give every tenant a new key for the tokens of its service accounts. Older keys verify "
        "until the last of their tokens has ended; servers follow without a restart."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        action = parser.add_mutually_exclusive_group()
        action.add_argument("--list", action="store_true", help="show all generations of keys")
        action.add_argument("--retire", type=int, metavar="N", help="end generation N for good")
        parser.add_argument(
            "--force", action="store_true", help="retire it although its tokens have not ended"
        )
        parser.add_argument("--algorithm", choices=ALGORITHMS, default=ES256)
        parser.add_argument(
            "--sign-after",
            type=int,
            metavar="SECONDS",
            default=accountkeys.SIGNS_AFTER,
            help="publish the keys for so long before they sign, for relying parties that "
            "remember key sets (default: %(default)s; at least that)",
        )
        add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["list"]:
            held = accountkeys.generations()
            value = [_described(g, held) for g in held]
            self.print(options, value, lambda: "\n".join(_rows(held)))
            return
        if options["retire"] is not None:
            generation = accountkeys.retire(options["retire"], force=options["force"])
            text = (
                f"generation {generation.number} retired: its tokens are refused within two seconds"
            )
        else:
            after = max(options["sign_after"], accountkeys.SIGNS_AFTER)
            generation = accountkeys.rotate(options["algorithm"], after)
            name = f"generation {generation.number} ({generation.algorithm})"
            text = f"{name} made; it signs in {after} s"
        self.print(options, _described(generation, accountkeys.generations()), text)


def _rows(held: Sequence[KeyGeneration]) -> Iterator[str]:
    yield f"{'GENERATION':<12}{'ALGORITHM':<11}{'STATE':<11}{'SIGNS FROM':<18}TOKENS"
    for g in held:
        state, begins = accountkeys.state(g, held), f"{g.signs_from:%Y-%m-%d %H:%M}"
        yield f"{g.number:<12}{g.algorithm:<11}{state:<11}{begins:<18}{accountkeys.ends(g)}"


def _described(generation: KeyGeneration, held: Sequence[KeyGeneration]) -> dict[str, Any]:
    return {
        "generation": generation.number,
        "algorithm": generation.algorithm,
        "state": accountkeys.state(generation, held),
        "createdAt": format_optional_time(generation.created_at),
        "signsFrom": format_optional_time(generation.signs_from),
        "tokensEnd": accountkeys.ends(generation),
        "retiredAt": format_optional_time(generation.retired_at),
    }
