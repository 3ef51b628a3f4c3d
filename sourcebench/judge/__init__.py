"""A judge scores a page: by rules, or by asking a language model."""

from sourcebench.judge.endpoint import JudgingStopped
from sourcebench.judge.jury import anchor_pages, members_of
from sourcebench.judge.stage import judge_study, make_judge, plan_judging

__all__ = [
    "JudgingStopped",
    "anchor_pages",
    "judge_study",
    "make_judge",
    "members_of",
    "plan_judging",
]
