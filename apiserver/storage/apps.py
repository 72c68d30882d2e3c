from django.apps import AppConfig


class StorageConfig(AppConfig):
    name = "apiserver.storage"
    label = "storage"
    verbose_name = "Stored objects"
    default_auto_field = "django.db.models.BigAutoField"
