"""From snapshots to packets: what a judge may see of each page."""

from sourcebench.extract.page import extract_page

__all__ = ["extract_page"]
