"""The screen and the JSON document of ``simulate --tree``."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType

from tuner.report.layout import Column, fitted_table, literal, paragraph
from tuner.report.plots import bars
from tuner.simulate.tree_trial import Length, TreeComparison

SCHEMA_VERSION = 1


def tree_document(title: str, rows: Sequence[TreeComparison], seed: int) -> dict[str, object]:
    """Return the JSON document of ``simulate --tree``."""
    return {
        "schema_version": SCHEMA_VERSION,
        "models": title,
        "seed": seed,
        "trees": [
            {
                "name": row.plan.name,
                "verify_tokens": row.plan.verify_tokens,
                "draft_steps": row.plan.draft_steps,
                "acceptance_length": _length_fields(row.tree),
                "chain_with_equal_verify_tokens": _length_fields(row.equal_verify),
                "chain_with_equal_draft_steps": _length_fields(row.equal_draft),
            }
            for row in rows
        ],
    }


def _length_fields(length: Length) -> dict[str, float]:
    return {"measured": length.mean, "standard_error": length.error}


def render_trees(
    title: str, rows: Sequence[TreeComparison], *, width: int, blocks: bool
) -> list[RenderableType]:
    """Return the screen: each tree beside its two chains."""
    plans = [row.plan for row in rows]
    columns = [
        Column(title="tree", cells=tuple(plan.name for plan in plans), align="left"),
        Column(title="verify", cells=tuple(str(plan.verify_tokens) for plan in plans)),
        Column(title="passes", cells=tuple(str(plan.draft_steps) for plan in plans)),
        Column(title="tokens/verify", cells=tuple(_with_error(row.tree) for row in rows)),
        Column(
            title="same verify",
            cells=tuple(
                f"K {row.plan.verify_tokens - 1} {row.equal_verify.mean:.3f}" for row in rows
            ),
        ),
        Column(
            title="same passes",
            cells=tuple(f"K {row.plan.draft_steps} {row.equal_draft.mean:.3f}" for row in rows),
        ),
    ]
    chart = bars([(row.plan.name, row.tree.mean) for row in rows], width=width, blocks=blocks)
    return [
        "",
        paragraph(f"{title} · trees against chains", style="bold"),
        "",
        paragraph(tree_sentence(rows[0]), style="bold"),
        "",
        fitted_table(columns, width=width, indent=4),
        "",
        paragraph("tokens a verify pass"),
        literal(chart),
        "",
        paragraph(
            "verify: target positions a pass, root included; passes: draft passes in sequence; the "
            "last columns are chains with as many of either. "
            "Drawn siblings are verified by recursive rejection without replacement, top ones and "
            "dynamic trees (steps/topk/draft tokens) as point masses; all keep the target's law.",
            style="dim",
        ),
    ]


def tree_sentence(row: TreeComparison) -> str:
    """Return what one comparison says."""
    plan = row.plan
    return (
        f"{plan.name}: {row.tree.mean:.2f} tokens a verify pass. A chain with the same "
        f"{plan.verify_tokens} verify tokens gives {row.equal_verify.mean:.2f} and needs "
        f"{plan.verify_tokens - 1} draft passes instead of {plan.draft_steps}; one with the same "
        f"{plan.draft_steps} draft passes gives {row.equal_draft.mean:.2f} and needs "
        f"{plan.draft_steps + 1} verify tokens."
    )


def _with_error(length: Length) -> str:
    return f"{length.mean:.3f} ± {length.error:.3f}"
