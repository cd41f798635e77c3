"""Programs written by programs: what expander passes put in an instruction's place, as formulas over HLO.

`expression` and `counted_loop` are the language, `replacement` is how a pass uses it; the rest is mathematics
(`matrices` and the factorisations, `lapack`), arrays whose sizes are known at run time (`sized`), and what devices
exchange (`wiring`).
"""
