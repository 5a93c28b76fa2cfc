"""A draft tree in lines of text: one line a leaf, ranks in place of nodes."""

from __future__ import annotations

from tuner.frozen import dataclass
from tuner.trees.shape import DraftTree


@dataclass(frozen=True, slots=True, kw_only=True)
class Strokes:
    """Characters that join nodes."""

    along: str
    first: str
    last: str
    past: str
    cut: str


UNICODE = Strokes(along="─", first="├", last="└", past="│", cut="…")
ASCII = Strokes(along="-", first="+", last="`", past="|", cut="~")


def draw_tree(tree: DraftTree, *, width: int, most_lines: int, blocks: bool = True) -> list[str]:
    """Return the tree, depth from left to right; a node is its rank among its siblings.

    The best rank of each node goes on along the line, its siblings hang below it. At most
    ``most_lines`` lines, beginning with the path of best ranks and what hangs from its end; a path
    that is too long for the width is cut.
    """
    strokes = UNICODE if blocks else ASCII
    children = tree.children()
    cell = max(len(str(max(tree.ranks))), 1)
    lines: list[str] = []
    # (node, text before it, text before what hangs below it)
    pending: list[tuple[int, str, str]] = []
    line = "root"
    node, below = 0, " " * len("root")
    while True:
        while children[node]:
            first, *others = children[node]
            joint = " " + strokes.along + " "
            hang = below + " "
            for place, other in enumerate(reversed(others)):
                stroke = strokes.last if place == 0 else strokes.first
                after = hang + (" " if place == 0 else strokes.past)
                pending.append((other, hang + stroke + " ", after + " "))
            line += joint + str(tree.ranks[first]).rjust(cell)
            below = hang + (strokes.past if others else " ") + " " + " " * cell
            node = first
        lines.append(_cut(line, width, strokes.cut))
        if not pending or len(lines) == most_lines:
            break
        node, before, after = pending.pop()
        line = before + str(tree.ranks[node]).rjust(cell)
        below = after + " " * cell
    if pending:
        leaves = sum(not found for found in children)
        lines.append(f"{strokes.cut} {leaves - len(lines):,} more paths")
    return lines


def mask_lines(tree: DraftTree) -> list[str]:
    """Return the attention mask, a row a node: 1 = sees it, . = does not; the root comes first."""
    return ["".join("1" if seen else "." for seen in row) for row in tree.mask().tolist()]


def _cut(line: str, width: int, mark: str) -> str:
    return line if len(line) <= width else line[: width - 1] + mark
