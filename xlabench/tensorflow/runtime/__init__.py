"""What runs graphs."""
