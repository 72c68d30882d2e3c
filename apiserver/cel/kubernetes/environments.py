"""The environments that programs are compiled in: the standard language, and Kubernetes'
(k8s.io/apiserver ``pkg/cel/environment``)."""

from __future__ import annotations

from typing import Final

from apiserver.cel.decls import merge
from apiserver.cel.env import Env
from apiserver.cel.library.authorizer import AUTHORIZER
from apiserver.cel.library.collections import KUBERNETES_LISTS, LIST_MACROS, LISTS, MAP_INSERT, SETS
from apiserver.cel.library.network import CIDR_TYPE, IP_TYPE, NETWORK
from apiserver.cel.library.optionals import OPTIONALS
from apiserver.cel.library.standard import STANDARD
from apiserver.cel.library.strings import STRINGS_V2
from apiserver.cel.library.text import FORMAT_FUNCTIONS, REGEX, URLS
from apiserver.cel.library.versions import QUANTITIES, SEMVERS
from apiserver.cel.library.wellknown import MESSAGES
from apiserver.cel.syntax import macros
from apiserver.cel.types import opaque_type

TYPE_NAMES: Final = {
    "optional_type": opaque_type("optional_type"),
    "net.IP": IP_TYPE,
    "net.CIDR": CIDR_TYPE,
}

BASE: Final = Env(
    functions=merge(
        STANDARD,
        KUBERNETES_LISTS,
        OPTIONALS,
        STRINGS_V2,
        SETS,
        MAP_INSERT,
        LISTS,
        URLS,
        REGEX,
        AUTHORIZER,
        QUANTITIES,
        NETWORK,
        FORMAT_FUNCTIONS,
        SEMVERS,
    ),
    macros={**macros.STANDARD, **macros.OPTIONAL, **macros.TWO_VARIABLES, **LIST_MACROS},
    type_names=TYPE_NAMES,
    structs=MESSAGES,
    validators=True,
)
"""What every expression of Kubernetes may use, without variables."""
