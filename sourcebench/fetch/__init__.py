"""Every cited page is fetched once, politely and safely, and kept as it came."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "fetchlog": ["cited_pages"],
        "saved": ["import_pages"],
        "stage": ["fetch_study"],
    },
)
