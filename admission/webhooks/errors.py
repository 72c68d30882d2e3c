"""What can go wrong with a call, in the words that kube-apiserver's clients know."""

from __future__ import annotations


class CallFailed(Exception):
    """The webhook could not be asked, or its answer is no answer; the text names the URL where one
    was called. code: of its answer, 503 where there was none; configured: whether its clientConfig
    could be read; late: whether it took too long."""

    def __init__(
        self, text: str, code: int = 503, *, configured: bool = True, late: bool = False
    ) -> None:
        super().__init__(text)
        self.code, self.configured, self.late = code, configured, late


class ServiceError(Exception):
    """A Service leads nowhere; the text says why."""
