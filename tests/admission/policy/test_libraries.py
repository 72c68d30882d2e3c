"""Libraries of policies that public projects keep (tests.support.policylibraries), obeyed as their
test cases say: in a directory that ADMISSION_POLICY_LIBRARY names, a checkout of one of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from apiserver.controllers.actions import Actions
from apiserver.controllers.policystatus import PolicyStatus
from apiserver.kinds.apiextensions import conditions
from apiserver.meta.gvk import GroupVersion
from apiserver.meta.objects import Object
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from tests.admission.policy.policies import REGISTRATION, Policies
from tests.support.policylibraries import Case, Suite, suites
from tests.support.users import ROOT

VARIABLE = "ADMISSION_POLICY_LIBRARY"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
STRATEGIC = "application/strategic-merge-patch+json"


class Library:
    def __init__(self, policies: Policies, store: PostgresStore) -> None:
        self.api = policies.api
        self._checker = PolicyStatus(Actions(self.api.registry), Relations(store.database))

    async def install(self, objects: Iterable[Object]) -> list[str]:
        """The paths of what can be taken away again."""
        made = []
        for obj in objects:
            path, name = self.path(obj, "default"), obj["metadata"]["name"]
            status, answer = await self.api("POST", f"{path}?fieldValidation=Strict", obj, **ROOT)
            kept = obj["kind"] in ("Namespace", "CustomResourceDefinition")
            assert status == 201 or (kept and status == 409), answer
            if obj["kind"] == "CustomResourceDefinition" and status == 201:
                await self._establish(answer)
            if not kept:
                made.append(f"{path}/{name}")
        return made

    async def _establish(self, crd: Object) -> None:
        name = crd["metadata"]["name"]
        conditions.settle(crd, [], datetime.now(UTC))
        await self.api.ok("PUT", f"{CRDS}/{name}/status", crd, **ROOT)
        spec = crd["spec"]
        await self.api.until(
            lambda: self.api.catalog.find(self.api.tenant, spec["group"], spec["names"]["plural"])
        )

    def path(self, obj: Object, namespace: str) -> str:
        gv = GroupVersion.parse(obj["apiVersion"])
        (resource,) = (
            r
            for r in Actions(self.api.registry).resources(self.api.tenant)
            if (r.group, r.kind) == (gv.group, obj["kind"])
        )
        root = f"/apis/{gv}" if gv.group else f"/api/{gv}"
        namespace = obj["metadata"].get("namespace", namespace)
        within = f"/namespaces/{namespace}" if resource.namespaced else ""
        return f"{root}{within}/{resource.resource}"

    async def warnings(self, name: str) -> list[str]:
        """What type checking says of a policy."""
        await self._checker.look(self.api.tenant, name)
        path = f"{REGISTRATION}/validatingadmissionpolicies/{name}"
        status = (await self.api.ok("GET", path, **ROOT))["status"]
        found = status["typeChecking"].get("expressionWarnings", ())
        return [w["warning"] for w in found]

    async def decided(self, suite: Suite, case: Case) -> str | None:
        """What is wrong about the decision."""
        path, query = self.path(case.body, case.namespace), "?dryRun=All" if suite.dry else ""
        if case.ephemeral:
            path = f"{path}/{case.body['metadata']['name']}/ephemeralcontainers"
            status, answer = await self.api("PATCH", path, case.body, STRATEGIC, **ROOT)
        else:
            status, answer = await self.api("POST", path + query, case.body, **ROOT)
        said = " ".join([answer.get("message", "") if status >= 400 else "", *self.api.warnings])
        named = any(name in said for name in suite.policies)
        refused = named or (not suite.named and answer.get("reason") == "Invalid")
        right = {
            "pass": status < 300,
            "warn": status < 300 and named,
            "fail": status >= 400 and refused,
        }[case.expected]
        return None if right else f"{suite.name}: {case.name}: {status} {said}"


def untrue(policy: Object) -> list[str]:
    """What type checking has no reason to say of a policy that works. None of several kinds has the
    members of all."""
    rules = policy["spec"]["matchConstraints"]["resourceRules"]
    plurals = {r for rule in rules for r in rule["resources"] if "/" not in r}
    one = len(plurals) == 1 and "*" not in plurals
    return ["'type(", "undeclared reference", "Syntax error", *["undefined field"] * one]


@pytest.mark.skipif(
    not os.environ.get(VARIABLE),
    reason=f"set {VARIABLE} to a checkout of kubescape/cel-admission-library, "
    "vap-library/vap-library or kolteq/validating-admission-policies-pss",
)
async def test_every_case_is_decided_as_its_project_says(
    policies: Policies, store: PostgresStore
) -> None:
    library, wrong, count = Library(policies, store), [], 0
    for suite in suites(Path(os.environ[VARIABLE])):
        made = await library.install(suite.objects)
        for policy in (o for o in suite.objects if o["metadata"]["name"] in suite.policies):
            found = " ".join(await library.warnings(policy["metadata"]["name"]))
            if any(text in found for text in untrue(policy)):
                wrong.append(f"{suite.name}: {found}")
        for case in suite.cases:
            count += 1
            if (said := await library.decided(suite, case)) is not None:
                wrong.append(said)
        for path in reversed(made):
            await library.api.ok("DELETE", path, **ROOT)
    assert count >= 100 and wrong == []
