"""What the tool knows: targets, drafters, devices and methods, each number with its origin.

Data files inside the package, generated from ``data/*.csv`` by ``scripts/build_catalog.py`` and
read on demand.
"""

from tuner.catalog.accelerators import accelerator_names, find_accelerator
from tuner.catalog.drafters import drafters_for
from tuner.catalog.models import find_model, load_models, model_ids
from tuner.catalog.shapes import shape_from_config, shape_from_gguf, shape_from_sizes
from tuner.catalog.tables import CATALOG_DATE

__all__ = [
    "CATALOG_DATE",
    "accelerator_names",
    "drafters_for",
    "find_accelerator",
    "find_model",
    "load_models",
    "model_ids",
    "shape_from_config",
    "shape_from_gguf",
    "shape_from_sizes",
]
