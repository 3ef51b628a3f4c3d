"""Pages that try to sway a judge, each with its clean twin."""

import tomllib
from pathlib import Path

from sourcebench.extract import extract_page
from sourcebench.records import Packet

FOLDER = Path(__file__).parent / "data" / "attacks"
_CLEAN = {
    "title": "How the northern river changed",
    "author": "Ada Example",
    "head": "",
    "body": "",
}


def attacks() -> list[dict]:
    """Return the attacks: name, kind, what is put where, and what must not reach the judge."""
    return tomllib.loads((FOLDER / "attacks.toml").read_text(encoding="utf-8"))["attack"]


def attacked(attack: dict | None, *, clean: bool = False) -> Packet:
    """Return the packet of an attack's page; without an attack, of the clean twin."""
    parts = dict(_CLEAN)
    for name in () if attack is None or clean else parts:
        times = attack.get("times", 1) if name == "body" else 1
        parts[name] = attack.get(name, parts[name]) * times if name in attack else parts[name]
    html = (FOLDER / "page.html").read_text(encoding="utf-8")
    for name, text in parts.items():
        html = html.replace("{" + name + "}", text)
    return extract_page(
        "attack" if attack is None else attack["name"],
        "https://river-notes.example.org/spring",
        html.encode(),
        headers={"content-type": "text/html; charset=utf-8"},
        fetched_at="2026-06-01T00:00:00Z",
    )
