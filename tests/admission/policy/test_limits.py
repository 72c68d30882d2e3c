"""What expressions may cost, and that none of them holds up the event loop."""

from __future__ import annotations

from apiserver.registry import offload
from tests.admission.policy.policies import Policies, check, configmap, merge
from tests.support.stretch import measured_lag

OUT = "validation failed due to running out of cost budget, no further validation rules will be run"
_ITEMS = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
COSTLY = (
    f"{_ITEMS}.all(a, {_ITEMS}.all(b, {_ITEMS}.all(c, {_ITEMS}.all(d, {_ITEMS}.all(e, e > 0)))))"
)
"""More than 500,000 units."""
ENDLESS = f"{_ITEMS}.all(z, {COSTLY})"


async def test_one_evaluation(policies: Policies) -> None:
    await policies.validating("p", check(ENDLESS))
    denied = await policies.denied(configmap())
    assert denied.endswith("operation cancelled: actual cost limit exceeded")


async def test_all_validations_of_a_policy(policies: Policies) -> None:
    await policies.validating("p", *(check(COSTLY) for _ in range(60)))
    assert await policies.denied(configmap()) == OUT
    # the budget is each policy's own
    await policies.validating("q", *(check(COSTLY) for _ in range(10)), actions=["Warn"])
    await policies.denied(configmap())
    assert policies.api.warnings == []


async def test_messages_have_what_validations_left(policies: Policies) -> None:
    dear = f"string({COSTLY})"
    checks = [check(f"{COSTLY} && {i} < 99", messageExpression=dear) for i in range(12)]
    await policies.validating("p", *checks)
    assert await policies.denied(configmap()) == f"failed messageExpression: {OUT}"


async def test_match_conditions(policies: Policies) -> None:
    conditions = [{"name": f"c{i}", "expression": f"{COSTLY} && {i} < 99"} for i in range(12)]
    await policies.validating("p", check("true"), matchConditions=conditions)
    assert await policies.denied(configmap()) == OUT


async def test_variables_are_charged_to_whoever_reads_them_first(policies: Policies) -> None:
    variables = [{"name": f"v{i}", "expression": COSTLY} for i in range(60)]
    all_of_them = " && ".join(f"variables.v{i}" for i in range(60))
    await policies.validating("p", check(all_of_them), variables=variables)
    assert await policies.denied(configmap()) == OUT


async def test_a_mutation(policies: Policies) -> None:
    await policies.mutating("p", merge(f"Object{{data: {{'x': string({ENDLESS})}}}}"))
    denied = await policies.denied(configmap())
    assert denied.endswith("operation cancelled: actual cost limit exceeded")


async def test_a_long_evaluation_leaves_the_loop(policies: Policies) -> None:
    """No turn of the loop may take much longer than what validation may take on it."""
    await policies.validating("p", *(check(COSTLY) for _ in range(12)))
    await policies.made(configmap("compiled"))
    with measured_lag() as lag:
        await policies.made(configmap("long"))
    assert 0 < lag.longest < 20 * offload.ON_LOOP


async def test_a_large_object_goes_straight_to_a_thread(policies: Policies) -> None:
    await policies.validating("p", check("size(object.data.x) < 9", message="too large"))
    await policies.mutating("m", merge("Object{data: {'y': 'z'}}"))
    assert await policies.denied(configmap(data={"x": "y" * 200_000})) == "too large"


async def test_many_policies_are_looked_through(policies: Policies) -> None:
    for i in range(70):
        await policies.validating(f"p{i:02}", check("object.metadata.name != 'x'", message=str(i)))
    await policies.made(configmap("y"))
    assert await policies.denied(configmap("x")) == "0"
