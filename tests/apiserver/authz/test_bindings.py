"""An index finds what a look at every binding finds, in the same order, and never what was there
before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from apiserver.authz.bindings import FEW, Identity, Index, Indexes, bound
from apiserver.meta.objects import Object
from apiserver.user import User
from tests.support.roles import account, binding, group, role, user

TO = role("r")
names = st.sampled_from(["a", "b", "ns", "system:serviceaccount:ns:a", ""])
subjects = st.one_of(
    st.builds(user, names),
    st.builds(group, names),
    st.builds(account, names, st.sampled_from(["", "ns", "other"])),
    st.builds(lambda name: {"kind": "Other", "name": name}, names),
)
bindings = st.lists(
    st.builds(
        lambda given, namespace: binding("b", TO, *given, namespace=namespace),
        st.lists(subjects, max_size=4),
        st.just("ns"),
    ),
    max_size=30,
)
users = st.builds(
    lambda name, groups: User(name, groups=tuple(groups)), names, st.lists(names, max_size=3)
)


@given(bindings, users, st.sampled_from(["", "ns"]))
def test_an_index_finds_the_same(held: list[Object], who: User, namespace: str) -> None:
    identity = Identity.of(who)
    assert list(Index(held, namespace).bound(identity)) == list(bound(held, identity, namespace))
    kept = Indexes()
    assert list(kept.bound(1, namespace, held, identity)) == list(bound(held, identity, namespace))
    assert len(kept) == int(len(held) > FEW)


def many(*who: str) -> list[Object]:
    return [binding(f"b{i}", TO, user(who[i % len(who)])) for i in range(20)]


def test_another_sequence_is_indexed_anew_and_tenants_have_their_own() -> None:
    indexes, eve = Indexes(), Identity.of(User("eve"))
    before, after, others = many("eve"), many("bob"), many("eve", "bob")
    assert len(list(indexes.bound(1, "", before, eve))) == 20
    assert list(indexes.bound(1, "", after, eve)) == []
    assert len(list(indexes.bound(2, "", others, eve))) == 10
    assert list(indexes.bound(1, "", after, eve)) == []
    assert len(list(indexes.bound(1, "ns", before, eve))) == 20
    assert len(indexes) == 3
    indexes.forget(1)
    assert len(indexes) == 1


def test_the_process_keeps_some() -> None:
    indexes, eve = Indexes(most=3), Identity.of(User("eve"))
    for i in range(10):
        assert len(list(indexes.bound(1, f"n{i}", many("eve"), eve))) == 20
    assert len(indexes) == 3
