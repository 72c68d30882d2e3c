from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "controlplane.console"
    label = "console"
    verbose_name = "Console"

    def ready(self) -> None:
        from controlplane.console import accounttokens, sessionorigin  # noqa: F401  # receivers
