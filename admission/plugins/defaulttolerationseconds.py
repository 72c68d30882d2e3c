"""DefaultTolerationSeconds: pods stay five minutes on a node that is not ready or unreachable,
unless they say otherwise."""

from __future__ import annotations

from admission.attributes import Attributes, Lookup
from admission.objects import WRITES, OfObjects
from apiserver.meta.objects import Object

SECONDS = 300
_KEYS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class DefaultTolerationSeconds(OfObjects):
    name = "DefaultTolerationSeconds"
    operations = WRITES

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        if attributes.object is None:
            return
        spec = attributes.object["spec"]
        tolerations = spec.get("tolerations") or []
        missing = [key for key in _KEYS if not any(_tolerates(t, key) for t in tolerations)]
        if missing:
            added = [
                {
                    "key": k,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": SECONDS,
                }
                for k in missing
            ]
            spec["tolerations"] = [*tolerations, *added]


def _tolerates(toleration: Object, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in (
        "",
        "NoExecute",
    )
