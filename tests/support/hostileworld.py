"""Strings that would run if they became markup, in every place where somebody can put one: objects
of each family, names of users, managers and programs, tenants, tokens, logins."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any
from urllib.parse import quote

from tests.support.installation import Installation, eventually

TENANT = "hostile"
BASE = f"/clusters/{TENANT}"
CORE = f"{BASE}/api/v1"
SPACE = f"{CORE}/namespaces/hostile"
RBAC = f"{BASE}/apis/rbac.authorization.k8s.io/v1"
RBAC_GROUP = "rbac.authorization.k8s.io"
ADMISSION = f"{BASE}/apis/admissionregistration.k8s.io/v1"
APPS = f"{BASE}/apis/apps/v1/namespaces/hostile"
DEFINITIONS = f"{BASE}/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TRAPS = f"{BASE}/apis/hostile.example.com/v1/namespaces/hostile/traps"
MERGE = "application/merge-patch+json"


def evil(where: str) -> str:
    """It says where it came from, should it run."""
    return f"<img src=x onerror=alert('{where}')>"


def breaking(where: str) -> str:
    """The same for those who put strings into attributes and scripts."""
    return f"\"'></script><script>alert('{where}')</script>{{{{7*7}}}}${{alert(1)}}"


class World:
    """Fills an installation; each method is one family."""

    def __init__(self, site: Installation) -> None:
        self.site = site

    def fill(self) -> None:
        self.tenant()
        for make in (
            self.plain,
            self.owned,
            self.events,
            self.workloads,
            self.rights,
            self.policies,
            self.custom,
            self.stuck,
            self.others,
            self.passers_by,
        ):
            make()

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        type: str = "application/json",
        expect: int = 0,
        **headers: str,
    ) -> Any:
        """expect: the status; 0: any success."""
        context = ssl.create_default_context(cafile=str(self.site.data / "ca.crt"))
        connection = http.client.HTTPSConnection("127.0.0.1", self.site.port, context=context)
        sent = {"Authorization": f"Bearer {self.site.token}", "Content-Type": type}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        assert answer.status == expect or (not expect and answer.status < 300), (path, text[:500])
        return json.loads(text) if text[:1] == b"{" else text

    def make(self, path: str, name: str, manager: str = "one", **members: Any) -> Any:
        metadata = {"name": name, **members.pop("metadata", {})}
        asked = f"{path}?fieldManager={quote(manager)}"
        return self("POST", asked, {"metadata": metadata, **members})

    def tenant(self) -> None:
        path = "/apis/tenancy.polyplane.dev/v1/tenants"
        spec = {
            "displayName": evil("display name"),
            "owners": [{"kind": "User", "name": evil("owner")}],
        }
        head = {"apiVersion": "tenancy.polyplane.dev/v1", "kind": "Tenant"}
        self("POST", path, {**head, "metadata": {"name": TENANT}, "spec": spec})
        eventually(lambda: self.site.request("GET", f"{CORE}/namespaces/default")[0] == 200)
        annotations = {"example.com/note": evil("namespace annotation")}
        self.make(f"{CORE}/namespaces", "hostile", metadata={"annotations": annotations})

    def plain(self) -> None:
        """Values, annotations, types, and managers of fields."""
        annotations = {"example.com/note": evil("annotation"), "example.com/x": breaking("break")}
        self.make(
            f"{SPACE}/configmaps",
            "plain",
            evil("manager"),
            metadata={"annotations": annotations, "labels": {"app": "hostile"}},
            data={"a": evil("value"), "b": breaking("value")},
        )
        self(
            "PATCH",
            f"{SPACE}/configmaps/plain?fieldManager={quote(evil('second manager'))}",
            {"data": {"c": evil("late value")}},
            type=MERGE,
            User_Agent=evil("agent"),
        )
        self.make(
            f"{SPACE}/secrets", "plain", type=evil("secret type"), stringData={"a": evil("s")}
        )
        self.make(f"{SPACE}/configmaps", "gone", data={"a": evil("deleted value")})
        self("DELETE", f"{SPACE}/configmaps/gone")

    def owned(self) -> None:
        uid = "11111111-2222-3333-4444-555555555555"
        kind, name = evil("owner kind"), evil("owner name")
        reference = {"apiVersion": "example.com/v1", "kind": kind, "name": name, "uid": uid}
        metadata = {"ownerReferences": [reference], "finalizers": ["example.com/wait"]}
        self.make(f"{SPACE}/configmaps", "owned", metadata=metadata)

    def events(self) -> None:
        about = {"kind": "ConfigMap", "apiVersion": "v1", "namespace": "hostile", "name": "plain"}
        for name, reported in (("e1", about), ("e2", about | {"name": evil("event object")})):
            self.make(
                f"{SPACE}/events",
                name,
                involvedObject=reported,
                type="Warning",
                reason=evil("event reason"),
                message=evil("event message"),
                source={"component": evil("event source"), "host": evil("event host")},
                reportingComponent=evil("reporter"),
            )

    def workloads(self) -> None:
        labels = {"app": "web"}
        container = {
            "name": "c",
            "image": evil("image"),
            "env": [{"name": "A", "value": evil("env")}],
        }
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        spec = {"selector": {"matchLabels": labels}, "template": template}
        self.make(f"{APPS}/deployments", "web", spec=spec)
        condition = {"type": evil("condition"), "status": "False", "reason": evil("reason")}
        condition["message"] = evil("condition message")
        status = {"conditions": [condition]}
        self("PATCH", f"{APPS}/deployments/web/status", {"status": status}, type=MERGE)
        self.make(
            f"{SPACE}/pods", "web", spec={"containers": [container]}, metadata={"labels": labels}
        )
        status = {"phase": "Failed", "reason": evil("pod reason"), "message": evil("pod message")}
        self("PATCH", f"{SPACE}/pods/web/status", {"status": status}, type=MERGE)

    def rights(self) -> None:
        """Names of roles may be anything but a path."""
        name = evil("role").replace("/", "|")
        rule = {"apiGroups": [evil("group")], "resources": [evil("res")], "verbs": [evil("verb")]}
        self.make(f"{RBAC}/clusterroles", name, rules=[rule])
        self.make(f"{RBAC}/namespaces/hostile/roles", name, rules=[rule])
        role = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": name}
        subjects = [
            {"apiGroup": RBAC_GROUP, "kind": kind, "name": evil(kind)} for kind in ("User", "Group")
        ]
        self.make(f"{RBAC}/clusterrolebindings", name, roleRef=role, subjects=subjects)
        bindings = f"{RBAC}/namespaces/hostile/rolebindings"
        self.make(bindings, name, roleRef=role, subjects=subjects)

    def policies(self) -> None:
        rule = {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["configmaps"],
        }
        refusing = {
            "expression": "object.metadata.name != 'refused'",
            "message": evil("refusal"),
        }
        spec = {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [refusing],
            "auditAnnotations": [{"key": "note", "valueExpression": f'"{evil("audit note")}"'}],
        }
        self.make(f"{ADMISSION}/validatingadmissionpolicies", "hostile", spec=spec)
        binding = {"policyName": "hostile", "validationActions": ["Deny", "Audit"]}
        self.make(f"{ADMISSION}/validatingadmissionpolicybindings", "hostile", spec=binding)
        path = f"{SPACE}/configmaps?dryRun=All"
        body = {"metadata": {"name": "refused"}}
        eventually(lambda: self.site.request("POST", path, body)[0] == 422)
        assert self.site.request("POST", f"{SPACE}/configmaps", body)[0] == 422

    def custom(self) -> None:
        """Columns, descriptions and printed values of a definition."""
        columns = [
            {"name": evil("column"), "type": "string", "jsonPath": ".spec.text"},
            {"name": "When", "type": "date", "jsonPath": ".spec.text"},
        ]
        columns[0]["description"] = evil("column description")
        text = {"type": "string", "description": evil("field description")}
        described = {"type": "object", "description": evil("kind"), "properties": {"text": text}}
        schema = {"type": "object", "properties": {"spec": described}}
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": schema},
            "additionalPrinterColumns": columns,
            "deprecated": True,
            "deprecationWarning": "Beware of <img src=x onerror=alert(1)>",
        }
        names = {"plural": "traps", "singular": "trap", "kind": "Trap"}
        spec = {"group": "hostile.example.com", "scope": "Namespaced", "names": names}
        spec["versions"] = [version]  # type: ignore[assignment]
        self.make(DEFINITIONS, "traps.hostile.example.com", spec=spec)
        eventually(lambda: self.site.request("GET", TRAPS)[0] == 200)
        head = {"apiVersion": "hostile.example.com/v1", "kind": "Trap"}
        eventually(
            lambda: (
                self.site.request(
                    "POST", f"{TRAPS}?dryRun=All", {**head, "metadata": {"name": "trap"}}
                )[0]
                == 201
            )
        )
        self.make(TRAPS, "trap", **head, spec={"text": evil("printed")})

    def stuck(self) -> None:
        metadata = {"finalizers": ["example.com/wait"], "annotations": {"a": evil("stuck")}}
        self.make(f"{SPACE}/configmaps", "stuck", evil("keeper"), metadata=metadata)
        self("DELETE", f"{SPACE}/configmaps/stuck")

    def others(self) -> None:
        """Families with free texts of their own."""
        classes = f"{BASE}/apis/scheduling.k8s.io/v1/priorityclasses"
        self.make(classes, "hostile", value=1, description=evil("priority class"))
        storage = f"{BASE}/apis/storage.k8s.io/v1/storageclasses"
        self.make(storage, "hostile", provisioner="x.example.com", parameters={"a": evil("class")})
        leases = f"{BASE}/apis/coordination.k8s.io/v1/namespaces/hostile/leases"
        self.make(leases, "hostile", spec={"holderIdentity": evil("holder")})
        self.make(
            f"{SPACE}/serviceaccounts", "hostile", metadata={"annotations": {"a": evil("sa")}}
        )
        external = {"type": "ExternalName", "externalName": "example.com"}
        self.make(f"{SPACE}/services", "hostile", spec=external, metadata={"labels": {"a": "b"}})

    def passers_by(self) -> None:
        """Who asks: names, groups and programs in history and audit, tokens, logins that fail."""
        asked = f"{SPACE}/configmaps/plain?fieldManager=third"
        self(
            "PATCH",
            asked,
            {"data": {"d": "4"}},
            type=MERGE,
            Impersonate_User=evil("user"),
            Impersonate_Group="system:masters",
            User_Agent=evil("program"),
        )
        forbidden = f"{SPACE}/secrets/{quote(evil('asked for').replace('/', '|'))}"
        self("GET", forbidden, expect=403, Impersonate_User=evil("stranger"))
        told = self.site.manage(
            "token",
            "create",
            evil("token user"),
            "--tenant",
            TENANT,
            "--description",
            evil("description"),
            "--group",
            evil("token group"),
        )
        assert told.returncode == 0, told.stderr
