"""Imported only by the process that readers are forked from: reads a page, so that they start warm.

Language models, suffix lists and style sheets are loaded at first use; done here, each reader has them.
"""

from sourcebench.extract.page import extract_page

_LINE = "The committee published its review of the rivers and said that they had fallen again. "
_PAGE = f"<html><body><article><h1>Rivers</h1><p>By Dana Reyes, 14 May 2026</p><p>{_LINE * 3}</p>"

extract_page("", "https://example.org/a", _PAGE.encode(), headers={"Content-Type": "text/html"})
