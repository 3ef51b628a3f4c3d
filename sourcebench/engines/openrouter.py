"""OpenRouter's web plugin: the shape of OpenAI's chat search, with spans that are often 0 to 0."""

from sourcebench.engines.chat import parse

__all__ = ["parse"]
