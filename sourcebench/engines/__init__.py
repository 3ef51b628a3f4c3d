"""Answer engines and search tools: one module each, with `ask` (network) and `parse` (pure)."""
