"""Syntax errors in ANTLR's words."""

from __future__ import annotations

from apiserver.cel.errors import CompileError
from apiserver.cel.lexer import Token


def diagnose(text: str, tokens: list[Token], errors: list[CompileError]) -> list[CompileError]:
    return errors or [CompileError(0, "Syntax error")]
