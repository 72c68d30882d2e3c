"""ANTLR's default error strategy over a list of tokens: what is reported, and how a parser goes on
after an error.

A parser calls `rule` for each of its rules, `sync` before decisions and `match` for tokens. An
unexpected token is deleted when the one after it fits, or a missing one is assumed when the one at
hand may follow it; else the rule is given up and tokens are skipped up to what may follow the rules
around. Sets hold token kinds; EPSILON in a set means that the rule may end there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Never

from apiserver.cel.errors import NO_POSITION, CompileError
from apiserver.cel.syntax.lexer import EOF, Token
from apiserver.effort import spend

EPSILON: Final = "<epsilon>"
_REPORT_LIMIT, _RECOVERY_LIMIT, _SKIP_LIMIT, _DEPTH_LIMIT = 100, 30, 256, 250

# in the order of the lexer's rules, which is the order in which expected tokens are listed
_LITERALS = "== != in < <= >= > && || [ ] { } ( ) . , - ! ? : + * / % true false null"
_SYMBOLS = "NUM_FLOAT NUM_INT NUM_UINT STRING BYTES IDENTIFIER ESC_IDENTIFIER"
_ORDER: Final = {kind: i for i, kind in enumerate(f"{EOF} {_LITERALS} {_SYMBOLS}".split())}
Kinds = frozenset[str]
_HIDDEN = re.compile(r"[\t \r\n\f]+|//[^\n]*")


END: Final = frozenset({EPSILON})


class Mismatch(Exception):
    """Another token than this was expected."""

    def __init__(self, state: str, expected: Kinds) -> None:
        super().__init__(state)
        self.state = state
        self.expected = expected


class NoViable(Exception):
    """No alternative starts with the tokens from ``start`` to ``offending``."""

    def __init__(self, state: str, start: Token, offending: Token) -> None:
        super().__init__(state)
        self.state = state
        self.start = start
        self.offending = offending


class Stop(Exception):
    """Too many errors."""


class Recovery:
    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.at = 0
        self.errors: list[CompileError] = []
        self.recovering = False
        self.follows: list[Kinds] = []
        self.last_error = -1
        self.last_states: set[str] = set()
        self.attempts = 0
        self.depths: dict[str, int] = {}

    # --- tokens -----------------------------------------------------------------------------------
    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def kind(self, ahead: int = 0) -> str:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)].kind

    def consume(self) -> None:
        spend(20)
        if self.at < len(self.tokens) - 1:
            self.at += 1

    # --- reports ----------------------------------------------------------------------------------
    def report(self, token: Token, message: str) -> None:
        if len(self.errors) >= _REPORT_LIMIT:
            self.errors.append(
                CompileError(token.pos, f"Syntax error: More than {_REPORT_LIMIT} syntax errors")
            )
            raise Stop
        self.errors.append(CompileError(token.pos, f"Syntax error: {message}"))

    def begin(self, token: Token, message: str) -> None:
        """Reports the first error of a stretch that is being recovered from."""
        if not self.recovering:
            self.recovering = True
            self.report(token, message)

    def expected(self, local: Kinds) -> Kinds:
        """What may stand here, the rules around included."""
        tokens = set(local)
        for follow in reversed(self.follows):
            if EPSILON not in tokens:
                break
            tokens.discard(EPSILON)
            tokens |= follow
        if EPSILON in tokens:
            tokens.discard(EPSILON)
            tokens.add(EOF)
        return frozenset(tokens)

    def count_attempt(self) -> None:
        if self.attempts == _RECOVERY_LIMIT:
            self.attempts += 1
            self.report(self.token, f"error recovery attempt limit exceeded: {_RECOVERY_LIMIT}")
            raise Stop
        self.attempts += 1

    # --- ANTLR's error strategy -------------------------------------------------------------------
    def delete_one(self, local: Kinds) -> bool:
        """Skips the token when the one after it is what was wanted."""
        expected = self.expected(local)
        if self.kind(1) not in expected or self.kind() == EOF:
            return False
        self.begin(
            self.token, f"extraneous input {_token_text(self.token)} expecting {_listed(expected)}"
        )
        self.consume()
        self.recovering = False
        return True

    def sync(self, state: str, local: Kinds, loop_back: bool = False) -> None:
        """Before a decision: whether any alternative can take the token."""
        if self.recovering or EPSILON in local or self.kind() in local:
            return
        if loop_back:
            expected = self.expected(local)
            self.begin(
                self.token,
                f"extraneous input {_token_text(self.token)} expecting {_listed(expected)}",
            )
            self.skip_to(expected | self.recovery_set())
        elif not self.delete_one(local):
            raise Mismatch(state, local)

    def match(self, state: str, kind: str, after: Kinds = END) -> None:
        """Takes one token; ``after``: what may follow it in the rule."""
        if self.kind() == kind:
            self.recovering = False
            self.consume()
            return
        self.count_attempt()
        if self.delete_one(frozenset({kind})):
            self.consume()
        elif self.kind() in self.expected(after):
            self.begin(
                self.token, f"missing {_listed(frozenset({kind}))} at {_token_text(self.token)}"
            )
        else:
            raise Mismatch(state, frozenset({kind}))

    def recovery_set(self) -> Kinds:
        return frozenset().union(*self.follows) - {EPSILON}

    def skip_to(self, kinds: Kinds) -> None:
        skipped = 0
        while self.kind() != EOF and self.kind() not in kinds:
            self.skip_one(skipped)
            skipped += 1

    def skip_one(self, skipped: int) -> None:
        if skipped >= _SKIP_LIMIT:
            self.errors.append(
                CompileError(
                    NO_POSITION, f"error recovery token lookahead limit exceeded: {_SKIP_LIMIT}"
                )
            )
            raise Stop
        self.consume()

    def recover(self, state: str) -> None:
        self.count_attempt()
        if self.last_error == self.at and state in self.last_states:
            self.consume()
        if self.last_error != self.at:
            self.last_states = set()
        self.last_error = self.at
        self.last_states.add(state)
        self.skip_to(self.recovery_set())

    def rule(self, name: str, follow: Kinds, body: Callable[[], None]) -> None:
        """One rule: an error in it is reported, and the rule given up. ``follow``: what may come
        after it in the rule around."""
        self.follows.append(follow)
        depth = self.depths.get(name, 0)
        self.enter(name)
        try:
            body()
        except Mismatch as e:
            self.begin(
                self.token,
                f"mismatched input {_token_text(self.token)} expecting "
                f"{_listed(self.expected(e.expected))}",
            )
            self.recover(e.state)
        except NoViable as e:
            self.begin(e.offending, self.no_viable(e))
            self.recover(e.state)
        finally:
            self.follows.pop()
            self.depths[name] = depth

    def enter(self, name: str) -> None:
        """Counts one more of a rule on the way down."""
        self.depths[name] = self.depths.get(name, 0) + 1
        if self.depths[name] > _DEPTH_LIMIT:
            self.errors.append(
                CompileError(NO_POSITION, f"expression recursion limit exceeded: {_DEPTH_LIMIT}")
            )
            raise Stop

    def between(self, start: Token, end: Token) -> str:
        """The text of some tokens and the space between them, without what the lexer could not
        read."""
        if start.kind == EOF:
            return EOF
        out, at = "", start.pos
        for token in self.tokens[self.tokens.index(start) :]:
            out += "".join(_HIDDEN.findall(self.text[at : token.pos]))
            if token.kind != EOF:
                out += token.text
            at = token.pos + len(token.text)
            if token is end:
                break
        return out

    def no_viable(self, e: NoViable) -> str:
        text = self.between(e.start, e.offending)
        if text in (".true", ".false", ".null"):
            # cel-go's own wording for reserved words after a dot
            return f"mismatched input '{text[1:]}' expecting IDENTIFIER"
        return f"no viable alternative at input {_quoted(text)}"

    def none_fits(self, state: str, ahead: int = 0) -> Never:
        raise NoViable(state, self.token, self.tokens[min(self.at + ahead, len(self.tokens) - 1)])


def _quoted(text: str) -> str:
    return "'" + text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r") + "'"


def _token_text(token: Token) -> str:
    return _quoted(token.text)


def _listed(kinds: Kinds) -> str:
    names = [
        k if k == EOF or k.isupper() else f"'{k}'" for k in sorted(kinds, key=_ORDER.__getitem__)
    ]
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"
