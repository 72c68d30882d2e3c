"""DELETE on a collection: what the selectors select is deleted one by one and returned as a
list."""

from __future__ import annotations

from dataclasses import replace

import orjson

from apiserver.errors import Invalid, NotFound
from apiserver.fielderrors import invalid
from apiserver.meta.gvk import GroupKind
from apiserver.registry import answers, questions, reading
from apiserver.registry.core import Registry
from apiserver.registry.deletion import delete
from apiserver.registry.options import UNSAFE, DeleteOptions, ListOptions
from apiserver.registry.reading import Listing
from apiserver.registry.scope import Scope
from apiserver.registry.selection import Selection


async def delete_collection(
    registry: Registry,
    scope: Scope,
    list_options: ListOptions,
    selection: Selection,
    options: DeleteOptions,
) -> Listing:
    """The list of what was selected, as it was before its deletion."""
    if options.unsafe:
        text = "is not allowed with DELETECOLLECTION, try again after removing the option"
        raise Invalid(GroupKind("meta.k8s.io", "DeleteOptions"), "", [invalid(UNSAFE, True, text)])
    read = answers.list_ if questions.is_asked(list_options, selection) else reading.list_
    listing = await read(registry, scope, list_options, selection)
    for item in listing.items:
        one = replace(scope, name=orjson.loads(item.json)["metadata"]["name"])
        try:
            await delete(registry, one, options, of_collection=True)
        except NotFound:
            continue  # somebody else was faster
    return listing
