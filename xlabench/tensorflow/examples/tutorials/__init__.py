"""Data of tutorials."""
