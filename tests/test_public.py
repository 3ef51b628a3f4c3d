"""The names that notebooks import."""

import sourcebench


def test_every_public_name_is_there():
    """Each listed name can be imported from the package root and is documented."""
    for name in sourcebench.__all__:
        assert getattr(sourcebench, name).__doc__, name
