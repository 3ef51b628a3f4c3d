"""The registered domain of an address, from the bundled public suffix list."""

from __future__ import annotations

from functools import cache


@cache
def _extractor():
    """Return the reader of the bundled list; it never touches network or disk cache."""
    import tldextract

    return tldextract.TLDExtract(
        suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True
    )


def registered_domain(url: str) -> str:
    """Return the registered domain of an address, or its host when it has none."""
    found = _extractor()(url)
    return (found.top_domain_under_public_suffix or found.fqdn or found.domain).lower()
