"""Syntax errors as ANTLR reports them for CEL's grammar (cel-go ``parser/gen/CEL.g4``).

Clients read these texts, so a text that does not parse is walked a second time here, rule by rule
as the generated parser does, with ANTLR's error strategy (`antlr`). Nothing is built. What follows
an invocation of a rule is written beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from apiserver.cel.errors import CompileError
from apiserver.cel.syntax.antlr import END, EPSILON, Kinds, Recovery, Stop
from apiserver.cel.syntax.lexer import EOF, Token


def _set(*kinds: str) -> Kinds:
    return frozenset(kinds)


_NUMBERS = ("NUM_FLOAT", "NUM_INT", "NUM_UINT")
_MEMBER: Final = _set(
    "[", "{", "(", ".", "-", "true", "false", "null", *_NUMBERS, "STRING", "BYTES", "IDENTIFIER"
)
_EXPR: Final = _MEMBER | {"!"}
_OPT_EXPR: Final = _EXPR | {"?"}
_NAME: Final = _set("IDENTIFIER", "ESC_IDENTIFIER")
_FIELD: Final = _NAME | {"?"}
_RELATION: Final = _set("<", "<=", ">=", ">", "==", "!=", "in")
CALC: Final = {"*": 2, "/": 2, "%": 2, "+": 1, "-": 1}
"""How close they bind."""
_AFTER_CALC: Final = frozenset(CALC) | END
_AFTER_MEMBER: Final = _set(".", "[", EPSILON)
_COMMA_OREND: Final = _set(",", EPSILON)


def diagnose(text: str, tokens: list[Token], errors: list[CompileError]) -> list[CompileError]:
    """All syntax errors of a text; ``errors`` are those of the lexer."""
    walk = _Walk(text, tokens)
    with suppress(Stop):
        walk.rule("start", END, walk.start)
    return [*errors, *walk.errors]


class _Walk(Recovery):
    # --- rules of the grammar ---------------------------------------------------------------------
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
            self.expr(END)

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
        self.rule("calc", _RELATION | END, lambda: self._calc(0))
        while self.kind() in _RELATION and minimum <= 1:
            self.match("relation", self.kind(), _EXPR)
            self.rule("relation", _RELATION | END, lambda: self._relation(2))

    def _calc(self, minimum: int) -> None:
        self.rule("unary", _AFTER_CALC, self._unary)
        while CALC.get(self.kind(), -1) >= max(minimum, 1):
            precedence = CALC[self.kind()]
            self.match("calc", self.kind(), _EXPR)
            # a bound default
            self.rule("calc", _AFTER_CALC, lambda p=precedence: self._calc(p + 1))  # type: ignore[misc]

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
        self.rule("member", END, self._member)

    def _member(self) -> None:
        self.rule("primary", _AFTER_MEMBER, self._primary)
        while self.kind() in (".", "["):
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
        self.expr(_COMMA_OREND)
        while self.kind() == ",":
            self.match("exprList", ",", _EXPR)
            self.expr(_COMMA_OREND)

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
            self.rule("literal", END, self._literal)
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
            self.arguments("primary.call", END)

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
        self.rule("optExpr", _COMMA_OREND, self._opt_expr)
        while self.more(_OPT_EXPR):
            self.match("listInit", ",", _OPT_EXPR)
            self.rule("optExpr", _COMMA_OREND, self._opt_expr)

    def _opt_expr(self) -> None:
        self.optional("optExpr", _EXPR)
        self.expr(END)

    def _map_init(self) -> None:
        self._map_entry()
        while self.more(_OPT_EXPR):
            self.match("mapInit", ",", _OPT_EXPR)
            self._map_entry()

    def _map_entry(self) -> None:
        self.rule("optExpr", _set(":"), self._opt_expr)
        self.match("mapInit.:", ":", _EXPR)
        self.expr(_COMMA_OREND)

    def _field_init(self) -> None:
        self._field_entry()
        while self.more(_FIELD):
            self.match("fieldInit", ",", _FIELD)
            self._field_entry()

    def _field_entry(self) -> None:
        self.rule("optField", _set(":"), self._opt_field)
        self.match("fieldInit.:", ":", _EXPR)
        self.expr(_COMMA_OREND)

    def _opt_field(self) -> None:
        self.optional("optField", _NAME)
        self.rule("name", END, self._name)

    def _literal(self) -> None:
        if self.kind() == "-":
            if self.kind(1) not in ("NUM_INT", "NUM_FLOAT"):
                self.none_fits("literal", 1)
            self.match("literal", "-")
        self.match("literal", self.kind())
