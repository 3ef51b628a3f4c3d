"""How good are the sources an AI answer cites, and do they support what it says?"""

import lazy_loader

__version__ = "0.1.0"

# What notebooks need; a name's module is imported when the name is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "audit.table": ["audit_table", "read_leaderboard", "run_audit"],
        "statistics.correlate": ["metric_correlations"],
        "figures": ["confusion", "save_figure"],
        "audit.findings": ["findings_html", "findings_markdown", "findings_text"],
        "published": ["load_published", "published_table"],
        "audit.published": [
            "answer_findings",
            "audit_published",
            "category_findings",
            "deepseek_findings",
            "main_table_findings",
            "overlap_findings",
            "sourcecheckup_findings",
            "subset_findings",
        ],
        "render": ["rounded", "save_numbers", "save_table"],
        "score": ["load_sources"],
        "sections.alignment": [
            "alignment_table",
            "alignment_title",
            "anchored_table",
            "ceiling_table",
            "judged_and_labelled",
        ],
        "sections.annotators": [
            "corrected_sample_table",
            "label_counts_table",
            "labels_and_verifier_table",
            "reliability_metrics_table",
            "reliability_table",
        ],
        "sections.answers": ["answer_figure", "debate_table", "reasoning_table", "slope_table"],
        "sections.audit": ["findings_table", "recomputed_table", "system_correlations_table"],
        "sections.categories": ["category_figure", "category_table"],
        "sections.collection": ["answers_table", "citations_table", "shared_table"],
        "sections.correlations": ["correlation_figure", "correlation_table"],
        "sections.judges": ["between_table", "judges_table", "noise_table", "verdicts_table"],
        "sections.leaderboard": [
            "coverage_table",
            "leaderboard",
            "leaderboard_figure",
            "leaderboard_numbers",
            "pairs_table",
        ],
        "sections.links": ["link_table", "published_figure", "published_points"],
        "sections.overlap": ["overlap_figure", "overlap_table"],
        "sections.planning": ["planning_figure", "planning_table", "synthetic_table"],
        "sections.queries": ["query_table"],
        "sections.rubric": ["example_table", "level_table", "rubric_table"],
        "sections.search_tools": ["effects_table", "pair_table"],
        "sections.support": [
            "calls_table",
            "confusion_table",
            "corrected_table",
            "quality_figure",
            "quality_table",
            "response_table",
            "support_numbers",
            "support_table",
            "validity_table",
            "verifier_table",
        ],
        "study": ["Study", "StudyError"],
        "support.measures": ["load_support"],
        "tables": ["printed_copy"],
    },
)
