"""Matrices that are solved and factored: triangular systems and Cholesky (`triangular`), LAPACK's routines (`lapack`).

All are blocked around `tiles`, the register tiles of products: `lu`, `qr` by blocks of `reflections`, eigenvalues
(`eigen`) of what `tridiagonal` leaves by the steps of `implicit`; `factor` and `sides` are Cholesky's and the systems'.
"""
