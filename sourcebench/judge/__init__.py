"""A judge scores a page: by rules, or by asking a language model."""

from sourcebench.judge.stage import JudgingStopped, judge_study, make_judge

__all__ = ["JudgingStopped", "judge_study", "make_judge"]
