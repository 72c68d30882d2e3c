"""The functions (apiserver/storage/sql), also in a database that had them from earlier migrations:
they do the same there, and are now written as in the files."""

from typing import ClassVar

from django.db import migrations

from apiserver.storage import sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0001_schema")]

    functions: ClassVar = "98d202eba944d3cc"
    """sql.digest() of what this migration was made for."""

    operations: ClassVar = [sql.functions()]
