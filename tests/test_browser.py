"""Written tables in a real browser: what a reader sees, and nothing that a page smuggled in."""

import re
import shutil
import subprocess

import pandas as pd
import pytest

from sourcebench.render import save_table

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]


def dom_of(path, profile) -> str:
    """Return the document as the browser holds it after running what scripts there are."""
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={profile}", "--virtual-time-budget=2000", "--dump-dom", path.as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_a_table_shows_its_cells_and_runs_nothing(tmp_path):
    """Attacks in a name, a note and a cell are shown as text; the numbers stand in their cells."""
    attack = (
        "<img src=x onerror=\"document.body.id='owned'\"><script>document.body.id='owned'</script>"
    )
    frame = pd.DataFrame({"System": ["BM25", attack], "Weighted": [77.065, None]})
    save_table(frame, "t", tmp_path, title=attack, note=attack)
    dom = dom_of(tmp_path / "t.html", tmp_path / "profile")
    assert "owned" not in re.search(r"<body[^>]*>", dom)[0]
    assert "<img" not in dom
    assert "<script" not in dom
    cells = re.findall(r"<td[^>]*>(.*?)</td>", dom)
    assert cells[:2] == ["BM25", "77.07"]
    assert cells[3] == "–"
