from django.apps import AppConfig


class ControlplaneConfig(AppConfig):
    name = "controlplane"
    verbose_name = "Polyplane"

    def ready(self) -> None:
        from controlplane import (
            admissionfile,
            admissionplugins,
            checks,  # noqa: F401  registers them
            featuregates,
        )

        featuregates.apply()
        admissionplugins.enabled()  # a wrong name is refused before anything runs
        admissionfile.check()
