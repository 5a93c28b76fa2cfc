"""Draft trees: exactness, speed against a plain search, and served trees against measurements.

Run ``python -m benchmarks.trees`` (a table) or with ``--json``. Every data file is an option.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tuner.records.config import TreeSetting
from tuner.trees.dynamic import SERVED_DEPTH_DISCOUNT, setting_length
from tuner.trees.expected import expected_tokens, rank_table
from tuner.trees.greedy import grow
from tuner.trees.optimal import optimal_trees
from tuner.trees.ranks import rank_acceptance
from tuner.trees.static import EAGLE_1, named_tree

FloatArray = NDArray[np.float64]

DATA = Path(__file__).parent.parent / "data"
#: levels with the root → budgets with the root → published optimum
OPTIMA = {
    10: {
        16: 3.13029,
        32: 3.50074,
        64: 3.85231,
        128: 4.19211,
        256: 4.52908,
        512: 4.85344,
        1024: 5.16143,
    },
    5: {64: 3.52606, 128: 3.73580, 256: 3.91112, 512: 4.05405, 1024: 4.14984},
    20: {64: 3.85544, 128: 4.20206, 256: 4.54560, 512: 4.88617, 1024: 5.21719},
}
OPTIMA_WITH_GAPS = {64: 3.85713, 128: 4.19776}
#: budget and levels, both with the root, of the timed search
TIMED_BUDGET, TIMED_LEVELS = 1024, 10
DISCOUNTS = (1.0, 0.7, 0.5, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1)
STATIC_SOURCES = ("EAGLE paper", "EAGLE-2 paper")
CHAINS = ("3/1/4", "5/1/6", "7/1/8")
TREES = (("5/3/6", "5/1/6"), ("7/4/8", "7/1/8"))


def plain_search(vector: FloatArray, budget: int, levels: int) -> FloatArray:
    """Return the optimum of every budget, root included, by the recursion written out in NumPy.

    One dot of work for each level, rank and budget: the vectors of ways to split a budget between
    a child and its further siblings are added and the largest sum is taken.
    """
    worth = np.full(budget + 1, -np.inf)
    worth[1] = 1.0
    for _ in range(levels - 1):
        children = np.zeros(budget)  # of ranks after the last: no nodes, nothing gained
        children[1:] = -np.inf
        for chance in vector[::-1]:
            gains = np.where(worth > 0.0, chance * np.maximum(worth, 0.0), -np.inf)
            more = np.full(budget, -np.inf)
            more[0] = 0.0
            for nodes in range(1, budget):
                more[nodes] = (gains[1 : nodes + 1] + children[nodes - 1 :: -1]).max()
            children = more
        worth = np.concatenate(([-np.inf], 1.0 + children))
    return np.maximum.accumulate(worth[1:])


def exactness(vector: FloatArray) -> dict[str, float]:
    """Return the largest distances to the published optima."""
    off = [
        abs(optimal_trees(vector, nodes=1023, depth=levels - 1).lengths[budget - 1] - optimum)
        for levels, optima in OPTIMA.items()
        for budget, optimum in optima.items()
    ]
    gapped = optimal_trees(vector, nodes=127, depth=9, allow_gaps=True).lengths
    off_gapped = [abs(gapped[budget - 1] - best) for budget, best in OPTIMA_WITH_GAPS.items()]
    shortfall = [
        1.0
        - grow(rank_table(vector, levels - 1), 1023)[1]
        / optimal_trees(vector, nodes=1023, depth=levels - 1).lengths
        for levels in OPTIMA
    ]
    return {
        "largest_difference": max(off),
        "largest_difference_with_gaps": max(off_gapped),
        "greedy_shortfall_percent": 100.0 * float(np.max(shortfall)),
    }


def speed(vector: FloatArray, rounds: int) -> dict[str, float]:
    """Time both searches in turn (CPU seconds, medians); they must agree."""
    plain_s, exact_s = [], []
    for _ in range(rounds):
        expected, seconds = _timed(lambda: plain_search(vector, TIMED_BUDGET, TIMED_LEVELS))
        plain_s.append(seconds)
        found, seconds = _timed(
            lambda: optimal_trees(vector, nodes=TIMED_BUDGET - 1, depth=TIMED_LEVELS - 1).lengths
        )
        exact_s.append(seconds)
    return {
        "plain_s": statistics.median(plain_s),
        "exact_s": statistics.median(exact_s),
        "times_faster": statistics.median(
            plain / exact for plain, exact in zip(plain_s, exact_s, strict=True)
        ),
        "largest_disagreement": float(np.abs(expected - found).max()),
    }


def _timed(search: Callable[[], FloatArray]) -> tuple[FloatArray, float]:
    start = time.process_time()
    result = search()
    return result, time.process_time() - start


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One target, drafter and benchmark served with chains and with trees."""

    target: str
    table: FloatArray
    #: setting → measured τ
    lengths: dict[str, float]


def read_served(path: Path) -> list[Served]:
    """Return the SpecBundle groups that have all three chains and both trees."""
    groups: dict[tuple[str, str, str], dict[str, float]] = defaultdict(dict)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if "spec_bundle" not in row["source_ref"] or not row["steps"]:
                continue
            numbers = (row["steps"], row["topk"], row["draft_tokens"])
            name = "/".join(str(int(float(number))) for number in numbers)
            key = (row["target_model"], row["draft_model"], row["benchmark"])
            groups[key][name] = float(row["acceptance_length"])
    wanted = {*CHAINS, *(tree for tree, _ in TREES)}
    return [
        Served(
            target=key[0],
            table=rank_acceptance(conditional_of([lengths[name] for name in CHAINS]), 4),
            lengths=lengths,
        )
        for key, lengths in groups.items()
        if wanted <= lengths.keys()
    ]


def conditional_of(lengths: list[float]) -> FloatArray:
    """Return conditional rates that give τ at K = 3, 5, 7, one rate for each stretch between."""
    survival, rates = 1.0, []
    for positions, (shorter, longer) in zip((3, 2, 2), pairwise([1.0, *lengths]), strict=True):
        rate = mean_rate(positions, 1.0 + (longer - shorter) / survival)
        rates += [rate] * positions
        survival *= rate**positions
    return np.array(rates)


def log_errors(served: list[Served], discount: float) -> FloatArray:
    """Return ln(predicted ÷ measured τ) of all trees."""
    return np.array(
        [
            np.log(setting_length(_setting(tree), one.table, depth_discount=discount))
            - np.log(one.lengths[tree])
            for one in served
            for tree, _ in TREES
        ]
    )


def unseen_trees(path: Path) -> dict[str, object]:
    """Predict trees of other sources from a chain of the same source, target and task.

    Only one chain is known there, so every position gets its mean rate.
    """
    chains: dict[tuple[str, str, str], tuple[int, float]] = {}
    trees: list[tuple[tuple[str, str, str], TreeSetting, float]] = []
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["metric"] != "tau" or "SpecBundle" in row["source"]:
                continue
            texts = [row[name] for name in ("num_steps", "topk", "num_draft_tokens")]
            if not all(texts):
                continue
            key = (row["source"], row["target_model"], row["task"])
            numbers = [int(float(text)) for text in texts]
            if numbers[1] == 1:
                chains.setdefault(key, (numbers[0], float(row["value"])))
            else:
                setting = TreeSetting(
                    num_steps=numbers[0], topk=numbers[1], draft_tokens=numbers[2]
                )
                trees.append((key, setting, float(row["value"])))
    errors = {}
    for key, setting, measured in trees:
        if key not in chains:
            continue
        table = rank_acceptance([mean_rate(*chains[key])] * setting.num_steps, setting.topk)
        errors[f"{key[0]}, {key[1]} {setting}"] = setting_length(setting, table) / measured - 1.0
    return {"trees": errors, "median_error": float(np.median(np.abs(list(errors.values()))))}


def static_trees(path: Path) -> dict[str, object]:
    """Predict EAGLE-1's τ with its 25-node tree from its conditional rates, MT-bench."""
    rates: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    lengths: dict[tuple[str, str], float] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["source"] not in STATIC_SOURCES or row["task"] != "mt-bench":
                continue
            key = (row["target_model"], row["temperature"])
            if row["metric"].startswith("conditional_pos"):
                rates[key][row["metric"]] = float(row["value"])
            elif row["metric"] == "tau" and row["method"] == "eagle" and "static" in row["tree"]:
                lengths[key] = float(row["value"])
    tree = named_tree(EAGLE_1)
    errors = {
        f"{key[0]} T={key[1]}": expected_tokens(
            tree, rank_acceptance([chain[name] for name in sorted(chain)], 4)
        )
        / lengths[key]
        - 1.0
        for key, chain in rates.items()
        if key in lengths and len(chain) == tree.depth
    }
    return {"trees": errors, "median_error": float(np.median(np.abs(list(errors.values()))))}


def mean_rate(positions: int, length: float) -> float:
    """Return the conditional rate that gives τ at K = ``positions``."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        gained = sum(middle**i for i in range(1, positions + 1))
        low, high = (middle, high) if gained < length - 1.0 else (low, middle)
    return low


def best_discount(served: list[Served]) -> float:
    """Return the discount with the least median error."""
    medians = [float(np.median(np.abs(log_errors(served, discount)))) for discount in DISCOUNTS]
    return DISCOUNTS[int(np.argmin(medians))]


def served_trees(served: list[Served]) -> dict[str, object]:
    """Return how well trees follow from chains, the discount left out by target, and the ratios."""
    ratios = [one.lengths[tree] / one.lengths[line] for one in served for tree, line in TREES]
    by_discount = {
        f"{discount:g}": float(np.median(np.abs(log_errors(served, discount))))
        for discount in DISCOUNTS
    }
    held_out: list[float] = []
    chosen: list[float] = []
    for target in sorted({one.target for one in served}):
        best = best_discount([one for one in served if one.target != target])
        chosen.append(best)
        own = [one for one in served if one.target == target]
        held_out += np.abs(log_errors(own, best)).tolist()
    final = log_errors(served, SERVED_DEPTH_DISCOUNT)
    factor = min(
        np.linspace(0.7, 1.0, 31),
        key=lambda f: float(np.median(np.abs(f / np.array(ratios) - 1.0))),
    )
    constant = np.abs(factor / np.array(ratios) - 1.0)
    return {
        "pairs": len(ratios),
        "chain_wins_share": float(np.mean(np.array(ratios) < 1.0)),
        "median_tree_over_chain": float(np.median(ratios)),
        "median_error_by_discount": by_discount,
        "median_error_held_out": float(np.median(held_out)),
        "discounts_held_out": chosen,
        "median_error": float(np.median(np.abs(final))),
        "mean_error": float(np.mean(np.abs(final))),
        "constant_factor": float(factor),
        "median_error_constant_factor": float(np.median(constant)),
        "mean_error_constant_factor": float(np.mean(constant)),
        "bias": float(np.median(final)),
        "log_sd": float(final.std(ddof=1)),
    }


def _setting(name: str) -> TreeSetting:
    steps, topk, tokens = map(int, name.split("/"))
    return TreeSetting(num_steps=steps, topk=topk, draft_tokens=tokens)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=Path, default=DATA / "sibling_rank_acceptance.csv")
    parser.add_argument("--acceptance", type=Path, default=DATA / "acceptance.csv")
    parser.add_argument("--measurements", type=Path, default=DATA / "measurements.csv")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with options.ranks.open(encoding="utf-8", newline="") as file:
        vector = np.array([float(row["acceptance"]) for row in csv.DictReader(file)])
    figures = {
        "exactness": exactness(vector),
        "speed": speed(vector, options.rounds),
        "served_trees": served_trees(read_served(options.acceptance)),
        "static_trees": static_trees(options.measurements),
        "unseen_trees": unseen_trees(options.measurements),
    }
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    for part, values in figures.items():
        print(part.replace("_", " "))
        for name, value in values.items():
            text = f"{value:.6g}" if isinstance(value, float) else str(value)
            print(f"  {name.replace('_', ' '):32} {text}")


if __name__ == "__main__":
    main()
