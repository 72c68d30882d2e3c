"""Objects that are created only while another one is there and not being deleted: custom resources and their definition.

`pp_commit` looks that up under the tenant's lock, so that a worker that has not heard of the deletion yet cannot leave anything behind. A
process of an older version commits without needs.
"""

from importlib import import_module
from typing import ClassVar

from django.db import migrations

BEFORE = import_module("apiserver.storage.migrations.0003_claims").COMMIT
DROP = "DROP FUNCTION pp_commit;"
COMMIT = BEFORE.replace(
    "p_claims text[] DEFAULT NULL",
    "p_claims text[] DEFAULT NULL, p_needs text[] DEFAULT NULL",
).replace(
    "        IF status <> 'done' THEN",
    """        IF status = 'done' AND p_operation[i] = 'A' AND p_needs[i] IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM objects o WHERE o.tenant_id = p_tenant AND o.uid = p_needs[i]::uuid AND NOT o.deleting
        ) THEN
            status := 'orphan';
        END IF;
        IF status <> 'done' THEN""",
)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0003_claims")]

    operations: ClassVar = [migrations.RunSQL([DROP, COMMIT], [DROP, BEFORE])]
