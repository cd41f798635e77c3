"""The error function."""

from __future__ import annotations

from compiler.codegen.math.exp_log import expm1_moderate
from compiler.codegen.math.term import Term, squared_polynomial

# 2/sqrt(pi) rounded, and (-log(erfc(t))/t - that) on (0, bound]: 2^-27.9 and 2^-54.8 of erf(t).
_HEAD = {"float": 1.128379225730896, "double": 1.1283791670955126}
_BOUND = {"float": 3.95, "double": 5.95}
_EXPONENT = {
    "float": (
        -5.410188e-08, 0.6366194, 0.10277776, -0.019152787, -0.00016089818, 0.001667514, -0.00063309417,
        0.000117710944, -9.263776e-06,
    ),
    "double": (
        -9.24299692773714e-18, 0.636619772367591, 0.10277260330131467, -0.01912844699308443, -0.00020919485399980976,
        0.0016962076702407413, -0.0005901324314953854, 2.5904503659930336e-05, 6.442046245383502e-05,
        -2.957564773225036e-05, 3.16963762720047e-06, 3.133009229940366e-06, -2.037239327546851e-06,
        5.7067527630291e-07, -1.1736261884161515e-08, -6.571921544741923e-08, 3.4579142562299686e-08,
        -1.0771585975160679e-08, 2.3600962205522682e-09, -3.7599650260431707e-10, 4.3008188350920844e-11,
        -3.363491789176654e-12, 1.6144052256549625e-13, -3.591029688932218e-15,
    ),
}  # fmt: skip


def erf(x: Term) -> Term:
    """erf|x| = 1 - e^-u with u = -log(erfc|x|), a polynomial without constant term; one formula for the whole range.

    The polynomial is weighted by what is left of its error in the result, t erfc(t) / erf(t), and so stays short; expm1
    keeps small results exact.  Beyond the bound erf has rounded to 1.
    """
    t = x.abs().at_most(_BOUND[x.format.type])
    first, *rest = _EXPONENT[x.format.type]
    u = t.fma(_HEAD[x.format.type], (t * t).fma(squared_polynomial(t, rest), t * first))
    return expm1_moderate(-u).copysign(x)
