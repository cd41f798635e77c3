"""Records in, charts and pages out."""
