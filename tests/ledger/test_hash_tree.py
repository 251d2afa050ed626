"""The tree over the hashes of events is that of RFC 6962 and RFC 9162, and shows what is in it and nothing else."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bygones.ledger.proof.hash_tree import HashTree, contains

# The leaves and roots with which implementations of Certificate Transparency are tested.
LEAVES = [bytes.fromhex(text) for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657",
                                           "606162636465666768696a6b6c6d6e6f")]  # fmt: skip
ROOTS = {
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}


@pytest.mark.parametrize("size", ROOTS)
def test_roots_are_those_of_certificate_transparency(size):
    assert HashTree(LEAVES[:size]).root.hex() == ROOTS[size]


def root(leaves):
    """The definition of the RFC, word for word."""
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    k = 1
    while 2 * k < len(leaves):
        k *= 2
    return hashlib.sha256(b"\1" + root(leaves[:k]) + root(leaves[k:])).digest()


@given(st.integers(1, 70), st.data())
def test_every_leaf_is_shown_to_be_in_the_tree_at_its_place_only(size, data):
    leaves = [bytes([number]) for number in range(size)]
    place = data.draw(st.integers(1, size))
    tree = HashTree(leaves, watched=place)
    leaf, path = leaves[place - 1], tree.path
    assert tree.root == root(leaves)
    assert len(path) <= (size - 1).bit_length()
    assert contains(tree.root, size, place, leaf, path)
    assert not contains(tree.root, size, place, b"another", path)
    other = data.draw(st.integers(-1, size + 2).filter(lambda other: other != place))
    assert not contains(tree.root, size, other, leaf, path)
    assert not contains(tree.root, size, place, leaf, (*path, bytes(32)))
    if path:
        assert not contains(tree.root, size, place, leaf, path[:-1])
        assert not contains(tree.root, size, place, leaf, (*path[:-1], bytes(32)))


def test_a_tree_can_grow():
    tree = HashTree(LEAVES[:3])
    for leaf in LEAVES[3:]:
        tree.add(leaf)
    assert (tree.size, tree.root.hex(), tree.path) == (8, ROOTS[8], ())
