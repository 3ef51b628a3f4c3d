"""Do the cited pages back what an answer says? Statements, verification, and what comes of them."""

from sourcebench.support.measures import load_support
from sourcebench.support.stage import make_verifier, verify_study

__all__ = ["load_support", "make_verifier", "verify_study"]
