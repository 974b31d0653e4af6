"""What is known of a model by its name, and what its tokens cost."""

from pathlib import Path

import pytest

from skillfleet.conversations.limits import Usage
from skillfleet.llm.facts import KnownModels, ModelFacts, Prices, cost
from skillfleet_workers.wire.connection import SettingsError

PRICES = Prices(input=2, cached_input=0.5, cache_write=3, output=10)


def known(tmp_path: Path, text: str) -> KnownModels:
    path = tmp_path / "models.yaml"
    path.write_text(text)
    return KnownModels.of(path)


def test_a_model_that_nobody_knows_has_the_defaults() -> None:
    assert KnownModels.of(None).facts("llama3:8b") == ModelFacts(window=128_000, max_output=8_192, vision=True)


def test_the_longest_pattern_decides_whatever_the_provider() -> None:
    models = KnownModels(
        {"a*": ModelFacts(window=1_000), "a-b*": ModelFacts(window=2_000), "a": ModelFacts(window=3_000)}
    )
    assert [models.facts(name).window for name in ("a-c", "a-b-c", "openai:a-b", "a")] == [1_000, 2_000, 2_000, 3_000]


def test_the_shipped_table_knows_the_family_and_no_price_of_its_relatives() -> None:
    models = KnownModels.of(None, default="gpt-4o-mini")
    assert models.facts("") == models.facts("openai:gpt-4o-mini")
    assert models.facts("gpt-4o-2099-01-01").window == 128_000
    assert models.facts("gpt-4o-2099-01-01").prices is None
    assert models.facts("anthropic:claude-of-tomorrow").window == 200_000


def test_a_file_of_ones_own_adds_to_what_is_known(tmp_path: Path) -> None:
    models = known(tmp_path, "models: {'gpt-3.5*': {prices: {input: 1, output: 2}}, mine: {vision: false}}")
    assert models.facts("gpt-3.5-turbo") == ModelFacts(
        window=16_385, max_output=4_096, vision=False, prices=Prices(input=1, output=2)
    )
    assert not models.facts("mine").vision


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("models: {m: {window: none}}", "models.m.window"),
        ("models: {m: {prices: {input: -1, output: 2}}}", "models.m.prices.input"),
        ("models: {m: {prices: {input: 1}}}", "models.m.prices.output"),
        ("models: {m: {price: 1}}", "models.m.price"),
        ("gpt-4o: {window: 1}", "models"),
        ("- a", "the file"),
        ("a: [", "line 1"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SettingsError) as wrong:
        known(tmp_path, text)
    assert str(wrong.value).startswith("SKILLFLEET_MODELS_FILE: ")
    assert says in str(wrong.value) and "\n" not in str(wrong.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="name a YAML file of models"):
        KnownModels.of(tmp_path / "none.yaml")


def test_each_kind_of_token_has_its_price() -> None:
    usage = Usage(
        input_tokens=1_000_000, cached_input_tokens=400_000, cache_write_tokens=100_000, output_tokens=50_000
    )
    assert cost(ModelFacts(prices=PRICES), usage) == pytest.approx(0.5 * 2 + 0.4 * 0.5 + 0.1 * 3 + 0.05 * 10)
    plain = ModelFacts(prices=Prices(input=2, output=10))
    assert cost(plain, usage) == pytest.approx(2 + 0.5)


def test_a_model_without_prices_costs_nothing() -> None:
    assert cost(ModelFacts(), Usage(input_tokens=10**9)) == 0.0


def test_a_reply_has_room_in_the_smallest_window() -> None:
    assert ModelFacts(window=128_000, max_output=8_000).room == 120_000
    assert ModelFacts(window=4_000, max_output=8_192).room == 3_000
