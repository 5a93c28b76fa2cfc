"""Lessons about what an engine does around the rule: the tree mask, the KV cache."""

from __future__ import annotations

import numpy as np

from tuner.lessons.outcome import LessonTable, Outcome, curve
from tuner.simulate.attention import (
    causal_mask,
    greedy_accepted,
    longest_accepted_path,
    path_logits,
    random_transformer,
    tree_logits,
    tree_mask,
    tree_positions,
)
from tuner.simulate.batched import BatchRun, run_batch
from tuner.simulate.kv import KvCache, KvCounts, LengthCache, PagedCache, ScratchCache, replay
from tuner.simulate.models import FloatArray, random_table
from tuner.simulate.pairs import perturbed
from tuner.simulate.tree_step import widths_tree


def tree_mask_lesson() -> Outcome:
    """Read a [2, 2, 2] tree in one pass and path by path, and break mask and positions."""
    rng = np.random.default_rng(1)
    model = random_transformer(rng)
    tree = widths_tree((2, 2, 2))
    prefix = rng.integers(32, size=5)
    tokens = rng.integers(32, size=tree.nodes)
    right = path_logits(model, prefix, tree, tokens)
    tokens[0] = int(right[0].argmax())  # let the first node be what a greedy target wants
    right = path_logits(model, prefix, tree, tokens)
    whole = np.concatenate([prefix, tokens])
    size = len(whole)
    readings = {
        "tree mask, positions by depth": tree_logits(model, prefix, tree, tokens),
        "causal mask": model.logits(whole, tree_positions(tree, 5), causal_mask(size))[4:],
        "positions in a row": model.logits(whole, np.arange(size), tree_mask(tree, 5))[4:],
    }
    differences = {name: np.abs(found - right).max(axis=1) for name, found in readings.items()}
    small = widths_tree((2, 2))
    mask = small.mask()
    drawn = LessonTable(
        title="mask of a [2, 2] tree: what each node sees besides the prefix",
        columns=("node", "depth", "position", *(str(node) for node in range(7))),
        rows=tuple(
            (
                str(node),
                str(small.depths[node]),
                f"L+{small.depths[node]}",
                *("x" if sees else "." for sees in mask[node]),
            )
            for node in range(7)
        ),
    )
    compared = LessonTable(
        title="largest difference of logits from reading each path alone",
        columns=("one pass with", "difference"),
        rows=tuple((name, f"{found.max():.0e}") for name, found in differences.items()),
    )
    accepted = greedy_accepted(tree, tokens, readings["tree mask, positions by depth"])
    path = longest_accepted_path(tree, accepted)
    nodes = np.arange(tree.nodes + 1)
    return Outcome(
        findings=(
            "One pass over all 14 nodes gives the logits of reading each of the 8 paths alone, "
            "if and only if the mask hides siblings and positions count depth.",
            f"A greedy target accepts the path of nodes {path} here.",
        ),
        tables=(drawn, compared),
        curves=tuple(curve(name, nodes, found) for name, found in differences.items()),
        x_label="node",
        y_label="largest difference of logits",
    )


def kv_rollback() -> Outcome:
    """Follow two sequences through a few steps, and three caches through a long run."""
    rng = np.random.default_rng(2)
    target = random_table(rng, 8, 1, sharpness=2.0)
    drafter = perturbed(target, 1.5, rng)
    run = run_batch(
        target,
        drafter,
        prompts=np.array([1]),
        batch=2,
        steps=200,
        num_speculative_tokens=3,
        rng=rng,
    )
    shown, lengths = _first_steps(run, 6)
    totals, counts = _three_caches(run)
    steps = np.arange(len(lengths))
    return Outcome(
        findings=(
            "Each sequence goes back on its own: to prefix + accepted drafts + 1. The final token "
            "of a step gets its entry in the next pass.",
            f"Of {counts.computed:,} computed entries {counts.discarded:,} were of rejected "
            f"drafts; {counts.recomputed} committed entries were computed twice.",
        ),
        tables=(shown, totals),
        curves=(
            curve("sequence A", steps, lengths[:, 0]),
            curve("sequence B", steps, lengths[:, 1]),
        ),
        x_label="step",
        y_label="valid entries",
    )


def _first_steps(run: BatchRun, steps: int) -> tuple[LessonTable, FloatArray]:
    """Return the table of the first steps, and the valid lengths before and after each."""
    cache = PagedCache(2, num_blocks=64, block_size=4)
    rows = []
    lengths = np.zeros((steps + 1, 2))
    roots = np.array([1, 1])
    for step in range(steps):
        before = cache.length
        cache.write(np.concatenate([roots[:, None], run.drafts[step]], axis=1))
        held = [len(table) for table in cache.tables]
        cache.commit(run.num_accepted[step] + 1)
        roots = run.final[step]
        lengths[step + 1] = cache.length
        for sequence, name in enumerate("AB"):
            kept = int(run.num_accepted[step, sequence])
            rows.append(
                (
                    f"{step + 1} {name}",
                    str(before[sequence]),
                    str(before[sequence] + 4),
                    str(kept),
                    f"{before[sequence]} + {kept} + 1 = {cache.length[sequence]}",
                    f"{held[sequence]} → {len(cache.tables[sequence])}",
                )
            )
    table = LessonTable(
        title=f"first {steps} steps of sequences A and B, N = 3: valid entries and blocks of 4",
        columns=("step", "valid", "written to", "accepted", "rolled back to", "blocks"),
        rows=tuple(rows),
    )
    return table, lengths


def _three_caches(run: BatchRun) -> tuple[LessonTable, KvCounts]:
    """Return the work of three caches under one run, and the counts of the length cache."""
    caches: dict[str, KvCache] = {
        "scratch buffer, copied": ScratchCache(2, 1_000),
        "one buffer, logical length": LengthCache(2, 1_000),
        "paged, blocks of 4": PagedCache(2, num_blocks=500, block_size=4),
    }
    rows = []
    for name, cache in caches.items():
        replay(cache, np.array([1, 1]), run.drafts, run.num_accepted, run.final)
        counts = cache.counts
        work = (counts.computed, counts.committed, counts.discarded, counts.copied)
        rows.append((name, *map(str, work), str(counts.recomputed)))
    table = LessonTable(
        title="200 steps, entries",
        columns=("cache", "computed", "committed", "discarded", "copied", "twice"),
        rows=tuple(rows),
    )
    return table, caches["one buffer, logical length"].counts
