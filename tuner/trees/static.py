"""Static trees that papers and engines ship, and their spelling as lists of choices.

Medusa, EAGLE-1 and TensorRT-LLM (``medusa_choices``, ``eagle_choices``) list the nodes of a tree by
the ranks on their way from the root, counted from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tuner.trees.shape import DraftTree, tree_of_paths

#: EAGLE-1's default, 25 nodes, depth 5 (SafeAILab/EAGLE@e98fc7c, model/choices.py, mc_sim_7b_63).
#: A word is a node, a digit a rank from 0.
EAGLE_1 = (
    "0 1 2 3 00 01 02 10 11 20 21 30 000 001 002 010 011 020 021 100 0000 0001 0002 00000 00001"
)
#: Medusa's default, 63 nodes, depth 4 (FasterDecoding/Medusa@5e98053,
#: medusa/model/medusa_choices.py, mc_sim_7b_63).
MEDUSA = (
    "0 1 2 3 4 5 6 7 8 9 "
    "00 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 20 21 22 30 31 40 50 60 70 80 90 "
    "000 001 002 003 004 005 006 007 008 009 010 011 012 020 021 030 040 050 060 070 "
    "100 101 200 0000 0001"
)


def tree_of_choices(choices: Iterable[Sequence[int]]) -> DraftTree:
    """Return the tree of a list of choices (ranks from 0, as the engines write them)."""
    return tree_of_paths(tuple(rank + 1 for rank in path) for path in choices)


def choices_of_tree(tree: DraftTree) -> list[list[int]]:
    """Return a tree as a list of choices, nodes in the order of the tree, the root left out."""
    return [[rank - 1 for rank in path] for path in tree.paths()[1:]]


def named_tree(words: str) -> DraftTree:
    """Return one of the trees of this module."""
    return tree_of_choices([int(digit) for digit in word] for word in words.split())
