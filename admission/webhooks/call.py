"""One call of one admission webhook: from the request to an answer that has been checked.

Sources: k8s.io/apiserver ``admission/plugin/webhook/{mutating,validating}/dispatcher.go``
(callAttrMutatingHook, callHook), which say the same up to the patch.
"""

from __future__ import annotations

import logging
import time
import uuid
from dataclasses import dataclass

from admission.attributes import Attributes, Equivalent, Lookup
from admission.webhooks.client import WebhookClient
from admission.webhooks.denial import CallFailure, Denied, DryRunUnsupported
from admission.webhooks.errors import CallFailed
from admission.webhooks.hooks import Hook
from admission.webhooks.observer import CALLING_ERROR, INTERNAL_ERROR, NO_ERROR, Called, Observer
from admission.webhooks.review import BadAnswer, Response, response_of, review_of
from admission.webhooks.versions import Pair
from apiserver.audit import latencies
from apiserver.errors import ApiError, Forbidden
from apiserver.golang.strconv import go_quote
from apiserver.meta.names import qualified_name

log = logging.getLogger("polyplane.webhooks")

SLOW = 0.5
"""Seconds from which a call is told in the log."""
MOST = 100
"""Webhooks of one kind that one request may be about. A tenant chooses how many there are, and each
of them costs conditions, a call and perhaps a patch."""


def too_many(attributes: Attributes, kind: str) -> Forbidden:
    """The refusal of a request that more than `MOST` webhooks are about. ``kind``: "mutating" or
    "validating"."""
    why = f"more than {MOST} {kind} admission webhooks match this request; at most {MOST} may"
    return Forbidden(attributes.group_resource, attributes.name, why)


@dataclass(frozen=True, slots=True)
class Invocation:
    """What a webhook is asked. step: as in `Called`; pair: the objects as ``matched`` has them."""

    hook: Hook
    step: str
    attributes: Attributes
    matched: Equivalent
    pair: Pair

    @property
    def called(self) -> Called:
        attributes = self.attributes
        return Called(attributes.tenant, self.hook.name, self.step, attributes.operation)


class Caller:
    """Asks webhooks. One per process."""

    def __init__(self, client: WebhookClient, observer: Observer | None = None) -> None:
        self.client, self.observer = client, observer or Observer()

    async def ask(self, invocation: Invocation, lookup: Lookup) -> Response:
        """The answer of a webhook that allows the request, told to attributes and log. Raises
        CallFailure, Denied, DryRunUnsupported, and what `Bounds.within` raises."""
        hook, attributes = invocation.hook, invocation.attributes
        if attributes.dry_run and not hook.quiet:
            raise DryRunUnsupported(hook.name)
        if not hook.review:
            why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
            raise CallFailure(hook.name, f"could not create admission objects: {why}", 400)
        uid = str(uuid.uuid4())
        data = await self._post(invocation, lookup, uid)
        try:
            response = await attributes.bounds.by_size(
                len(data),
                lambda: response_of(data, hook.review, uid, mutating=invocation.step == "admit"),
            )
        except BadAnswer as error:
            what = (
                "received invalid webhook response" if error.received else "failed to call webhook"
            )
            raise CallFailure(hook.name, f"{what}: {error}", 503) from None
        _tell(hook, attributes, response)
        if not response.allowed:
            raise Denied(hook.name, response.status)
        return response

    async def _post(self, invocation: Invocation, lookup: Lookup, uid: str) -> bytes:
        hook, attributes = invocation.hook, invocation.attributes
        obj, old = invocation.pair.texts()

        def body() -> bytes:
            return review_of(hook.review, uid, attributes, invocation.matched, obj, old)

        limit = min(float(hook.timeout), attributes.bounds.seconds_left)
        begun = time.monotonic()
        try:
            return await self.client.post(
                attributes.tenant, hook.client_config, body, lookup, limit, len(obj) + len(old)
            )
        except CallFailed as error:
            if not error.configured:
                raise CallFailure(hook.name, f"could not get REST client: {error}", 500) from None
            raise CallFailure(hook.name, f"failed to call webhook: {error}", error.code) from None
        finally:
            seconds = time.monotonic() - begun
            layer = latencies.MUTATING if invocation.step == "admit" else latencies.VALIDATING
            latencies.add(attributes.delays, layer, seconds)
            if seconds >= SLOW:
                _log_slow(invocation, uid, seconds)

    # --- what is counted --------------------------------------------------------------------------
    def count(
        self, invocation: Invocation, seconds: float, error: CallFailure | ApiError | None
    ) -> None:
        """``error``: what `ask`, and what was made of its answer, have raised."""
        called, observe = invocation.called, self.observer
        if error is None:
            observe.called(called, seconds, 200, rejected=False)
        elif isinstance(error, CallFailure):
            observe.failed(called, str(error))
            rejected = not invocation.hook.fails_open
            if rejected:
                observe.rejected(called, CALLING_ERROR, error.code)
            observe.called(called, seconds, error.code, rejected=rejected)
        else:
            denied = isinstance(error, Denied)
            code = error.code if denied else 0
            observe.rejected(called, NO_ERROR if denied else INTERNAL_ERROR, code)
            observe.called(called, seconds, code, rejected=True)

    def fail(self, invocation: Invocation, failure: CallFailure, annotation: str) -> None:
        """What failurePolicy makes of a call that failed. ``annotation``: what the audit log calls
        a failure that is ignored. Raises InternalError under Fail."""
        hook = invocation.hook
        if not hook.fails_open:
            log.warning("failed calling webhook, failing closed %s: %s", hook.name, failure)
            raise failure.refusal()
        log.warning("failed calling webhook, failing open %s: %s", hook.name, failure)
        self.observer.failed_open(invocation.called)
        invocation.attributes.annotate(annotation, hook.name)


def _tell(hook: Hook, attributes: Attributes, response: Response) -> None:
    """Warnings and audit annotations, which count whatever the webhook decides."""
    for name, value in response.annotations.items():
        key = f"{hook.name}/{name}"
        if key.count("/") != 1 or qualified_name(key):
            log.warning(
                "webhook %s: audit annotation %s is no qualified name", hook.name, go_quote(key)
            )
        else:
            attributes.annotate(key, value)
    for text in response.warnings:
        attributes.warn(text)


def _log_slow(invocation: Invocation, uid: str, seconds: float) -> None:
    attributes, hook = invocation.attributes, invocation.hook
    what = "mutating" if invocation.step == "admit" else "validating"
    log.info(
        "slow call of %s webhook: tenant %s, configuration %s, webhook %s, %s %s%s, uid %s: %d ms",
        what,
        attributes.tenant,
        hook.configuration,
        hook.name,
        attributes.operation,
        attributes.group_resource,
        f"/{attributes.subresource}" if attributes.subresource else "",
        uid,
        round(seconds * 1000),
    )
