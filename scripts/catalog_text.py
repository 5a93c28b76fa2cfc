"""Source remarks of data/*.csv in the words of the catalog."""

from __future__ import annotations

import re

_REPLACED = (
    (r"\(memory: bf16\)", "(bfloat16 assumed)"),
    (r"^memory: vendor model card", "assumed from the vendor's model card"),
    (r"\bmemory of GA102 whitepaper", "GA102 whitepaper, assumed"),
    (r"^memory \(", "assumed ("),
    (r"\bcompute from memory\b", "compute assumed"),
    (r"\bfrom memory\b", "assumed"),
    (r"\(memory\)", "(assumed)"),
    (r"\b(nvlink bridge|nvlink and TDP|interconnect and TDP|int8 and TDP|TDP|nvlink) memory",
     r"\1 assumed"),
    (r"([\w.-]+( and [\w.-]+)? )?mirrors? of (huggingface\.co/)?", "huggingface.co/"),
    (r" ?\(see notes\.md\)", ""),
)  # fmt: skip


def in_our_words(text: str) -> str | None:
    """Return a remark where "memory" means assumed and a copy of a page stands for the page."""
    for pattern, replacement in _REPLACED:
        text = re.sub(pattern, replacement, text)
    return text.strip("; ") or None
