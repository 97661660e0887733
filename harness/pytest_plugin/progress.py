"""How far a run is: a status line on a terminal, now and then a plain line elsewhere."""

import pytest


def show_progress(config: pytest.Config) -> None:
    """x"""
