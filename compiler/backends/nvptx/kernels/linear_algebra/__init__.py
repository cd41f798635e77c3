"""Matrices that are solved and factored: `triangular` has the strategies of both kinds."""
