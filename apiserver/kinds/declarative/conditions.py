"""alpha, beta, ifEnabled, ifDisabled: when another rule counts; validateTrue, validateFalse,
validateError: rules with a known result."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from apiserver.fielderrors import FieldError, FieldPath, invalid
from apiserver.kinds.declarative.rules import (
    ALPHA,
    BETA,
    Check,
    DeclarationError,
    Finding,
    Rule,
    Run,
    Site,
    finding,
    leaf,
    tag,
)

_RELEASE = re.compile(r"1\.\d+")


@tag("alpha", "beta")
def alpha(rule: Rule, *, since: str = "") -> Rule:
    """``rule`` runs in the shadow of a hand-written one and is compared with it. ``since``: a
    Kubernetes release, for readers."""
    return _level(ALPHA, rule, since)


@tag("beta", "beta")
def beta(rule: Rule, *, since: str = "") -> Rule:
    """``rule`` takes the place of a hand-written one, unless the gate DeclarativeValidationBeta is
    off."""
    return _level(BETA, rule, since)


def _level(level: str, rule: Rule, since: str) -> Rule:
    if since and not _RELEASE.fullmatch(since):
        raise DeclarationError(f"{level}: since: expected 1.<minor version>, got {since}")
    return Rule(level, lambda site: rule.build(replace(site, level=level)), since, rule)


@tag("ifEnabled", "beta")
def if_enabled(option: str, rule: Rule) -> Rule:
    """``rule`` counts where the option (a feature gate) is on."""
    return _option("ifEnabled", option, rule, enabled=True)


@tag("ifDisabled", "beta")
def if_disabled(option: str, rule: Rule) -> Rule:
    return _option("ifDisabled", option, rule, enabled=False)


def _option(name: str, option: str, rule: Rule, *, enabled: bool) -> Rule:
    return Rule(
        name,
        lambda site: [_conditional(check, option, enabled) for check in rule.build(site)],
        option,
        rule,
    )


def _conditional(check: Check, option: str, enabled: bool) -> Check:
    def call(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[Finding]:
        if (option in run.options) == enabled:
            yield from check.call(run, path, value, old)

    return replace(check, call=call, cohort="")


@tag("validateTrue", "alpha")
def validate_true(text: str = "") -> Rule:
    """Never finds anything: for tests."""
    return leaf("validateTrue", lambda run, path, value, old: (), argument=text)


@tag("validateTrueAlpha", "alpha")
def validate_true_alpha(text: str = "") -> Rule:
    """validate_true() as a tag that is alpha itself."""
    return replace(validate_true(text), tag="validateTrueAlpha")


@tag("validateTrueBeta", "beta")
def validate_true_beta(text: str = "") -> Rule:
    """validate_true() as a tag that is beta itself."""
    return replace(validate_true(text), tag="validateTrueBeta")


@tag("validateFalse", "alpha")
def validate_false(
    text: str = "", *, short: bool = False, silent: bool = False, cohort: str = ""
) -> Rule:
    """Always finds something: for tests. short, silent, cohort: of its Check."""

    def check(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[FieldError]:
        yield invalid(path, value, f"forced failure: {text}")

    def build(site: Site) -> list[Check]:
        return [
            replace(
                finding(check, "validateFalse", site.level, short=short, silent=silent),
                cohort=cohort,
            )
        ]

    return Rule("validateFalse", build, text)


@tag("validateError", "alpha")
def validate_error(text: str = "") -> Rule:
    """Cannot be compiled: for tests."""

    def build(site: Site) -> list[Check]:
        raise DeclarationError(f"forced error: {text}")

    return Rule("validateError", build, text)
