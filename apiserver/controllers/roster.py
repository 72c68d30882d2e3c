"""The keepers that every server has, whatever it is set up with; what needs certificates or a
switch is added by `apiserver.controllers.manager`."""

from __future__ import annotations

from apiserver.controllers.actions import Actions
from apiserver.controllers.aggregatedroles import AggregatedRoles
from apiserver.controllers.bootstrap import BootstrapRoles, LocalServices
from apiserver.controllers.certificaterequests import RequestApprover
from apiserver.controllers.defaultrange import DefaultRange
from apiserver.controllers.disruption import DisruptionBudgets
from apiserver.controllers.endpointmirroring import MirroredEndpoints
from apiserver.controllers.endpoints import ServiceEndpoints
from apiserver.controllers.endpointslices import EndpointSlices
from apiserver.controllers.fieldindexes import FieldIndexes
from apiserver.controllers.finishedjobs import FinishedJobs
from apiserver.controllers.flowschemas import DanglingSchemas
from apiserver.controllers.policystatus import PolicyStatus
from apiserver.controllers.requestcleaner import RequestCleaner
from apiserver.controllers.serviceaccounts import DefaultAccount
from apiserver.controllers.staledisruptions import StaleDisruptions
from apiserver.controllers.storageprotection import (
    ClaimProtection,
    ClassProtection,
    VolumeProtection,
)
from apiserver.controllers.systemnamespaces import SystemNamespaces
from apiserver.controllers.tokencleaner import TokenCleaner
from apiserver.controllers.upkeep import Keeper
from apiserver.storage.pool import Database
from apiserver.storage.relations import Relations


def of_every_server(actions: Actions, relations: Relations, database: Database) -> list[Keeper]:
    return [
        SystemNamespaces(actions, relations),
        DefaultAccount(actions, relations),
        PolicyStatus(actions, relations),
        AggregatedRoles(actions, relations),
        FinishedJobs(actions, relations),
        ClaimProtection(actions, relations),
        VolumeProtection(actions, relations),
        ClassProtection(actions, relations),
        DisruptionBudgets(actions, relations),
        StaleDisruptions(actions),
        BootstrapRoles(actions, relations),
        LocalServices(actions, relations),
        DanglingSchemas(actions, relations),
        TokenCleaner(actions, relations),
        DefaultRange(actions, relations),
        RequestApprover(actions, relations),
        RequestCleaner(actions, relations),
        FieldIndexes(actions, relations),
        EndpointSlices(actions, database),
        ServiceEndpoints(actions, database),
        MirroredEndpoints(actions, database),
    ]
