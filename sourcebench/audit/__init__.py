"""What published tables imply about themselves: checks that need nothing but the printed numbers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "findings": ["Finding", "findings_html", "findings_markdown", "findings_text"],
        "published": ["audit_published"],
        "sprite": ["reconstruct_scores", "synthetic_paper_study_scores"],
        "table": ["audit_file", "audit_table", "read_leaderboard", "run_audit"],
    },
)
