"""All tags under one import: ``from apiserver.kinds.declarative import tags as t``, then
``t.alpha(t.minimum(0))``."""

from apiserver.kinds.declarative.conditions import (
    alpha,
    beta,
    if_disabled,
    if_enabled,
    validate_error,
    validate_false,
    validate_true,
    validate_true_alpha,
    validate_true_beta,
)
from apiserver.kinds.declarative.equality import enum, enum_exclude, immutable, neq, update
from apiserver.kinds.declarative.formats import format
from apiserver.kinds.declarative.limits import (
    max_bytes,
    max_items,
    max_length,
    maximum,
    min_items,
    min_length,
    minimum,
)
from apiserver.kinds.declarative.lists import (
    custom_unique,
    each_key,
    each_val,
    item,
    list_map_key,
    list_type,
    unique,
)
from apiserver.kinds.declarative.presence import default, forbidden, optional, required
from apiserver.kinds.declarative.structure import (
    custom,
    is_subresource,
    opaque_type,
    subfield,
    supports_subresource,
)
from apiserver.kinds.declarative.unions import (
    discriminator,
    member,
    union_discriminator,
    union_member,
    zero_or_one_of_member,
)

__all__ = [
    "alpha",
    "beta",
    "custom",
    "custom_unique",
    "default",
    "discriminator",
    "each_key",
    "each_val",
    "enum",
    "enum_exclude",
    "forbidden",
    "format",
    "if_disabled",
    "if_enabled",
    "immutable",
    "is_subresource",
    "item",
    "list_map_key",
    "list_type",
    "max_bytes",
    "max_items",
    "max_length",
    "maximum",
    "member",
    "min_items",
    "min_length",
    "minimum",
    "neq",
    "opaque_type",
    "optional",
    "required",
    "subfield",
    "supports_subresource",
    "union_discriminator",
    "union_member",
    "unique",
    "update",
    "validate_error",
    "validate_false",
    "validate_true",
    "validate_true_alpha",
    "validate_true_beta",
    "zero_or_one_of_member",
]
