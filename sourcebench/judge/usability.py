"""The rule of the usability group: layout and advertising density."""

from __future__ import annotations

from sourcebench.judge.evidence import Finding, Page, Table, few, step


def layout(page: Page, table: Table) -> Finding:
    """LC: advertising units, labels, paid teasers and calls to act beside the length of the text."""
    t, counts = table["LC"], page.packet.counts
    if not counts and not page.text and not page.outside:
        return None, "no text and no counts"
    sold = counts.get("sponsored_links", 0)
    units = {
        "ad elements": counts.get("ad_elements", 0),
        "scripts": t["scripts"] * counts.get("scripts", 0),
        "ad labels": t["label"] * len(page.labelled("ad_label")),
        "sponsored links": min(t["sponsored"] * sold, t["sponsored_most"]),
        "paid teasers": t["teasers"] * bool(page.labelled("teasers")),
        "calls to act": t["actions"] * len(page.labelled("call_to_action")),
    }
    thin = min(max(t["full_page"] / max(len(page.tokens), 1), 1), t["thin_most"])
    load = sum(v * (1 if k in ("scripts", "calls to act") else thin) for k, v in units.items())
    seen = [f"{k} {v:g}" for k, v in sorted(units.items(), key=lambda x: -x[1]) if v]
    said = f"load {load:.1f}: {few(seen)}" if seen else "no advertising seen"
    score = 6 - step(load, t["load_4"], t["load_3"], t["load_2"], t["load_1"])
    if "paywall" in page.packet.flags and score > 2:
        return 2, said + "; paywall"
    return score, said
