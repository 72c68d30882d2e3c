from django.apps import AppConfig


class ControlplaneConfig(AppConfig):
    name = "controlplane"
    verbose_name = "Polyplane"

    def ready(self) -> None:
        from controlplane import (
            checks,  # noqa: F401  registers them
            featuregates,
        )

        featuregates.apply()
