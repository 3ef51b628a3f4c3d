"""Means, ranks, correlations and agreement, each with its uncertainty; the query is the unit."""
