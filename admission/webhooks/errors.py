"""What can go wrong with a call, in the words that kube-apiserver's clients know."""

from __future__ import annotations


class CallFailed(Exception):
    """The webhook could not be asked, or its answer is no answer; the text names the URL where one was called."""


class ServiceError(Exception):
    """A Service leads nowhere; the text says why."""
