"""Policies written in one line, and what requests come to under them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from admission.chain import Chain
from admission.policy.compiled import Library
from admission.policy.mutating import MutatingAdmissionPolicy
from admission.policy.validating import ValidatingAdmissionPolicy
from apiserver.meta.objects import Object
from apiserver.registry.authorizer import decide
from tests.support.api import Api
from tests.support.users import ROOT, authorizing

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
CONFIGMAPS = "/api/v1/namespaces/n/configmaps"


def rule(*resources: str, **more: Any) -> Object:
    return {
        "apiGroups": ["*"],
        "apiVersions": ["*"],
        "operations": ["*"],
        "resources": list(resources or ["configmaps"]),
        **more,
    }


def check(expression: str, **more: Any) -> Object:
    return {"expression": expression, **more}


def merge(expression: str) -> Object:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patch(expression: str) -> Object:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def configmap(name: str = "c", data: Any = None, **metadata: Any) -> Object:
    return {"metadata": {"name": name, **metadata}, "data": data or {}}


class Policies:
    """Of one tenant; everybody is ``root`` unless told otherwise."""

    def __init__(self, api: Api) -> None:
        self.api = api

    async def validating(
        self,
        name: str,
        *validations: Object,
        actions: Sequence[str] = ("Deny",),
        rules: Sequence[Object] = (),
        match: Object | None = None,
        binding: Object | None = None,
        **spec: Any,
    ) -> None:
        """A policy about configmaps, and one binding of its name."""
        constraints = {"resourceRules": list(rules) or [rule()], **(match or {})}
        body = {"matchConstraints": constraints, "validations": list(validations), **spec}
        await self.store("validatingadmissionpolicies", name, body)
        bound = {"policyName": name, "validationActions": list(actions), **(binding or {})}
        await self.store("validatingadmissionpolicybindings", name, bound)

    async def mutating(
        self,
        name: str,
        *mutations: Object,
        rules: Sequence[Object] = (),
        match: Object | None = None,
        binding: Object | None = None,
        again: bool = False,
        **spec: Any,
    ) -> None:
        constraints = {"resourceRules": list(rules) or [rule()], **(match or {})}
        policy = "IfNeeded" if again else "Never"
        body = {
            "matchConstraints": constraints,
            "mutations": list(mutations),
            "reinvocationPolicy": policy,
            **spec,
        }
        await self.store("mutatingadmissionpolicies", name, body)
        bound = {"policyName": name, **(binding or {})}
        await self.store("mutatingadmissionpolicybindings", name, bound)

    async def store(self, resource: str, name: str, spec: Object) -> None:
        body = {"metadata": {"name": name}, "spec": spec}
        await self.api.ok("POST", f"{REGISTRATION}/{resource}", body, **ROOT)

    async def create(
        self, body: Object, path: str = CONFIGMAPS, **headers: str
    ) -> tuple[int, Object]:
        status, answer = await self.api("POST", path, body, **(headers or ROOT))
        return status, answer

    async def denied(self, body: Object, path: str = CONFIGMAPS, **headers: str) -> str:
        """What the policy says of the request that it refuses."""
        status, answer = await self.create(body, path, **headers)
        assert status >= 400, answer
        message: str = answer["message"]
        return message.partition("denied request: ")[2] or message

    async def made(self, body: Object, path: str = CONFIGMAPS) -> Object:
        status, answer = await self.create(body, path)
        assert status == 201, answer
        return answer


async def obeying(api: Api) -> Policies:
    library = Library()
    plugins = [MutatingAdmissionPolicy(library, decide), ValidatingAdmissionPolicy(library, decide)]
    api.registry.chain = Chain(plugins)
    policies = Policies(authorizing(api))
    body = {"metadata": {"name": "n", "labels": {"team": "red"}}}
    await api.ok("POST", "/api/v1/namespaces", body, **ROOT)
    return policies
