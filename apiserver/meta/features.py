"""Feature gates: what can be switched off or on, and the life cycle of such switches.

An alpha gate is off and most beta gates are on unless somebody says otherwise; a gate that has
become general (GA) is locked to what it is and can only be named; one that is deprecated still
works, with a warning. ``AllAlpha`` and ``AllBeta`` set the gates of a stage that nobody set by
name. Source:
"Feature Gates" in the Kubernetes documentation; k8s.io/component-base ``featuregate`` for the
texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apiserver.golang.strconv import NumError, parse_bool

ALPHA, BETA, GA, DEPRECATED = "ALPHA", "BETA", "", "DEPRECATED"
_STAGES = {"AllAlpha": ALPHA, "AllBeta": BETA}


class FeatureError(ValueError):
    """A gate that does not exist, a value that is none, or a locked gate."""


@dataclass(frozen=True, slots=True)
class Gate:
    """default: what holds when nobody says anything; locked: it cannot be set to anything else."""

    stage: str
    default: bool
    locked: bool = False


_GENERAL = """
APIListChunking APIServerTracing AnonymousAuthConfigurableEndpoints AuthorizeWithSelectors
ConsistentListFromCache CRDValidationRatcheting CustomResourceFieldSelectors
MutatingAdmissionPolicy OrderedNamespaceDeletion RemainingItemCount RetryGenerateName
ServerSideApply ServerSideFieldValidation StreamingCollectionEncodingToJSON
StreamingCollectionEncodingToProtobuf StructuredAuthenticationConfiguration
StructuredAuthorizationConfiguration ValidatingAdmissionPolicy WatchBookmark
"""

GATES: Mapping[str, Gate] = {
    "AuthorizePodWebsocketUpgradeCreatePermission": Gate(BETA, True),
    "ComponentFlagz": Gate(BETA, True),
    "ComponentStatusz": Gate(BETA, True),
    "ClusterTrustBundle": Gate(BETA, False),
    "ConstrainedImpersonation": Gate(BETA, True),
    "DeclarativeValidation": Gate(BETA, True),  # locked in 1.36: here it still tells rules apart
    "DeclarativeValidationBeta": Gate(BETA, True),
    "DeclarativeValidationTakeover": Gate(DEPRECATED, False),
    "AllowUnsafeMalformedObjectDeletion": Gate(
        ALPHA, True
    ),  # on here: Polyplane has it on by default, other than kube-apiserver
    "APIResponseCompression": Gate(BETA, True),
    "DRAResourceClaimGranularStatusAuthorization": Gate(BETA, True),
    "NodeDeclaredFeatures": Gate(BETA, True),
    "PodTopologyLabelsAdmission": Gate(BETA, True),
    "ServiceAccountNodeAudienceRestriction": Gate(BETA, True),
    "StorageVersionMigrator": Gate(BETA, False),
    "StrictIPCIDRValidation": Gate(BETA, True),
    "TokenRequestServiceAccountUIDValidation": Gate(BETA, True),
    "CBORServingAndStorage": Gate(ALPHA, True),  # likewise
    "ShardedListAndWatch": Gate(ALPHA, False),
    **{name: Gate(GA, True, locked=True) for name in _GENERAL.split()},
}

ENABLED: dict[str, bool] = {name: gate.default for name, gate in GATES.items()}
"""What holds in this process; changed only by `activate`, before anything is served."""


def enabled(name: str) -> bool:
    return ENABLED[name]


def activate(settings: Mapping[str, bool]) -> None:
    """``settings``: from `parse`; gates that are not in it get their defaults."""
    ENABLED.update({name: settings.get(name, gate.default) for name, gate in GATES.items()})


def parse(
    pairs: Iterable[str], gates: Mapping[str, Gate] = GATES
) -> tuple[dict[str, bool], list[str]]:
    """(gates that differ from their default or were named, warnings) of ``Name=true`` pairs. Raises
    FeatureError."""
    named: dict[str, bool] = {}
    warnings: list[str] = []
    for pair in pairs:
        name, sign, text = pair.partition("=")
        name, text = name.strip(), text.strip()
        if not sign:
            raise FeatureError(f"missing bool value for {name}")
        try:
            named[name] = parse_bool(text)
        except NumError as e:
            raise FeatureError(f"invalid value of {name}={text}, err: {e}") from None
    settings = {
        name: named[group]
        for group, stage in _STAGES.items()
        if group in named
        for name, gate in gates.items()
        if gate.stage == stage and not gate.locked
    }
    for name, value in named.items():
        if name not in _STAGES:
            warnings += _check(name, value, gates)
            settings[name] = value
    return settings, warnings


def _check(name: str, value: bool, gates: Mapping[str, Gate]) -> list[str]:
    gate = gates.get(name)
    text = "true" if value else "false"
    if gate is None:
        raise FeatureError(f"unrecognized feature gate: {name}")
    if gate.locked and value != gate.default:
        locked = "true" if gate.default else "false"
        raise FeatureError(
            f"cannot set feature gate {name} to {text}, feature is locked to {locked}"
        )
    kind = {GA: "GA", DEPRECATED: "deprecated"}.get(gate.stage)
    return (
        [f"Setting {kind} feature gate {name}={text}. It will be removed in a future release."]
        if kind
        else []
    )
