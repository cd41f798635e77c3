"""From records to tables, charts and pages; everything here is a pure function of the records.

Nothing is measured, no clock is read: the same records give the same bytes, which `xlabench report --check` relies on.
"""
