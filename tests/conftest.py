"""Shared fixtures."""

from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is no reason to fail: what is slow shows in benchmarks, not in tests.
settings.register_profile("sourcebench", deadline=None)
settings.load_profile("sourcebench")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of shared cases beside the checkout, or skip."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the shared case folder is not beside this checkout")
    return folder
