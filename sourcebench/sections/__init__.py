"""One module a notebook: the tables and figures of that section of the paper."""
