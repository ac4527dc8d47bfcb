"""Trotter from Python: integrators as texts, their theory, and what they do on differential equations.

    import trotter
    trotter.order("rk4").order                                       # 4
    trotter.expand("heun", basis="field")                            # the error terms, exact; in Jupyter a formula
    trotter.region(["euler", "rk4"])                                 # stability regions; in Jupyter a picture
    pendulum = trotter.System(F=lambda t, y: [y[1], -sin(y[0])], initial=[1, 0], t_end=10)
    t, y = trotter.solve(pendulum, scheme="rk4", h=0.1)              # t (k), y (2, k)
    trotter.solve(lambda t, y: -y, (0, 5), [1], rtol=1e-6)           # as scipy.integrate.solve_ivp
    print(trotter.convergence(["heun", "rk4"], pendulum))            # errors and rates
    trotter.load("out/train").logits([0, 5, 17])                     # (3, V) of a trained model

Error means numerical - exact; order p means local error O(h^(p + 1)); times and steps have the unit of the system. What
the C library refuses raises trotter.Error with its words; trotter.h tells what each function computes. With NumPy values
are arrays and tables record arrays, without it lists and named tuples."""

from .library import Error, version
from .models import Model, load, score
from .numerics import (Condition, Convergence, Order, Scheme, Solution, Stability, System, Term, Theory, Within, WorkPrecision,
                       amplification, conditions, convergence, error_constant, expand, measure, order, reference, region, schemes, solve,
                       stability, systems, work_precision)
from .pictures import Curve, Picture

__all__ = ["Condition", "Convergence", "Curve", "Error", "Model", "Order", "Picture", "Scheme", "Solution", "Stability",
           "System", "Term", "Theory", "Within", "WorkPrecision", "amplification", "conditions", "convergence", "error_constant", "expand", "load",
           "measure", "order", "reference", "region", "schemes", "score", "solve", "stability", "systems", "version",
           "work_precision"]
