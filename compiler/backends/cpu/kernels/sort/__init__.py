"""Sorting lines: by a `network`, by `radix` or by `merge`; `shared` by threads, or only the first few (`select`)."""
