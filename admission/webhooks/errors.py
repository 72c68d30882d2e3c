"""What can go wrong with a call, in the words that kube-apiserver's clients know."""

from __future__ import annotations


class CallFailed(Exception):
    """The webhook could not be asked, or its answer is no answer; the text names the URL where one
    was called. code: of its answer, 503 where there was none; configured: whether its clientConfig
    could be read."""

    def __init__(self, text: str, code: int = 503, *, configured: bool = True) -> None:
        super().__init__(text)
        self.code, self.configured = code, configured


class ServiceError(Exception):
    """A Service leads nowhere; the text says why."""
