"""Most of chaos takes minutes and has its own command; `make test` takes what is marked quick."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "quick: chaos that is short enough for every run of the tests")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if any("chaos" in argument for argument in config.args):
        return
    slow = [item for item in items if "chaos" in item.path.parts and not item.get_closest_marker("quick")]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if item not in slow]
