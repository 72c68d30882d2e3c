"""Kinds that changed in a few fields only."""

from __future__ import annotations

from controlplane.convert.rule import Conversion, as_list, as_object, rename

_HOST, _ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def subject_access_review(conversion: Conversion) -> None:
    rename(conversion.spec, "group", "groups")


def certificate_signing_request(conversion: Conversion) -> None:
    spec = conversion.spec
    if spec.get("signerName", "kubernetes.io/legacy-unknown") == "kubernetes.io/legacy-unknown":
        conversion.note(
            "spec.signerName: required now, and kubernetes.io/legacy-unknown is not permitted; "
            "write the signer"
        )
    usages = spec.get("usages")
    if isinstance(usages, list) and len(set(map(str, usages))) < len(usages):
        spec["usages"] = list(dict.fromkeys(map(str, usages)))
        conversion.note("spec.usages: duplicates are not permitted now; left out")
    if not usages:
        conversion.note("spec.usages: required now; write them")


def endpoint_slice(conversion: Conversion) -> None:
    """topology is gone; the node and the zone have members of their own."""
    for i, endpoint in enumerate(as_list(conversion.obj.get("endpoints"))):
        topology = endpoint.pop("topology", None)
        if not isinstance(topology, dict):
            continue
        for label, member in ((_HOST, "nodeName"), (_ZONE, "zone")):
            value = topology.pop(label, None)
            if value is not None:
                endpoint.setdefault(member, value)
        if topology:
            conversion.note(
                f"endpoints[{i}].topology: {', '.join(sorted(topology))} cannot be written in v1; "
                f"left out"
            )


def pod_disruption_budget(conversion: Conversion) -> None:
    """An empty selector selected nothing and selects everything now; no selector selects nothing in
    both."""
    spec = conversion.spec
    if spec.get("selector") == {}:
        del spec["selector"]
        conversion.note(
            "spec.selector: {} selected no pods and would select all now; left out, which selects "
            "none"
        )


def priority_level(conversion: Conversion) -> None:
    limited = as_object(conversion.spec, "limited")
    if limited is None:
        return
    rename(limited, "assuredConcurrencyShares", "nominalConcurrencyShares")
    if limited.get("nominalConcurrencyShares") == 0:
        limited["nominalConcurrencyShares"] = 30
        conversion.note(
            "spec.limited.nominalConcurrencyShares: 0 meant the default of 30 and means 0 now; 30 "
            "written down"
        )
