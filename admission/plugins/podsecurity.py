"""PodSecurity: pods keep to the Pod Security Standard that the labels of their namespace ask for;
what makes pods is warned of (k8s.io/pod-security-admission ``admission/admission.go``)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from admission.attributes import Attributes, Lookup
from admission.config import Section
from admission.objects import PODS
from admission.podsecurity import counts, policy
from admission.podsecurity.evaluate import evaluate
from admission.podsecurity.pods import Pod
from admission.podsecurity.policy import Level, LevelVersion, Policy, policy_of
from admission.refusal import forbidden
from admission.rules import NAMESPACES
from apiserver.errors import InternalError, Invalid, NotFound, aggregate
from apiserver.fielderrors import FieldErrors
from apiserver.meta.gvk import GroupResource
from apiserver.meta.names import dns1123_label, dns1123_subdomain
from apiserver.meta.objects import Object

_TEMPLATES = {
    GroupResource("", "replicationcontrollers"): ("spec", "template"),
    GroupResource("", "podtemplates"): ("template",),
    GroupResource("apps", "replicasets"): ("spec", "template"),
    GroupResource("apps", "deployments"): ("spec", "template"),
    GroupResource("apps", "statefulsets"): ("spec", "template"),
    GroupResource("apps", "daemonsets"): ("spec", "template"),
    GroupResource("batch", "jobs"): ("spec", "template"),
    GroupResource("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
}
_IGNORED = frozenset(
    {"exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"}
)
_MOST_PODS, _MOST_LOOKED_AT = 3000, 9000
"""Pods that are checked, and those among which they are chosen."""
_SECONDS = 1.0
_AT_A_TIME = 50
"""Pods checked before others may use the loop."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """PodSecurityConfiguration. defaults: of namespaces without labels; the others name what is
    exempt."""

    defaults: Policy = policy.DEFAULT
    namespaces: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()
    runtime_classes: frozenset[str] = frozenset()

    @classmethod
    def read(cls, section: Section) -> Configuration:
        """``section``: a PodSecurityConfiguration. Raises ConfigError."""
        group = "pod-security.admission.config.k8s.io"
        section.of_kind(group, ["v1", "v1beta1", "v1alpha1"], "PodSecurityConfiguration")
        defaults, exemptions = section.section("defaults"), section.section("exemptions")
        levels = [_level_of(defaults, mode) for mode in ("enforce", "audit", "warn")]
        users = _exempt(exemptions, "usernames", lambda name: [] if name else ["is empty"])
        classes = _exempt(exemptions, "runtimeClasses", dns1123_subdomain)
        namespaces = _exempt(exemptions, "namespaces", dns1123_label)
        for part in (defaults, exemptions, section):
            part.end()
        return cls(Policy(*levels), namespaces, users, classes)


def _level_of(defaults: Section, mode: str) -> LevelVersion:
    """Raises ConfigError."""
    try:
        level = policy.parse_level(defaults.text(mode, "privileged"))
    except ValueError as error:
        raise defaults.wrong(mode, str(error)) from None
    try:
        version = policy.parse_version(defaults.text(f"{mode}-version", "latest"))
    except ValueError as error:
        raise defaults.wrong(f"{mode}-version", str(error)) from None
    return LevelVersion(level, version)


def _exempt(
    exemptions: Section, what: str, check: Callable[[str], Sequence[str]]
) -> frozenset[str]:
    """Raises ConfigError."""
    names = exemptions.texts(what)
    for name in names:
        if problems := check(name):
            raise exemptions.wrong(what, f'has "{name}": {problems[0]}')
    if len(set(names)) < len(names):
        raise exemptions.wrong(what, "names one twice")
    return frozenset(names)


class PodSecurity:
    name = "PodSecurity"

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = configuration or Configuration()

    def handles(self, attributes: Attributes) -> bool:
        if attributes.operation not in ("CREATE", "UPDATE") or attributes.object is None:
            return False
        resource, subresource = attributes.group_resource, attributes.subresource
        if resource == PODS:
            return subresource not in _IGNORED
        return not subresource and (resource == NAMESPACES or resource in _TEMPLATES)

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        if attributes.group_resource == NAMESPACES:
            await self._namespace(attributes, lookup)
            return
        exempt = self._configuration
        for kind, name, among in (
            ("namespace", attributes.namespace, exempt.namespaces),
            ("user", attributes.user.name, exempt.users),
        ):
            if name in among:
                _exempted(attributes, kind)
                return
        asked, errors = await self._policy(attributes, lookup)
        if attributes.group_resource == PODS:
            self._pod(attributes, asked, errors)
        else:
            self._template(attributes, asked, errors)

    async def _policy(self, attributes: Attributes, lookup: Lookup) -> tuple[Policy, FieldErrors]:
        """Of the namespace, and what is wrong with its labels. Raises InternalError for a pod in
        one that is not there."""
        namespace = await lookup.get(NAMESPACES, "", attributes.namespace)
        if namespace is None:
            namespace = await lookup.get(NAMESPACES, "", attributes.namespace, fresh=True)
        if namespace is None:
            counts.failed(counts.about(attributes), fatal=True)
            why = f'failed to lookup namespace "{attributes.namespace}"'
            if attributes.group_resource == PODS:
                raise InternalError(why)
            missing = NotFound(NAMESPACES, attributes.namespace)
            _annotate(attributes, "error", f"{why}: {missing.message}")
            return policy.DEFAULT, []
        return policy_of(namespace["metadata"].get("labels"), self._configuration.defaults)

    # --- pods and what makes them -----------------------------------------------------------------
    def _pod(self, attributes: Attributes, asked: Policy, errors: FieldErrors) -> None:
        new, about = attributes.object, counts.about(attributes)
        assert new is not None
        if asked.fully_privileged and not errors:
            counts.evaluated("allow", asked.enforce, "enforce", about)
            _annotate(attributes, "enforce-policy", str(policy.NO_LIMIT))
            return
        if attributes.old is not None and not _significant(new["spec"], attributes.old["spec"]):
            return
        pod = Pod(new["metadata"], new["spec"])
        if self._exempt(pod):
            _exempted(attributes, "runtimeClass")
            return
        _tell(attributes, errors)
        _annotate(attributes, "enforce-policy", str(asked.enforce))
        _audit(attributes, asked.audit, pod)
        verdict = evaluate(asked.enforce, pod)
        decision: counts.Decision = "deny" if verdict.violations else "allow"
        counts.evaluated(decision, asked.enforce, "enforce", about)
        if verdict.violations:
            why = f'violates PodSecurity "{asked.enforce}": {verdict.detail}'
            raise forbidden(attributes, why)
        _warn(attributes, asked.warn, pod)

    def _template(self, attributes: Attributes, asked: Policy, errors: FieldErrors) -> None:
        if asked.warn.level == asked.audit.level == Level.PRIVILEGED and not errors:
            return
        template = attributes.object
        for member in _TEMPLATES[attributes.group_resource]:
            template = (template or {}).get(member)
        if template is None:
            return
        pod = Pod(template.get("metadata") or {}, template.get("spec") or {})
        if self._exempt(pod):
            _exempted(attributes, "runtimeClass")
            return
        _tell(attributes, errors)
        _audit(attributes, asked.audit, pod)
        _warn(attributes, asked.warn, pod)

    def _exempt(self, pod: Pod) -> bool:
        name = pod.spec.get("runtimeClassName")
        return bool(name) and name in self._configuration.runtime_classes

    # --- namespaces -------------------------------------------------------------------------------
    async def _namespace(self, attributes: Attributes, lookup: Lookup) -> None:
        new, old = attributes.object, attributes.old
        assert new is not None
        defaults, labels = self._configuration.defaults, new["metadata"].get("labels") or {}
        asked, errors = policy_of(labels, defaults)
        before = None
        if old is not None:
            before, old_errors = policy_of(old["metadata"].get("labels"), defaults)
            if errors == old_errors:
                errors = []
        if errors:
            raise Invalid(attributes.kind.group_kind, attributes.name, errors)
        if before is not None and not _tightened(before.enforce, asked.enforce):
            return
        name = new["metadata"].get("name", "")
        if name in self._configuration.namespaces:
            attributes.warnings.extend(_ignored(name, asked, defaults, labels))
        elif before is not None:
            pods = await lookup.first(PODS, name, _MOST_LOOKED_AT)
            attributes.warnings.extend(await self._existing(name, asked.enforce, *pods))

    async def _existing(
        self, namespace: str, enforce: LevelVersion, pods: Sequence[Object], total: int
    ) -> list[str]:
        """Warnings about pods that a new level would refuse. ``pods``: the first of ``total``."""
        deadline = time.monotonic() + _SECONDS
        first: dict[str, list[str]] = {}
        checked, ordered = 0, self._prioritized(pods)
        total += len(ordered) - len(pods)  # less those that are exempt
        for pod in ordered[:_MOST_PODS]:
            if checked and checked % _AT_A_TIME == 0:
                await asyncio.sleep(0)
                if time.monotonic() > deadline:
                    break
            verdict = evaluate(enforce, Pod(pod["metadata"], pod["spec"]))
            if verdict.violations:
                first.setdefault(verdict.reason, []).append(pod["metadata"]["name"])
            checked += 1
        warnings = []
        if checked < total:
            warnings.append(
                f"new PodSecurity enforce level only checked against the first {checked} of "
                f"{total} existing pods"
            )
        if first:
            warnings.append(
                f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce '
                f'level "{enforce}"'
            )
        return warnings + sorted(_counted(names, reason) for reason, names in first.items())

    def _prioritized(self, pods: Sequence[Object]) -> list[Object]:
        """One of each controller first; the others are likely to be the same."""
        ordered: list[Object] = []
        more: list[Object] = []
        controllers: set[str] = set()
        for pod in pods:
            if pod["spec"].get("runtimeClassName") in self._configuration.runtime_classes:
                continue
            owners = pod["metadata"].get("ownerReferences") or ()
            controller = next((o.get("uid") for o in owners if o.get("controller")), None)
            (more if controller in controllers else ordered).append(pod)
            if controller is not None:
                controllers.add(controller)
        return ordered + more


def _annotate(attributes: Attributes, name: str, value: str) -> None:
    attributes.annotate(policy.PREFIX + name, value)


def _exempted(attributes: Attributes, why: str) -> None:
    _annotate(attributes, "exempt", why)
    counts.exempted(counts.about(attributes))


def _tell(attributes: Attributes, errors: FieldErrors) -> None:
    """Of what is wrong with the labels of the namespace, which may be so since before this plugin
    looked at them."""
    if errors:
        why = aggregate([str(error) for error in errors])
        _annotate(attributes, "error", f"Failed to parse policy: {why}")
        counts.failed(counts.about(attributes), fatal=False)


def _audit(attributes: Attributes, level: LevelVersion, pod: Pod) -> None:
    verdict = evaluate(level, pod)
    if verdict.violations:
        counts.evaluated("deny", level, "audit", counts.about(attributes))
        text = f'would violate PodSecurity "{level}": {verdict.detail}'
        _annotate(attributes, "audit-violations", text)


def _warn(attributes: Attributes, level: LevelVersion, pod: Pod) -> None:
    verdict = evaluate(level, pod)
    if verdict.violations:
        counts.evaluated("deny", level, "warn", counts.about(attributes))
        attributes.warn(f'would violate PodSecurity "{level}": {verdict.detail}')


def _tightened(before: LevelVersion, after: LevelVersion) -> bool:
    """Whether pods that were allowed may not be any more."""
    if after == before or after.level == Level.PRIVILEGED:
        return False
    return after.minor != before.minor or after.level > before.level


def _counted(names: Sequence[str], reason: str) -> str:
    others = len(names) - 1
    more = f" (and {others} other pod{'s' if others > 1 else ''})" if others else ""
    return f"{min(names)}{more}: {reason}"


def _ignored(name: str, asked: Policy, default: Policy, labels: Object) -> list[str]:
    """A warning about labels of a namespace that is exempt."""
    if asked.fully_privileged or asked.equivalent(default):
        return []
    said = ", ".join(
        f"{mode}={level}"
        for mode, level in asked.modes
        if level.level != Level.PRIVILEGED
        and {policy.PREFIX + mode, f"{policy.PREFIX}{mode}-version"} & labels.keys()
    )
    return [
        f'namespace "{name}" is exempt from Pod Security, and the policy ({said}) will be ignored'
    ]


def _significant(new: Object, old: Object) -> bool:
    """Whether an update changes what the standards are about: nothing but images can change, and
    ephemeral containers come."""
    for member in ("containers", "initContainers"):
        images, before = (
            [c.get("image", "") for c in spec.get(member) or ()] for spec in (new, old)
        )
        if images != before:
            return True
    old_images = {c.get("name"): c.get("image", "") for c in old.get("ephemeralContainers") or ()}
    return any(
        c.get("name") not in old_images or old_images[c.get("name")] != c.get("image", "")
        for c in new.get("ephemeralContainers") or ()
    )
