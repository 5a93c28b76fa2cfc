"""The screen and the JSON of ``tree``."""

from __future__ import annotations

import numpy as np
from rich.console import RenderableType

from tuner.report.layout import Column, fitted_table, labelled, literal, paragraph
from tuner.report.tree_drawing import draw_tree, mask_lines
from tuner.trees.answer import TreeAnswer
from tuner.trees.spellings import Spelling

Json = dict[str, object]
SCHEMA_VERSION = 1

#: leaves that are still read at a glance
MOST_LINES = 30
#: levels of the table by depth; a longer one is read by programs
MOST_LEVELS = 40
LABEL_WIDTH = 14
BAR_WIDTH = 24
INDENT = 2
#: Below this share two trees are called equal.
EQUAL = 5e-6

SERVED_NOTE = (
    "The engines' figures take the drafter's confidence to be calibrated. Served EAGLE-3 trees did "
    "worse: of 102 published pairs of equal budget the chain accepted more in 75 %, and the median "
    "tree (topk 3 or 4) had 0.86 of the chain's tokens (SpecBundle, SGLang, T = 0). Time per token "
    "decides: width costs verify tokens, depth costs draft steps."
)


def render_tree(
    answer: TreeAnswer, *, width: int, mask: bool = False, blocks: bool = True
) -> list[RenderableType]:
    """Return the parts of the screen: the result, how far others are, the tree, the engines."""
    if answer.tree.nodes == 0:
        return ["", paragraph(_headline(answer), style="bold")]
    drawing = draw_tree(answer.tree, width=width - INDENT, most_lines=MOST_LINES, blocks=blocks)
    parts: list[RenderableType] = [
        "",
        paragraph(_headline(answer), style="bold"),
        paragraph(_comparison(answer)),
        "",
        literal([" " * INDENT + line for line in drawing]),
        "",
        *_depth_table(answer, width, blocks),
        "",
        *_engines(answer),
    ]
    if mask:
        parts += ["", paragraph("attention mask, root first"), literal(mask_lines(answer.tree))]
    return parts


def mask_rows(answer: TreeAnswer) -> list[str]:
    """Return the rows of the attention mask, root first, each a JSON list of 0 and 1."""
    mask = answer.tree.mask()
    text = np.full((len(mask), 2 * len(mask) - 1), ord(","), dtype=np.uint8)
    text[:, ::2] = mask + np.uint8(ord("0"))
    return [f"[{row.tobytes().decode('ascii')}]" for row in text]


def tree_document(answer: TreeAnswer) -> Json:
    """Return the document of ``tree --json``, without the mask."""
    tree = answer.tree
    return {
        "schema_version": SCHEMA_VERSION,
        "nodes": tree.nodes,
        "depth": tree.depth,
        "expected_tokens": answer.expected_tokens,
        "parents": list(tree.parents),
        "ranks": list(tree.ranks),
        "depth_histogram": list(tree.depth_histogram),
        "mask": None,
        "engines": _engine_settings(answer),
        "limits": {
            "nodes": answer.max_nodes,
            "depth": answer.max_depth,
            "allow_gaps": answer.allow_gaps,
        },
        "survival": answer.survival.tolist(),
        "comparison": {
            "chain": {
                "num_speculative_tokens": answer.chain_length,
                "expected_tokens": answer.chain_tokens,
            },
            "greedy": {"expected_tokens": answer.greedy_tokens},
            "with_gaps": {"expected_tokens": answer.gapped_tokens},
        },
    }


def _engine_settings(answer: TreeAnswer) -> Json:
    """Return the nearest setting by engine; null where it has no trees, or none is worth it."""
    settings: Json = {"sglang": None, "trtllm": None, "vllm": None, "llamacpp": None}
    if answer.tree.nodes == 0:
        return settings
    sglang, trtllm = answer.sglang, answer.trtllm
    settings["sglang"] = {
        "num_steps": sglang.setting.num_steps,
        "eagle_topk": sglang.setting.topk,
        "num_draft_tokens": sglang.setting.draft_tokens,
        "expected_tokens": sglang.expected_tokens,
    }
    settings["trtllm"] = {
        "max_draft_len": trtllm.setting.num_steps,
        "dynamic_tree_max_topK": trtllm.setting.topk,
        "max_total_draft_tokens": trtllm.setting.draft_tokens - 1,
        "expected_tokens": trtllm.expected_tokens,
    }
    return settings


def _engines(answer: TreeAnswer) -> list[RenderableType]:
    return [
        labelled("SGLang", _sglang(answer.sglang), width=LABEL_WIDTH),
        labelled("TensorRT-LLM", _trtllm(answer.trtllm), width=LABEL_WIDTH),
        labelled("vLLM", "verifies chains only", width=LABEL_WIDTH),
        labelled("llama.cpp", "verifies chains only", width=LABEL_WIDTH),
        "",
        paragraph(SERVED_NOTE, style="dim"),
    ]


def _headline(answer: TreeAnswer) -> str:
    tree = answer.tree
    nodes = "1 draft node" if tree.nodes == 1 else f"{tree.nodes:,} draft nodes"
    levels = "1 level" if tree.depth == 1 else f"{tree.depth} levels"
    if tree.nodes == 0:
        return "Nothing is ever accepted: no tree is better than plain decoding, 1 token a step."
    return f"{nodes} on {levels}: {answer.expected_tokens:.4f} tokens a step, bonus included"


def _comparison(answer: TreeAnswer) -> str:
    budget = f"Limits: {answer.max_nodes:,} nodes, depth {answer.max_depth}"
    used = "" if answer.tree.nodes == answer.max_nodes else "; the rest has no chance"
    chain = f"a chain of {answer.chain_length} gives {answer.chain_tokens:.4f}"
    short = 1.0 - answer.greedy_tokens / answer.expected_tokens
    greedy = (
        "growing by the best next node gives the same"
        if short < EQUAL
        else f"growing by the best next node gives {answer.greedy_tokens:.4f} "
        f"({short * 100.0:.2f} % short)"
    )
    if answer.allow_gaps:
        if short < EQUAL:
            greedy = "children without gaps, grown by the best next node, give the same"
        gaps = "children may be any ranks"
    elif answer.gapped_tokens / answer.expected_tokens - 1.0 < EQUAL:
        gaps = "gaps between ranks would add nothing"
    else:
        gaps = f"with gaps between ranks {answer.gapped_tokens:.4f} would be possible"
    return f"{budget}{used}. Exact optimum; {chain}, {greedy}, {gaps}."


def _depth_table(answer: TreeAnswer, width: int, blocks: bool) -> list[RenderableType]:
    every = answer.tree.depth_histogram
    most = max(every)
    counts = every[:MOST_LEVELS]
    glyph = "▇" if blocks else "#"
    bars = tuple(glyph * max(round(BAR_WIDTH * count / most), 1) for count in counts)
    table = fitted_table(
        [
            Column(title="depth", cells=tuple(str(d) for d in range(1, len(counts) + 1))),
            Column(title="nodes", cells=tuple(f"{count:,}" for count in counts)),
            Column(
                title="accepted",
                cells=tuple(f"{value:.3f}" for value in answer.survival[: len(counts)]),
            ),
            Column(title="", cells=bars, align="left", drop_order=1),
        ],
        width=width,
        indent=INDENT,
    )
    left_out = len(every) - len(counts)
    if not left_out:
        return [table]
    return [
        table,
        paragraph(f"… {left_out:,} more levels, down to {len(every):,}; --json has all."),
    ]


def _sglang(spelling: Spelling) -> str:
    setting = spelling.setting
    return (
        f"--speculative-num-steps {setting.num_steps} --speculative-eagle-topk {setting.topk} "
        f"--speculative-num-draft-tokens {setting.draft_tokens}: {spelling.expected_tokens:.4f}"
    )


def _trtllm(spelling: Spelling) -> str:
    setting = spelling.setting
    return (
        f"max_draft_len {setting.num_steps}, dynamic_tree_max_topK {setting.topk}, "
        f"max_total_draft_tokens {setting.draft_tokens - 1}: {spelling.expected_tokens:.4f}"
    )
