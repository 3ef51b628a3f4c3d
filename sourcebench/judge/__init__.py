"""A judge scores a page: by rules, or by asking a language model."""

from sourcebench.judge.endpoint import JudgingStopped
from sourcebench.judge.stage import judge_study, make_judge, plan_judging

__all__ = ["JudgingStopped", "judge_study", "make_judge", "plan_judging"]
