"""Answers come in: asked of engines, or brought along in files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "asking": ["CollectingStopped", "collect_study", "describe_plans", "plan_study"],
        "importing": ["check_answers", "import_answers"],
        "templates": ["new_study"],
    },
)
