"""A failure as a folder or archive that shows it again."""
