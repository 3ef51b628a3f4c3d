"""How good are the sources an AI answer cites, and do they support what it says?"""

import lazy_loader

__version__ = "0.1.0"

# What notebooks need; a name's module is imported when the name is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "figures": ["confusion", "forest", "heatmap", "profile", "save_figure", "scatter"],
        "published": ["published_table"],
        "render": ["rounded", "save_numbers", "save_table"],
        "score": ["load_sources"],
        "study": ["Study", "StudyError"],
        "tables": [
            "category_table",
            "coverage_table",
            "leaderboard",
            "overlap_table",
            "pair_table",
            "query_table",
            "rubric_table",
        ],
    },
)
