"""Campaigns: programs made up or changed, run everywhere, and what is found."""
