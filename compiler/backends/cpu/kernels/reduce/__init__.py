"""Reductions: `kernel` has the strategies and loops around results, `columns` and `few_columns` two of the forms."""
