"""Policies compiled. Equal policies share one compiled form, whoever wrote them.

An expression is compiled when it is first needed, because a policy may hold megabytes of them. The
process keeps the compiled forms of the policies that were last used: up to `KEPT` code points of
sources, or one policy that is larger. What nobody has used for `IDLE` seconds is dropped when the
next policy is asked for, or a tenant goes out of use.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Final

import orjson

from admission.expressions import Lazy, Named
from apiserver.cel.env import Env
from apiserver.cel.kubernetes.patchtypes import JSON_PATCH_TYPE, OBJECT_TYPE
from apiserver.cel.kubernetes.policies import (
    Variables,
    policy_env,
)
from apiserver.cel.types import BOOL, NULL, STRING, Type, list_type
from apiserver.meta.objects import Object

KEPT: Final = 1_000_000
"""Code points of all policies whose compiled form is kept; a program takes up to 270 bytes for
each."""
LARGEST: Final = 200_000
"""Of one policy whose programs are kept together; of larger ones each is compiled anew when it is
needed."""
IDLE: Final = 300.0

_CONDITION, _MESSAGE, _ANNOTATION = (BOOL,), (STRING,), (STRING, NULL)
_PATCHES: Final = {
    "ApplyConfiguration": ("applyConfiguration", (OBJECT_TYPE,)),
    "JSONPatch": ("jsonPatch", (list_type(JSON_PATCH_TYPE),)),
}


@dataclass(frozen=True, slots=True)
class Validation:
    expression: Lazy
    message_expression: Lazy | None
    message: str
    reason: str


@dataclass(frozen=True, slots=True)
class Mutation:
    """merges: whether it is an ApplyConfiguration, else a JSONPatch."""

    expression: Lazy
    merges: bool


class Compiled:
    """One policy of either kind. What it lacks is empty. speaks: whether there is more to evaluate
    when all validations hold: audit annotations, and expressions of messages, which are evaluated
    for every request and fail some (`admission.policy.validating`)."""

    def __init__(self, spec: Object) -> None:
        self.size = sum(map(len, _sources(spec)))
        self.used = time.monotonic()
        self._definitions = [
            (v.get("name", ""), v.get("expression", "")) for v in spec.get("variables") or ()
        ]
        self._params = spec.get("paramKind") is not None
        self._mutating = "mutations" in spec
        # no cached_property: Python 3.11 lets one object at a time compute it, of all of the class
        self._variables: Variables | None = None
        self._envs: dict[bool, Env] = {}
        self.conditions = [
            Named(c.get("name", ""), self._lazy(c.get("expression", ""), _CONDITION))
            for c in spec.get("matchConditions") or ()
        ]
        self.validations = [self._validation(v) for v in spec.get("validations") or ()]
        self.annotations = [
            Named(a.get("key", ""), self._lazy(a.get("valueExpression", ""), _ANNOTATION))
            for a in spec.get("auditAnnotations") or ()
        ]
        self.speaks = bool(self.annotations) or any(v.message_expression for v in self.validations)
        self.mutations = [self._mutation(m) for m in spec.get("mutations") or ()]

    @property
    def variables(self) -> Variables:
        """Two threads may compile them at the same time; one result stays."""
        if self._variables is None:
            variables = Variables()
            base = policy_env(self._params, True, self._mutating)
            for name, source in self._definitions:
                variables.add(base, name, source)
            self._variables = variables
        return self._variables

    def _lazy(self, source: str, results: tuple[Type, ...], *, authorizer: bool = True) -> Lazy:
        def env() -> Env:
            # expressions are kept by the identity of their environment
            if authorizer not in self._envs:
                base = policy_env(self._params, authorizer, self._mutating)
                self._envs.setdefault(authorizer, self.variables.env(base))
            return self._envs[authorizer]

        return Lazy(source, env, results, self.size <= LARGEST)

    def _validation(self, validation: Object) -> Validation:
        message = validation.get("messageExpression", "")
        return Validation(
            self._lazy(validation.get("expression", ""), _CONDITION),
            self._lazy(message, _MESSAGE, authorizer=False) if message else None,
            validation.get("message", ""),
            validation.get("reason") or "Invalid",
        )

    def _mutation(self, mutation: Object) -> Mutation:
        member, results = _PATCHES[mutation["patchType"]]
        source = (mutation.get(member) or {}).get("expression", "")
        return Mutation(self._lazy(source, results), member == "applyConfiguration")


def _sources(spec: Object) -> Iterator[str]:
    for member in ("variables", "matchConditions", "validations"):
        for item in spec.get(member) or ():
            yield item.get("expression", "")
            yield item.get("messageExpression", "")
    for annotation in spec.get("auditAnnotations") or ():
        yield annotation.get("valueExpression", "")
    for mutation in spec.get("mutations") or ():
        for member, _ in _PATCHES.values():
            yield (mutation.get(member) or {}).get("expression", "")


def digest_of(spec: Object) -> bytes:
    """A hash of the spec, by which its compiled form is found; members may come in any order."""
    text = orjson.dumps(spec, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(text, digest_size=20).digest()


class Library:
    """The compiled policies of a process, by `digest_of` their specs. Used by several threads, each
    of which may be ended at any place."""

    def __init__(self, kept: int = KEPT, idle: float = IDLE) -> None:
        self._kept, self._idle = kept, idle
        self._compiled: OrderedDict[bytes, Compiled] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._compiled)

    def get(self, digest: bytes, spec: Object) -> Compiled:
        now = time.monotonic()
        with self._lock:
            compiled = self._compiled.get(digest)
            if compiled is not None:
                self._compiled.move_to_end(digest)
                compiled.used = now
            self._drop_unused(now - self._idle)
            if compiled is not None:
                return compiled
        compiled = Compiled(spec)
        with self._lock:
            compiled = self._compiled.setdefault(digest, compiled)
            size = sum(c.size for c in self._compiled.values())
            while size > self._kept and len(self._compiled) > 1:
                size -= self._compiled.popitem(last=False)[1].size
        return compiled

    def forget_idle(self) -> None:
        with self._lock:
            self._drop_unused(time.monotonic() - self._idle)

    def _drop_unused(self, since: float) -> None:
        """They are in the order in which they were used, so this mostly looks at one."""
        while self._compiled:
            digest, compiled = next(iter(self._compiled.items()))
            if compiled.used > since:
                return
            del self._compiled[digest]
