from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "controlplane.console"
    label = "console"
    verbose_name = "Console"

    def ready(self) -> None:
        from controlplane.console import accounttokens  # noqa: F401  # its receivers
