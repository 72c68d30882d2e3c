"""ImagePolicyWebhook: a server of the operator's says which images may run (kubernetes
``plugin/pkg/admission/imagepolicy``). What it said is kept for a while, for each tenant apart."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson

from admission.attributes import Attributes, Lookup
from admission.config import ConfigError, Section
from admission.objects import PODS, WRITES
from admission.refusal import forbidden
from admission.webhooks.errors import CallFailed
from admission.webhooks.kept import Kept
from admission.webhooks.kubeconfig import Backend, ReadFile
from admission.webhooks.kubeconfig import read as read_kubeconfig
from admission.webhooks.reviewer import Reviewer
from apiserver.meta.objects import Object

log = logging.getLogger("polyplane.webhooks")

_AUDIT = "imagepolicywebhook.image-policy.k8s.io/"
_KIND = {"kind": "ImageReview", "apiVersion": "imagepolicy.k8s.io/v1alpha1"}
_FORWARDED = ".image-policy.k8s.io/"
_LONGEST_TEXT = 10 * 1024


@dataclass(frozen=True, slots=True)
class Configuration:
    """allow_ttl, deny_ttl: seconds for which an answer is kept; retry_backoff: seconds before the
    second try; default_allow: what holds while nobody answers."""

    backend: Backend
    allow_ttl: float
    deny_ttl: float
    retry_backoff: float
    default_allow: bool

    @classmethod
    def read(cls, section: Section, path: str, document: Section, file: ReadFile) -> Configuration:
        """``section``: imagePolicy; ``document``: the kubeconfig at ``path``. Raises
        ConfigError."""
        allow = _seconds(section, "allowTTL", 1.0, 300.0, (1, 1800))
        deny = _seconds(section, "denyTTL", 1.0, 30.0, (1, 1800))
        pause = _seconds(section, "retryBackoff", 0.001, 0.5, (0, 300))
        default = section.flag("defaultAllow")
        section.end()
        try:
            backend = read_kubeconfig(document, file)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None
        return cls(backend, allow, deny, pause, default)


def _seconds(
    section: Section, name: str, unit: float, default: float, bounds: tuple[float, float]
) -> float:
    """0 is the default, -1 none at all; else above the least and up to the most."""
    value = section.integer(name) or 0
    if value in (0, -1):
        return default if value == 0 else 0.0
    least, most = bounds
    if not least < value * unit <= most:
        raise section.wrong(name, f"must be above {least} s and at most {most} s")
    return value * unit


class ImagePolicyWebhook:
    name = "ImagePolicyWebhook"

    def __init__(
        self, configuration: Configuration | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``configuration``: None only where nobody asks for the plugin."""
        self._configuration = configuration
        self._reviewer: Reviewer | None = None
        if configuration is not None:
            self._reviewer = Reviewer(configuration.backend, configuration.retry_backoff)
        self._kept = Kept[Mapping[str, Any]](clock=clock)

    def handles(self, attributes: Attributes) -> bool:
        return (
            attributes.group_resource == PODS
            and attributes.subresource in ("", "ephemeralcontainers")
            and attributes.operation in WRITES
        )

    def forget(self, tenant: int) -> None:
        self._kept.forget(tenant)

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        assert self._configuration is not None and attributes.object is not None
        spec = _asked(attributes)
        key = sha256(orjson.dumps(spec)).digest()  # images may be long
        status = self._kept.get(attributes.tenant, key)
        if status is None:
            try:
                status = await attributes.bounds.within(self._ask(attributes.tenant, spec))
            except CallFailed as error:
                self._failed(attributes, error)
                return
            config = self._configuration
            seconds = config.allow_ttl if status["allowed"] else config.deny_ttl
            self._kept.keep(attributes.tenant, key, status, seconds)
        for name, text in status["auditAnnotations"].items():
            attributes.annotate(_AUDIT + name, text)
        if not status["allowed"]:
            why = "one or more images rejected by webhook backend"
            if status["reason"]:
                why = f"image policy webhook backend denied one or more images: {status['reason']}"
            raise forbidden(attributes, why)

    async def _ask(self, tenant: int, spec: Object) -> Mapping[str, Any]:
        assert self._reviewer is not None
        review = {**_KIND, "metadata": {}, "spec": spec, "status": {"allowed": False}}
        return _status(await self._reviewer.ask(tenant, orjson.dumps(review)))

    def _failed(self, attributes: Attributes, error: CallFailed) -> None:
        assert self._configuration is not None
        log.warning("image policy of tenant %s: %s", attributes.tenant, error)
        if not self._configuration.default_allow:
            raise forbidden(attributes, str(error))
        attributes.annotate(f"{_AUDIT}failed-open", "true")


def _asked(attributes: Attributes) -> Object:
    """An ImageReviewSpec."""
    pod = attributes.object or {}
    members = (
        ("ephemeralContainers",) if attributes.subresource else ("containers", "initContainers")
    )
    containers = [c for member in members for c in pod["spec"].get(member) or ()]
    annotations = pod["metadata"].get("annotations") or {}
    forwarded = {k: v for k, v in annotations.items() if _FORWARDED in k}
    spec: Object = {"containers": [{"image": c.get("image", "")} for c in containers]}
    if forwarded:
        spec["annotations"] = forwarded
    return {**spec, "namespace": attributes.namespace}


def _status(body: bytes) -> Mapping[str, Any]:
    """Raises CallFailed for what is no ImageReview."""
    try:
        review = orjson.loads(body)
        status = review.get("status") or {}
        allowed, reason = status.get("allowed", False), status.get("reason") or ""
        annotations = status.get("auditAnnotations") or {}
        pairs = dict(annotations.items())
    except (orjson.JSONDecodeError, AttributeError):
        raise CallFailed("the answer is no ImageReview") from None
    texts = all(isinstance(k, str) and isinstance(v, str) for k, v in pairs.items())
    if not isinstance(allowed, bool) or not isinstance(reason, str) or not texts:
        raise CallFailed("the answer is no ImageReview")
    kept = {k: v[:_LONGEST_TEXT] for k, v in list(pairs.items())[:100]}
    return {"allowed": allowed, "reason": reason[:_LONGEST_TEXT], "auditAnnotations": kept}
