"""Source text to syntax tree: recursive descent with precedence climbing, macros expanded on the
way (cel-go ``parser/parser.go``).

The depth limits are upstream's: 250 nested grammar rules of one kind, 250 nested operations,
100,000 code points. A text that does not parse is read a second time by `syntaxerrors.diagnose`,
which words and places the errors as ANTLR does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from apiserver.cel.errors import NO_POSITION, CompileError
from apiserver.cel.syntax.ast import (
    Call,
    Entry,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
)
from apiserver.cel.syntax.lexer import EOF, Token, tokenize
from apiserver.cel.syntax.literals import VALUES
from apiserver.cel.syntax.macros import Expander, MacroError, MacroKey
from apiserver.cel.syntax.syntaxerrors import CALC, diagnose
from apiserver.effort import spend

MAX_DEPTH: Final = 250
MAX_CODE_POINTS: Final = 100_000
_MEMBER_STEPS: Final = 100

_RELATIONS: Final = frozenset({"<", "<=", ">=", ">", "==", "!=", "in"})
_FUNCTIONS: Final = {
    "<": "_<_",
    "<=": "_<=_",
    ">": "_>_",
    ">=": "_>=_",
    "==": "_==_",
    "!=": "_!=_",
    "in": "@in",
    "+": "_+_",
    "-": "_-_",
    "*": "_*_",
    "/": "_/_",
    "%": "_%_",
}
_RESERVED_WORDS: Final = (
    "as break const continue else false for function if import in let loop package namespace null "
    "return true var void while"
)
RESERVED: Final = frozenset(_RESERVED_WORDS.split())


class _SyntaxError(Exception):
    """The text is not CEL; `diagnose` says why."""


class _TooDeep(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def parse(
    text: str, macros: Mapping[MacroKey, Expander], quoted_fields: bool = False
) -> tuple[Expr | None, list[CompileError]]:
    """The tree, or None and the errors. quoted_fields: whether fields may be written in backquotes
    (Kubernetes leaves that off)."""
    if len(text) > MAX_CODE_POINTS:
        message = (
            f"expression code point size exceeds limit: size: {len(text)}, limit {MAX_CODE_POINTS}"
        )
        return None, [CompileError(NO_POSITION, message)]
    tokens, errors = tokenize(text)
    parser = _Parser(tokens, macros, quoted_fields)
    try:
        tree = parser.start()
    except _SyntaxError:
        try:
            return None, diagnose(text, tokens, errors)
        except RecursionError:  # the second reading takes more frames for each level than the first
            return None, [
                *errors,
                CompileError(NO_POSITION, f"expression recursion limit exceeded: {MAX_DEPTH}"),
            ]
    except _TooDeep as e:
        return None, [*errors, CompileError(NO_POSITION, e.message)]
    errors += parser.errors
    return (None, errors) if errors else (tree, errors)


def _counted(e: Expr) -> Expr:
    """Counts one level of the operations that upstream's visitor limits."""
    e.depth += 1
    if e.depth > MAX_DEPTH:
        raise _TooDeep("max recursion depth exceeded")
    return e


class _Parser:
    def __init__(
        self, tokens: list[Token], macros: Mapping[MacroKey, Expander], quoted_fields: bool
    ) -> None:
        self.tokens = tokens
        self.at = 0
        self.kind = tokens[0].kind
        self.macros = macros
        self.quoted_fields = quoted_fields
        self.errors: list[CompileError] = []
        self.rules = {"expr": 0, "relation": 0, "calc": 0, "member": 0}

    # --- tokens -----------------------------------------------------------------------------------
    def next(self) -> Token:
        token = self.tokens[self.at]
        self.at += 1
        self.kind = self.tokens[self.at].kind if token.kind != EOF else EOF
        return token

    def expect(self, kind: str) -> Token:
        if self.kind != kind:
            raise _SyntaxError
        return self.next()

    def accept(self, kind: str) -> Token | None:
        return self.next() if self.kind == kind else None

    def enter(self, rule: str) -> None:
        self.rules[rule] += 1
        if self.rules[rule] > MAX_DEPTH:
            raise _TooDeep(f"expression recursion limit exceeded: {MAX_DEPTH}")

    def error(self, pos: int, message: str) -> Expr:
        self.errors.append(CompileError(pos, message))
        return Literal(pos, None)

    # --- rules of the grammar ---------------------------------------------------------------------
    def start(self) -> Expr:
        e = self.expr()
        if self.kind != EOF:
            raise _SyntaxError
        return e

    def expr(self) -> Expr:
        self.enter("expr")
        e = self.logical("||", "_||_")
        op = self.accept("?")
        if op is not None:
            yes = self.logical("||", "_||_")
            self.expect(":")
            no = self.expr()
            e = _counted(self.call(op.pos, "_?_:_", None, [e, yes, no]))
        self.rules["expr"] -= 1
        return e

    def logical(self, op: str, function: str) -> Expr:
        e = self.logical("&&", "_&&_") if op == "||" else self.relation(0)
        if self.kind != op:
            return e
        terms, pos = [e], self.tokens[self.at].pos
        while self.accept(op) is not None:
            terms.append(self.logical("&&", "_&&_") if op == "||" else self.relation(0))
        return Call(pos, function, terms)

    def relation(self, minimum: int) -> Expr:
        self.enter("relation")
        e = self.calc(0)
        while self.kind in _RELATIONS and minimum <= 1:
            op = self.next()
            e = _counted(self.call(op.pos, _FUNCTIONS[op.text], None, [e, self.relation(2)]))
        self.rules["relation"] -= 1
        return e

    def calc(self, minimum: int) -> Expr:
        self.enter("calc")
        e = self.unary()
        while CALC.get(self.kind, -1) >= minimum and self.kind in CALC:
            op = self.next()
            e = _counted(
                self.call(op.pos, _FUNCTIONS[op.text], None, [e, self.calc(CALC[op.text] + 1)])
            )
        self.rules["calc"] -= 1
        return e

    def unary(self) -> Expr:
        op = self.kind
        if op == "!" or (
            op == "-" and self.tokens[self.at + 1].kind not in ("NUM_INT", "NUM_FLOAT")
        ):
            pos, count = self.tokens[self.at].pos, 0
            while self.accept(op) is not None:
                count += 1
            e = self.member()
            return e if count % 2 == 0 else self.call(pos, "!_" if op == "!" else "-_", None, [e])
        return self.member()

    def member(self) -> Expr:
        self.enter("member")
        spend(_MEMBER_STEPS)
        e = self.primary()
        while True:
            if self.kind == ".":
                e = self.selection(e)
            elif self.kind == "[":
                op = self.next()
                function = "_[?_]" if self.accept("?") is not None else "_[_]"
                index = self.expr()
                self.expect("]")
                e = self.call(op.pos, function, None, [e, index])
            else:
                break
            _counted(e)
        self.rules["member"] -= 1
        return e

    def selection(self, operand: Expr) -> Expr:
        op = self.next()
        optional = self.accept("?") is not None
        if self.kind == "ESC_IDENTIFIER":
            name = self.next()
            field = self.quoted(name)
        else:
            name = self.expect("IDENTIFIER")
            field = name.text
            if self.kind == "(" and not optional:
                paren = self.next()
                return self.call(paren.pos, field, operand, self.arguments(")"))
        if optional:
            return Call(op.pos, "_?._", [operand, Literal(name.pos, field)])
        return Select(op.pos, operand, field)

    def quoted(self, name: Token) -> str:
        if not self.quoted_fields:
            self.error(name.pos, "unsupported syntax: '`'")
        return name.text[1:-1]

    def arguments(self, close: str) -> list[Expr]:
        args: list[Expr] = []
        if self.accept(close) is not None:
            return args
        while True:
            args.append(self.expr())
            if self.accept(",") is None:
                self.expect(close)
                return args

    def primary(self) -> Expr:
        kind = self.kind
        if kind == "IDENTIFIER" or kind == ".":
            return self.name()
        if kind == "(":
            self.next()
            e = self.expr()
            self.expect(")")
            return e
        if kind == "[":
            return self.list_expr()
        if kind == "{":
            return self.map_expr()
        return self.literal()

    def name(self) -> Expr:
        first = self.tokens[self.at]
        if self.is_message():
            return self.message()
        dot = self.accept(".")
        name = self.expect("IDENTIFIER")
        paren = self.accept("(")
        args = self.arguments(")") if paren is not None else []
        if name.text in RESERVED:
            return self.error(first.pos, f"reserved identifier: {name.text}")
        full = "." + name.text if dot is not None else name.text
        if paren is not None:
            return self.call(paren.pos, full, None, args)
        return Ident(name.pos, full)

    def is_message(self) -> bool:
        """Whether ``.? IDENTIFIER (. IDENTIFIER)* {`` lies ahead."""
        at = self.at + (self.kind == ".")
        tokens = self.tokens
        while tokens[at].kind == "IDENTIFIER":
            following = tokens[at + 1].kind
            if following == "{":
                return True
            if following != ".":
                return False
            at += 2
        return False

    def message(self) -> Expr:
        name = "." if self.accept(".") is not None else ""
        name += self.expect("IDENTIFIER").text
        while self.accept(".") is not None:
            name += "." + self.expect("IDENTIFIER").text
        brace = self.expect("{")
        fields: list[Entry] = []
        while self.kind not in ("}", ","):
            optional = self.accept("?") is not None
            field = (
                self.quoted(self.next())
                if self.kind == "ESC_IDENTIFIER"
                else self.expect("IDENTIFIER").text
            )
            colon = self.expect(":")
            fields.append(Entry(colon.pos, field, self.expr(), optional))
            if not self.separator("}"):
                break
        self.close("}")
        return StructExpr(brace.pos, name, fields)

    def list_expr(self) -> Expr:
        pos = self.next().pos
        elements: list[Expr] = []
        optionals: set[int] = set()
        while self.kind not in ("]", ","):
            if self.accept("?") is not None:
                optionals.add(len(elements))
            elements.append(self.expr())
            if not self.separator("]"):
                break
        self.close("]")
        return ListExpr(pos, elements, frozenset(optionals))

    def map_expr(self) -> Expr:
        pos = self.next().pos
        entries: list[Entry] = []
        while self.kind not in ("}", ","):
            optional = self.accept("?") is not None
            key = self.expr()
            colon = self.expect(":")
            entries.append(Entry(colon.pos, key, self.expr(), optional))
            if not self.separator("}"):
                break
        self.close("}")
        return MapExpr(pos, entries)

    def separator(self, close: str) -> bool:
        """Whether another element follows; a trailing comma is left to `close`."""
        if self.kind == "," and self.tokens[self.at + 1].kind != close:
            self.next()
            return True
        return False

    def close(self, kind: str) -> None:
        self.accept(",")
        self.expect(kind)

    def literal(self) -> Expr:
        pos = self.tokens[self.at].pos
        sign = "-" if self.accept("-") is not None else ""
        if sign and self.kind not in ("NUM_INT", "NUM_FLOAT"):
            raise _SyntaxError
        token = self.next()
        value_of = VALUES.get(token.kind)
        if value_of is None:
            raise _SyntaxError
        try:
            return Literal(pos, value_of(sign + token.text))
        except ValueError as e:
            return self.error(pos, str(e))

    # --- macros -----------------------------------------------------------------------------------
    def call(self, pos: int, function: str, target: Expr | None, args: list[Expr]) -> Expr:
        macro = self.macros.get((function, len(args), target is not None))
        if macro is not None:
            try:
                expanded = macro(pos, target, args)
            except MacroError as e:
                return self.error(e.pos, e.message)
            if expanded is not None:
                return expanded
        return Call(pos, function, args, target)
