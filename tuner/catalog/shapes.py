"""Shapes of targets that the catalog does not name; the readers are imported when they are used."""

from __future__ import annotations

from pathlib import Path

from tuner.records.model import ModelShape


def shape_from_config(path: str | Path) -> ModelShape:
    """Return the shape that a Hugging Face ``config.json`` describes (see ``hf_config``)."""
    from tuner.catalog import hf_config

    return hf_config.shape_from_config(path)


def shape_from_gguf(path: str | Path) -> ModelShape:
    """Return the shape that a GGUF file describes (see ``gguf_file``)."""
    from tuner.catalog import gguf_file

    return gguf_file.shape_from_gguf(path)


def shape_from_sizes(
    *, params_b: float, active_params_b: float | None = None, mtp_layers: int = 0
) -> ModelShape:
    """Return a typical shape for the sizes, in billions of parameters (see ``sizes``)."""
    from tuner.catalog import sizes

    return sizes.shape_from_sizes(
        params_b=params_b, active_params_b=active_params_b, mtp_layers=mtp_layers
    )
