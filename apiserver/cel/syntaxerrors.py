"""Syntax errors as ANTLR reports them for CEL's grammar: what is unexpected, what was expected, and how the parser goes on after it.

Clients read these texts, so a text that does not parse is walked a second time here, rule by rule as the generated parser does, with
ANTLR's default error strategy: delete one token, insert one token, or give the rule up and skip to what may follow. Nothing is built.
Sets hold token kinds; EPSILON in a set means that the rule may end there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Never

from apiserver.cel.errors import NO_POSITION, CompileError
from apiserver.cel.lexer import EOF, Token

EPSILON: Final = "<epsilon>"
_REPORT_LIMIT, _RECOVERY_LIMIT, _SKIP_LIMIT, _DEPTH_LIMIT = 100, 30, 512, 250

# in the order of the lexer's rules, which is the order in which expected tokens are listed
_LITERALS = "== != in < <= >= > && || [ ] { } ( ) . , - ! ? : + * / % true false null"
_SYMBOLS = "NUM_FLOAT NUM_INT NUM_UINT STRING BYTES IDENTIFIER ESC_IDENTIFIER"
_ORDER: Final = {kind: i for i, kind in enumerate(f"{EOF} {_LITERALS} {_SYMBOLS}".split())}
Kinds = frozenset[str]
_HIDDEN = re.compile(r"[\t \r\n\f]+|//[^\n]*")


def _set(*kinds: str) -> Kinds:
    return frozenset(kinds)


_NUMBERS = ("NUM_FLOAT", "NUM_INT", "NUM_UINT")
_MEMBER: Final = _set("[", "{", "(", ".", "-", "true", "false", "null", *_NUMBERS, "STRING", "BYTES", "IDENTIFIER")
_EXPR: Final = _MEMBER | {"!"}
_OPT_EXPR: Final = _EXPR | {"?"}
_NAME: Final = _set("IDENTIFIER", "ESC_IDENTIFIER")
_FIELD: Final = _NAME | {"?"}
_END: Final = _set(EPSILON)
_RELATION: Final = _set("<", "<=", ">=", ">", "==", "!=", "in")
_CALC: Final = {"*": 2, "/": 2, "%": 2, "+": 1, "-": 1}
_AFTER_CALC: Final = frozenset(_CALC) | _END
_AFTER_MEMBER: Final = _set(".", "[", EPSILON)
_COMMA_OR_END: Final = _set(",", EPSILON)


class _Mismatch(Exception):
    """Another token than this was expected."""

    def __init__(self, state: str, expected: Kinds) -> None:
        super().__init__(state)
        self.state = state
        self.expected = expected


class _NoViable(Exception):
    """No alternative starts with the tokens from ``start`` to ``offending``."""

    def __init__(self, state: str, start: Token, offending: Token) -> None:
        super().__init__(state)
        self.state = state
        self.start = start
        self.offending = offending


class _Stop(Exception):
    """Too many errors."""


def diagnose(text: str, tokens: list[Token], errors: list[CompileError]) -> list[CompileError]:
    """All syntax errors of a text; ``errors`` are those of the lexer."""
    walk = _Walk(text, tokens)
    with suppress(_Stop):
        walk.rule("start", _END, walk.start)
    return [*errors, *walk.errors]


class _Walk:
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

    # --- tokens ------------------------------------------------------------------------------------------------------------------
    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def kind(self, ahead: int = 0) -> str:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)].kind

    def consume(self) -> None:
        if self.at < len(self.tokens) - 1:
            self.at += 1

    # --- reports -----------------------------------------------------------------------------------------------------------------
    def report(self, token: Token, message: str) -> None:
        if len(self.errors) >= _REPORT_LIMIT:
            self.errors.append(CompileError(token.pos, f"Syntax error: More than {_REPORT_LIMIT} syntax errors"))
            raise _Stop
        self.errors.append(CompileError(token.pos, f"Syntax error: {message}"))

    def begin(self, token: Token, message: str) -> None:
        """Reports the first error of a stretch that is being recovered from."""
        if not self.recovering:
            self.recovering = True
            self.report(token, message)

    def expected(self, local: Kinds) -> Kinds:
        """What may stand here, the rules around included."""
        found = set(local)
        for follow in reversed(self.follows):
            if EPSILON not in found:
                break
            found.discard(EPSILON)
            found |= follow
        if EPSILON in found:
            found.discard(EPSILON)
            found.add(EOF)
        return frozenset(found)

    def count_attempt(self) -> None:
        if self.attempts == _RECOVERY_LIMIT:
            self.attempts += 1
            self.report(self.token, f"error recovery attempt limit exceeded: {_RECOVERY_LIMIT}")
            raise _Stop
        self.attempts += 1

    # --- ANTLR's error strategy --------------------------------------------------------------------------------------------------
    def delete_one(self, local: Kinds) -> bool:
        """Skips the token when the one after it is what was wanted."""
        expected = self.expected(local)
        if self.kind(1) not in expected or self.kind() == EOF:
            return False
        self.begin(self.token, f"extraneous input {_shown(self.token)} expecting {_listed(expected)}")
        self.consume()
        self.recovering = False
        return True

    def sync(self, state: str, local: Kinds, loop_back: bool = False) -> None:
        """Before a decision: whether any alternative can take the token."""
        if self.recovering or EPSILON in local or self.kind() in local:
            return
        if loop_back:
            expected = self.expected(local)
            self.begin(self.token, f"extraneous input {_shown(self.token)} expecting {_listed(expected)}")
            self.skip_to(expected | self.recovery_set())
        elif not self.delete_one(local):
            raise _Mismatch(state, local)

    def match(self, state: str, kind: str, after: Kinds = _END) -> None:
        """Takes one token; ``after``: what may follow it in the rule."""
        if self.kind() == kind:
            self.recovering = False
            self.consume()
            return
        self.count_attempt()
        if self.delete_one(_set(kind)):
            self.consume()
        elif self.kind() in self.expected(after):
            self.begin(self.token, f"missing {_listed(_set(kind))} at {_shown(self.token)}")
        else:
            raise _Mismatch(state, _set(kind))

    def recovery_set(self) -> Kinds:
        return frozenset().union(*self.follows) - {EPSILON}

    def skip_to(self, kinds: Kinds) -> None:
        skipped = 0
        while self.kind() != EOF and self.kind() not in kinds:
            self.skip_one(skipped)
            skipped += 1

    def skip_one(self, skipped: int) -> None:
        if skipped >= _SKIP_LIMIT:
            self.errors.append(CompileError(NO_POSITION, f"error recovery token lookahead limit exceeded: {_SKIP_LIMIT}"))
            raise _Stop
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
        """One rule: an error in it is reported, and the rule given up. ``follow``: what may come after it in the rule around."""
        self.follows.append(follow)
        depth = self.depths.get(name, 0)
        self.enter(name)
        try:
            body()
        except _Mismatch as e:
            self.begin(self.token, f"mismatched input {_shown(self.token)} expecting {_listed(self.expected(e.expected))}")
            self.recover(e.state)
        except _NoViable as e:
            self.begin(e.offending, self.no_viable(e))
            self.recover(e.state)
        finally:
            self.follows.pop()
            self.depths[name] = depth

    def enter(self, name: str) -> None:
        """Counts one more of a rule on the way down; each turn of a left-recursive rule's loop is one."""
        self.depths[name] = self.depths.get(name, 0) + 1
        if self.depths[name] > _DEPTH_LIMIT:
            self.errors.append(CompileError(NO_POSITION, f"expression recursion limit exceeded: {_DEPTH_LIMIT}"))
            raise _Stop

    def between(self, start: Token, end: Token) -> str:
        """The text of some tokens and the space between them, without what the lexer could not read."""
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

    def no_viable(self, e: _NoViable) -> str:
        text = self.between(e.start, e.offending)
        if text in (".true", ".false", ".null"):
            # cel-go's own wording for reserved words after a dot
            return f"mismatched input '{text[1:]}' expecting IDENTIFIER"
        return f"no viable alternative at input {_quoted(text)}"

    def none_fits(self, state: str, ahead: int = 0) -> Never:
        raise _NoViable(state, self.token, self.tokens[min(self.at + ahead, len(self.tokens) - 1)])

    # --- rules of the grammar ----------------------------------------------------------------------------------------------------
    def start(self) -> None:
        self.expr(_set(EOF))
        self.match("start", EOF)

    def expr(self, follow: Kinds) -> None:
        self.rule("expr", follow, self._expr)

    def _expr(self) -> None:
        self.rule("or", _set("?", EPSILON), self._or)
        if self.kind() == "?":
            self.match("expr.?", "?", _EXPR)
            self.rule("or", _set(":"), self._or)
            self.match("expr.:", ":", _EXPR)
            self.expr(_END)

    def _or(self) -> None:
        self.rule("and", _set("||", EPSILON), self._and)
        while self.kind() == "||":
            self.match("or", "||", _EXPR)
            self.rule("and", _set("||", EPSILON), self._and)

    def _and(self) -> None:
        follow = _set("&&", EPSILON)
        self.rule("relation", follow, lambda: self._relation(0))
        while self.kind() == "&&":
            self.match("and", "&&", _EXPR)
            self.rule("relation", follow, lambda: self._relation(0))

    def _relation(self, minimum: int) -> None:
        self.rule("calc", _RELATION | _END, lambda: self._calc(0))
        while self.kind() in _RELATION and minimum <= 1:
            self.enter("relation")
            self.match("relation", self.kind(), _EXPR)
            self.rule("relation", _RELATION | _END, lambda: self._relation(2))

    def _calc(self, minimum: int) -> None:
        self.rule("unary", _AFTER_CALC, self._unary)
        while _CALC.get(self.kind(), -1) >= max(minimum, 1):
            precedence = _CALC[self.kind()]
            self.enter("calc")
            self.match("calc", self.kind(), _EXPR)
            self.rule("calc", _AFTER_CALC, lambda p=precedence: self._calc(p + 1))  # type: ignore[misc]  # a bound default

    def _unary(self) -> None:
        self.sync("unary", _EXPR)
        kind = self.kind()
        if kind == "!":
            while self.kind() == "!":
                self.match("unary.!", "!", _EXPR)
                self.sync("unary.!", _EXPR, loop_back=True)
        elif kind == "-" and self.kind(1) not in ("NUM_INT", "NUM_FLOAT"):
            if self.kind(1) not in _MEMBER:
                self.none_fits("unary", 1)
            self.match("unary.-", "-", _MEMBER)
            while self.kind() == "-":
                if self.kind(1) not in _MEMBER:
                    self.none_fits("unary.-", 1)
                self.match("unary.-", "-", _MEMBER)
        elif kind not in _MEMBER:
            self.none_fits("unary")
        self.rule("member", _END, self._member)

    def _member(self) -> None:
        self.rule("primary", _AFTER_MEMBER, self._primary)
        while self.kind() in (".", "["):
            self.enter("member")
            if self.kind() == "[":
                self.match("member.[", "[", _OPT_EXPR)
                self.optional("member.[", _EXPR)
                self.expr(_set("]"))
                self.match("member.]", "]", _AFTER_MEMBER)
            else:
                self.selection()

    def selection(self) -> None:
        if self.kind(1) == "IDENTIFIER" and self.kind(2) == "(":
            self.match("member.call", ".")
            self.match("member.call", "IDENTIFIER")
            self.arguments("member.call", _AFTER_MEMBER)
            return
        if self.kind(1) not in _FIELD:
            self.none_fits("member.dot", 1)
        self.match("member.dot", ".", _FIELD)
        self.optional("member.dot", _NAME)
        self.rule("name", _AFTER_MEMBER, self._name)

    def optional(self, state: str, after: Kinds) -> None:
        """``'?'?`` before what must come."""
        self.sync(state + "?", after | {"?"})
        if self.kind() == "?":
            self.match(state + "?", "?", after)

    def arguments(self, state: str, after: Kinds) -> None:
        self.match(state + "(", "(", _EXPR | {")"})
        self.sync(state + ".args", _EXPR | {")"})
        if self.kind() in _EXPR:
            self.rule("exprList", _set(")"), self._expr_list)
        self.match(state + ")", ")", after)

    def _expr_list(self) -> None:
        self.expr(_COMMA_OR_END)
        while self.kind() == ",":
            self.match("exprList", ",", _EXPR)
            self.expr(_COMMA_OR_END)

    def _name(self) -> None:
        self.sync("name", _NAME)
        if self.kind() not in _NAME:
            self.none_fits("name")
        self.match("name", self.kind())

    def _primary(self) -> None:
        self.sync("primary", _MEMBER)
        kind = self.kind()
        if kind == "." or kind == "IDENTIFIER":
            self.named()
        elif kind == "(":
            self.match("primary.(", "(", _EXPR)
            self.expr(_set(")"))
            self.match("primary.)", ")")
        elif kind == "[":
            self.match("primary.[", "[", _OPT_EXPR | {",", "]"})
            self.elements("]", _OPT_EXPR, "listInit", self._list_init)
        elif kind == "{":
            self.match("primary.{", "{", _OPT_EXPR | {",", "}"})
            self.elements("}", _OPT_EXPR, "mapInit", self._map_init)
        elif kind in _MEMBER:
            self.rule("literal", _END, self._literal)
        else:
            self.none_fits("primary")

    def named(self) -> None:
        """A name, a call or a message."""
        at = 1 if self.kind() == "." else 0
        if self.kind(at) != "IDENTIFIER":
            self.none_fits("primary", at)
        dots = at + 1
        while self.kind(dots) == "." and self.kind(dots + 1) == "IDENTIFIER":
            dots += 2
        if self.kind(dots) == "{":
            while self.kind() != "{":
                self.match("primary.message", self.kind())
            self.match("primary.message", "{", _FIELD | {",", "}"})
            self.elements("}", _FIELD, "fieldInit", self._field_init)
            return
        while at >= 0:
            self.match("primary.name", self.kind())
            at -= 1
        if self.kind() == "(":
            self.arguments("primary.call", _END)

    def elements(self, close: str, first: Kinds, name: str, body: Callable[[], None]) -> None:
        """``list? ','? close``"""
        self.sync(f"primary.{name}", first | {",", close})
        if self.kind() in first:
            self.rule(name, _set(",", close), body)
        self.sync(f"primary.{name}.comma", _set(",", close))
        if self.kind() == ",":
            self.match(f"primary.{name}.comma", ",", _set(close))
        self.match(f"primary.{name}.close", close)

    def more(self, first: Kinds) -> bool:
        """Whether a comma leads to another element, and not to the end."""
        return self.kind() == "," and self.kind(1) in first

    def _list_init(self) -> None:
        self.rule("optExpr", _COMMA_OR_END, self._opt_expr)
        while self.more(_OPT_EXPR):
            self.match("listInit", ",", _OPT_EXPR)
            self.rule("optExpr", _COMMA_OR_END, self._opt_expr)

    def _opt_expr(self) -> None:
        self.optional("optExpr", _EXPR)
        self.expr(_END)

    def _map_init(self) -> None:
        self._map_entry()
        while self.more(_OPT_EXPR):
            self.match("mapInit", ",", _OPT_EXPR)
            self._map_entry()

    def _map_entry(self) -> None:
        self.rule("optExpr", _set(":"), self._opt_expr)
        self.match("mapInit.:", ":", _EXPR)
        self.expr(_COMMA_OR_END)

    def _field_init(self) -> None:
        self._field_entry()
        while self.more(_FIELD):
            self.match("fieldInit", ",", _FIELD)
            self._field_entry()

    def _field_entry(self) -> None:
        self.rule("optField", _set(":"), self._opt_field)
        self.match("fieldInit.:", ":", _EXPR)
        self.expr(_COMMA_OR_END)

    def _opt_field(self) -> None:
        self.optional("optField", _NAME)
        self.rule("name", _END, self._name)

    def _literal(self) -> None:
        if self.kind() == "-":
            if self.kind(1) not in ("NUM_INT", "NUM_FLOAT"):
                self.none_fits("literal", 1)
            self.match("literal", "-")
        self.match("literal", self.kind())


def _quoted(text: str) -> str:
    return "'" + text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r") + "'"


def _shown(token: Token) -> str:
    return _quoted(token.text)


def _listed(kinds: Kinds) -> str:
    names = [k if k == EOF or k.isupper() else f"'{k}'" for k in sorted(kinds, key=_ORDER.__getitem__)]
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"
