"""The commands: name and help line. Checked against the modules by a test.

A module is imported when its command is run or asked for help, so ``--help`` costs none of them.
Each holds one function named like the command.
"""

from __future__ import annotations

COMMANDS = {
    "recommend": "Decide for each profile: what to run, why, the command to paste.",
    "predict": "Numbers for configurations that you name; no choice is made.",
    "sweep": "A grid over α, c and K by the formula, or over a profile's load.",
    "tree": "The best draft tree for acceptance by rank and a node budget.",
    "why": "What single change flips the advice; what to measure next.",
    "simulate": "Run the exact sampler on a toy model.",
    "verify": "Prove that a verification rule keeps the target's law.",
    "lesson": "Runnable lessons on speculative decoding.",
    "catalog": "What is known: methods, drafters, gpus, models, engines, priors.",
    "init": "Write a profile, from questions or from options.",
    "schema": "Print the JSON Schema of profiles or of a command's output.",
    "skill": "Print what an agent needs to use this tool.",
}
