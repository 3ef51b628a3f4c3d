"""From snapshots to packets: what a judge may see of each page."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submod_attrs={"page": ["extract_page"], "stage": ["extract_study", "reading_along"]}
)
