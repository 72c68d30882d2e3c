"""By how many versions what is known here is behind the log, as `/metrics` and the console tell."""

from __future__ import annotations

from unittest.mock import patch

from apiserver.storage.postgres import PostgresStore
from apiserver.watch.watches import Watches
from tests.support.storage import CONFIGMAPS, create, index, key


async def test_it_says_by_how_much_the_tail_that_lags_is_behind(
    store: PostgresStore, elsewhere: PostgresStore, tenant: int
) -> None:
    watches = Watches(store, index)  # not started: nobody looks but the test
    known = await watches.cache(tenant, CONFIGMAPS)
    await watches._poll()
    assert watches.behind == 0
    with patch.object(watches._tails[tenant], "_catch_up"):
        for name in "abc":
            head = await elsewhere.write(tenant, create(key(name)))
        behind = head - known.resource_version
        assert behind >= 3
        await watches._poll()
        assert watches.behind == behind
    await watches.fresh(tenant, CONFIGMAPS)
    await watches._poll()
    assert watches.behind == 0
    await watches.stop()
