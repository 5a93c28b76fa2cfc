"""``specdec-tune tree``: the best draft tree for acceptance by rank."""

from __future__ import annotations

from typing import Annotated

import typer

from tuner.cli.output import current_output, screen_width
from tuner.errors import InputError, Where

DEFAULT_DEPTH = 16
#: A table of this size holds every depth and rank that a tree can use many times over.
MAX_FILE_BYTES = 4_000_000


def tree(
    acceptance: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Chance that the child of rank 1, 2, … is the accepted one: 0.63,0.11,0.06.",
        ),
    ] = None,
    per_depth: Annotated[
        str | None,
        typer.Option(metavar="FILE.json", help="One such list a depth, as a list of lists."),
    ] = None,
    nodes: Annotated[
        int | None, typer.Option(metavar="N", help="Draft nodes, the root excluded.")
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            metavar="D",
            help=f"Levels below the root (default: as many as --per-depth has, else "
            f"{DEFAULT_DEPTH} at most).",
        ),
    ] = None,
    allow_gaps: Annotated[
        bool,
        typer.Option("--allow-gaps", help="Children may be any ranks, not only 1, 2, … in a row."),
    ] = False,
    mask: Annotated[bool, typer.Option("--mask", help="Also print the attention mask.")] = False,
) -> None:
    """Find the draft tree with the most expected tokens for a node budget, exactly."""
    table = _acceptance(acceptance, per_depth)
    if nodes is None:
        raise InputError("--nodes is needed, such as --nodes 63: draft nodes, the root excluded.")
    limit = depth
    if limit is None:
        limit = len(table) if per_depth is not None else max(min(nodes, DEFAULT_DEPTH), 1)

    needed = min(nodes, limit)
    if per_depth is not None and len(table) < needed:
        lists = "1 list" if len(table) == 1 else f"{len(table)} lists"
        raise InputError(
            f"--depth {limit} with {nodes} nodes needs {needed} lists; this has {lists}, one a "
            f"depth: --depth {len(table)} at most.",
            where=Where(file=per_depth),
        )

    from tuner.trees.answer import answer_tree

    vector = table if per_depth is not None else table[0]
    found = answer_tree(vector, nodes=nodes, depth=limit, allow_gaps=allow_gaps)
    output = current_output()
    if output.json:
        from tuner.report.tree import mask_rows, tree_document

        # A row a line: with a line for each 0 or 1 the mask of 4,096 nodes has 151 MB.
        lines = {"mask": mask_rows(found)} if mask else None
        output.emit_json(tree_document(found), lines=lines)
        return
    from tuner.report.tree import render_tree

    blocks = not output.console().options.ascii_only
    output.show(*render_tree(found, width=screen_width(), mask=mask, blocks=blocks))


def _acceptance(acceptance: str | None, per_depth: str | None) -> list[list[float]]:
    if (acceptance is None) == (per_depth is None):
        raise InputError(
            "exactly one of --acceptance LIST and --per-depth FILE.json is needed, such as "
            "--acceptance 0.63,0.11,0.06."
        )
    if per_depth is not None:
        from tuner.cli.rank_files import read_rank_file

        return read_rank_file("--per-depth", per_depth, MAX_FILE_BYTES)
    assert acceptance is not None
    from tuner.cli.ranges import read_reals

    return [[float(value) for value in read_reals("--acceptance", acceptance)]]
