"""What single values cannot show: keys that contradict each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tuner.profile.kinds import INVALID, Problems
from tuner.profile.nodes import Kind, Node
from tuner.profile.observed import check_row
from tuner.profile.words import OWN_DRAFTER_METHODS
from tuner.records.methods import Engine

Values = Mapping[str, Any]
LOADS = ("batch", "concurrency", "request_rate")
SOURCES = ("config", "gguf", "params_b")
NUMBERS = ("memory_gb", "bandwidth_tb_s", "bf16_tflops")


def check_all(values: Values, root: Node, problems: Problems) -> None:
    """Note every contradiction; values that are already wrong are left out of the comparison."""
    check_target(values, root, problems)
    check_hardware(values, root, problems)
    check_layout(values, root, problems)
    check_workload(section(values, "workload"), root, problems)
    check_drafter(values, root, problems)
    rows = values.get("observed")
    if isinstance(rows, tuple):
        engine = section(values, "engine")
        default = engine.get("name", Engine.VLLM), engine.get("version")
        batch = _one_batch(section(values, "workload"))
        node = place(root, "observed")
        for position, row in enumerate(rows):
            check_row(row, default, batch, node.items[position], f"observed[{position}]", problems)


def _one_batch(workload: Values) -> float | None:
    """The batch of rows that state none; None where the profile has several, or another load."""
    if "concurrency" in workload or "request_rate" in workload:
        return None
    shares = workload.get("batch", ((1.0, 1.0),))
    return float(shares[0][0]) if len(shares) == 1 else None


def section(values: Values, name: str) -> Values:
    """Return the values of a section, without those that are already wrong."""
    inner = values.get(name)
    if not isinstance(inner, dict):
        return {}
    return {key: value for key, value in inner.items() if value is not INVALID}


def place(root: Node, dotted: str) -> Node:
    """Return the node of a key, or of its nearest section that is in the file."""
    node = root
    for name in dotted.split("."):
        entry = node.entries.get(name)
        if entry is None:
            break
        node = entry[1]
    return node


def check_target(values: Values, root: Node, problems: Problems) -> None:
    """One way to say what the target is, unless α and c are given."""
    target = values.get("target")
    if target is None:
        by_hand = section(values, "overrides")
        if not ("acceptance_rate" in by_hand and "draft_cost_ratio" in by_hand):
            problems.note(
                root,
                "target",
                "is missing: a model id, {config: FILE}, {gguf: FILE} or {params_b: NUMBER}; "
                "or give overrides.acceptance_rate with overrides.draft_cost_ratio.",
            )
        return
    if not isinstance(target, dict) or INVALID in target.values():
        return
    node = place(root, "target")
    given = [name for name in SOURCES if name in target]
    if len(given) != 1:
        found = " and ".join(given) or "none"
        problems.note(node, "target", f"give exactly one of {', '.join(SOURCES)}; found {found}.")
        return
    extra = [name for name in ("active_params_b", "mtp_layers") if name in target]
    if extra and "params_b" not in target:
        problems.note(node, f"target.{extra[0]}", f"goes with params_b; the {given[0]} says it.")
    active, total = target.get("active_params_b"), target.get("params_b")
    if active is not None and total is not None and active > total:
        problems.note(
            place(root, "target.active_params_b"),
            "target.active_params_b",
            f"{active:g} is not possible: at most params_b, {total:g}.",
        )


def check_hardware(values: Values, root: Node, problems: Problems) -> None:
    """A device has a name or numbers."""
    hardware = section(values, "hardware")
    if not hardware:
        return
    numbers = [name for name in NUMBERS if name in hardware]
    if "gpu" in hardware and numbers:
        key = f"hardware.{numbers[0]}"
        problems.note(
            place(root, key), key, "contradicts hardware.gpu: give a name or numbers, not both."
        )
    elif numbers:
        missing = [name for name in NUMBERS[:2] if name not in hardware]
        if missing and _are_valid(values, "hardware", *NUMBERS):
            problems.note(
                place(root, "hardware"),
                "hardware",
                f"a device by numbers needs {' and '.join(missing)} too (bf16_tflops helps).",
            )


def check_layout(values: Values, root: Node, problems: Problems) -> None:
    """The axes of the layout multiply to the devices."""
    layout = section(values, "parallel")
    hardware = section(values, "hardware")
    if not layout or not _are_valid(values, "parallel"):
        return
    tensor = layout.get("tensor")
    other = layout.get("pipeline", 1) * layout.get("data", 1)
    node = place(root, "parallel")
    if "count" in hardware:
        count = hardware["count"]
        if tensor is not None and tensor * other != count:
            problems.note(
                node,
                "parallel",
                f"tensor × pipeline × data is {tensor * other}, but hardware.count is {count}.",
            )
        elif tensor is None and count % other:
            problems.note(
                node,
                "parallel",
                f"hardware.count {count} does not divide by pipeline × data, {other}.",
            )
        tensor = tensor or max(count // other, 1)
    expert = layout.get("expert", 1)
    ranks = (tensor or 0) * layout.get("data", 1)
    if ranks and (expert > ranks or ranks % expert):
        key = "parallel.expert"
        problems.note(
            place(root, key), key, f"{expert} is not possible: a divisor of tensor × data, {ranks}."
        )


def check_workload(workload: Values, root: Node, problems: Problems) -> None:
    """One statement of the load, and one min_p."""
    stated = place(root, "workload").entries
    given = [name for name in LOADS if name in stated and stated[name][1].kind is not Kind.NULL]
    if len(given) > 1:
        key = f"workload.{given[1]}"
        problems.note(
            place(root, key),
            key,
            f"contradicts workload.{given[0]}: exactly one of {', '.join(LOADS)}; set the others "
            "to null.",
        )
    sampling = section(workload, "sampling")
    if "min_p" in sampling and workload.get("min_p", sampling["min_p"]) != sampling["min_p"]:
        key = "workload.sampling.min_p"
        problems.note(
            place(root, key),
            key,
            f"{sampling['min_p']:g} contradicts workload.min_p, {workload['min_p']:g}.",
        )


def check_drafter(values: Values, root: Node, problems: Problems) -> None:
    """A drafter belongs to a method that loads one, and fits on the target's devices."""
    drafter = section(values, "drafter")
    method = drafter.get("method")
    if method is not None and method not in OWN_DRAFTER_METHODS:
        key = "drafter.method"
        names = ", ".join(OWN_DRAFTER_METHODS)
        problems.note(
            place(root, key), key, f"{method} loads no drafter; a drafter serves one of {names}."
        )
    size, tensor = drafter.get("tensor_parallel"), section(values, "parallel").get("tensor")
    if size is not None and tensor is not None and size > tensor:
        key = "drafter.tensor_parallel"
        problems.note(
            place(root, key), key, f"{size} is not possible: at most parallel.tensor, {tensor}."
        )


def _are_valid(values: Values, name: str, *keys: str) -> bool:
    """Whether none of these keys of a section (or none at all) was refused."""
    inner = values.get(name)
    if not isinstance(inner, dict):
        return False
    return all(value is not INVALID for key, value in inner.items() if key in keys or not keys)
