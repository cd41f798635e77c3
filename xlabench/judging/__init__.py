"""What a result is judged by: tolerances, error bounds, and the comparison itself."""
