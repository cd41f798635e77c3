"""Updates of an array at computed places: `kernel`."""
