"""Versions and methods: what is served, and how a refusal reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tuner.engines import NEWEST_KNOWN, SUPPORT, emit, resolve_version, serves, serves_trees
from tuner.engines.llamacpp import TYPE_WORDS
from tuner.engines.sglang import ALGORITHM_WORDS
from tuner.engines.vllm import METHOD_WORDS
from tuner.errors import InputError, MissingDataError
from tuner.records.config import SpecConfig
from tuner.records.emit import EmitRequest
from tuner.records.methods import Engine, Method

DATA = Path(__file__).parent / "data"
#: sglang 0.5.23, srt/speculative/spec_info.py and its aliases
SGLANG_ALGORITHMS = {"EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM", "DFLASH", "DSPARK", "UNO"}


@pytest.mark.parametrize("engine", SUPPORT)
def test_every_method_has_an_answer_with_a_source(engine: Engine) -> None:
    assert set(SUPPORT[engine]) == set(Method)
    for support in SUPPORT[engine].values():
        assert support.source
        assert support.ok != bool(support.reason)


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (Engine.VLLM, METHOD_WORDS),
        (Engine.SGLANG, ALGORITHM_WORDS),
        (Engine.LLAMACPP, TYPE_WORDS),
    ],
)
def test_what_is_served_has_a_spelling(engine: Engine, words: dict[Method, str]) -> None:
    served = {method for method in Method if serves(engine, None, method).ok}
    assert served - {Method.NONE} == set(words)


def test_spellings_are_the_engines_own() -> None:
    vllm = json.loads((DATA / "vllm-0.33.0.json").read_text())
    llamacpp = json.loads((DATA / "llamacpp-b11434.json").read_text())
    assert set(METHOD_WORDS.values()) <= set(vllm["speculative_config"]["method"]["choices"])
    assert set(TYPE_WORDS.values()) <= set(llamacpp["spec_types"])
    assert set(ALGORITHM_WORDS.values()) <= SGLANG_ALGORITHMS


def test_medusa_left_vllm() -> None:
    support = serves(Engine.VLLM, None, Method.MEDUSA)
    assert not support.ok
    assert "0.33.0" in support.reason
    with pytest.raises(MissingDataError, match="Medusa"):
        emit(
            EmitRequest(
                engine=Engine.VLLM,
                target="t",
                config=SpecConfig(method=Method.MEDUSA, num_speculative_tokens=3),
            )
        )


def test_only_sglang_verifies_trees() -> None:
    assert serves_trees(Engine.SGLANG, Method.EAGLE3)
    assert not serves_trees(Engine.SGLANG, Method.DFLASH)
    assert not serves_trees(Engine.VLLM, Method.EAGLE3)
    assert not serves_trees(Engine.LLAMACPP, Method.EAGLE3)


@pytest.mark.parametrize("engine", NEWEST_KNOWN)
def test_unset_and_newest_are_the_same(engine: Engine) -> None:
    newest = NEWEST_KNOWN[engine]
    assert resolve_version(engine, None) == (newest, ())
    assert resolve_version(engine, newest) == (newest, ())


@pytest.mark.parametrize(
    ("engine", "version"),
    [
        (Engine.VLLM, "0.33.1"),
        (Engine.VLLM, "0.34.0rc1"),
        (Engine.VLLM, "1.0"),
        (Engine.VLLM, "v0.40.0+cu130"),
        (Engine.SGLANG, "0.6.0.post1"),
        (Engine.LLAMACPP, "b12000"),
        (Engine.LLAMACPP, "11435"),
    ],
)
def test_newer_gets_the_newest_form_and_a_warning(engine: Engine, version: str) -> None:
    form, warnings = resolve_version(engine, version)
    assert form == NEWEST_KNOWN[engine]
    assert [w.code for w in warnings] == ["engine-newer-than-known"]


@pytest.mark.parametrize(
    ("engine", "version"),
    [
        (Engine.VLLM, "0.8.2"),
        (Engine.VLLM, "0.32.9"),
        (Engine.SGLANG, "0.5.22"),
        (Engine.SGLANG, "0.5"),
        (Engine.LLAMACPP, "b11433"),
    ],
)
def test_older_is_missing_data(engine: Engine, version: str) -> None:
    with pytest.raises(MissingDataError, match="older"):
        resolve_version(engine, version)


@pytest.mark.parametrize("version", ["", "latest", "0.33.x", "nan", "-1", "0..3", "٣"])
def test_what_is_no_version_is_an_input_error(version: str) -> None:
    with pytest.raises(InputError, match="version"):
        resolve_version(Engine.VLLM, version)


def test_local_and_post_releases_count_as_their_release() -> None:
    for version in ("0.33.0.post1", "0.33.0+cu129", "v0.33.0", "0.33"):
        assert resolve_version(Engine.VLLM, version) == ("0.33.0", ())


def test_an_engine_without_adapter_says_what_to_do() -> None:
    with pytest.raises(MissingDataError, match="--engine"):
        emit(EmitRequest(engine=Engine.TRTLLM, target="t"))
    assert not serves(Engine.TRTLLM, None, Method.EAGLE3).ok


@pytest.mark.parametrize("engine", NEWEST_KNOWN)
def test_endless_digits_are_no_version(engine: Engine) -> None:
    with pytest.raises(InputError, match="is not a version of"):
        resolve_version(engine, "1" * 5001)
