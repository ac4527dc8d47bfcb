"""What the module computes, beside closed forms, the program's own numbers and its own C functions. `python3 cases.py
DIRECTORY-WITH-CSV bare` runs the same without NumPy."""
import csv
import importlib.util
import math
import os
import re
import sys
import xml.etree.ElementTree
from fractions import Fraction

if "bare" in sys.argv:
    sys.modules["numpy"] = None
import trotter
from trotter.library import np

from asserts import near, raises

assert (np is None) == ("bare" in sys.argv)


def rows(name):
    with open(os.path.join(sys.argv[1], name)) as f:
        return list(csv.DictReader(f))


def picture(p, curves):
    """Its SVG is XML, has this many lines, and no number in it is nan."""
    text = p.svg()
    xml.etree.ElementTree.fromstring(text)
    assert text.count('stroke-width="2"') >= curves and "nan" not in text, text
    return text


decay = trotter.System(F=lambda t, y: [-y[0], -2 * y[1]], initial=[1, 1], t_end=2)
pendulum = trotter.System(F=lambda t, y: [0, -math.sin(y[0])], G=lambda t, y: [y[1], 0], initial=[1, 0])


def solving():
    s = trotter.solve(decay, scheme="rk4", h=0.5)
    t, y = s
    R = lambda z: 1 + z + z * z / 2 + z ** 3 / 6 + z ** 4 / 24
    assert [float(x) for x in t] == [0, 0.5, 1, 1.5, 2] and s.steps == 4 and s.outcome == "done"
    assert all(near(y[i][k], R(-0.5 * (i + 1)) ** k) for k in range(5) for i in range(2))
    assert all(near(e, math.sqrt(sum((y[i][k] - math.exp(-(i + 1) * t[k])) ** 2 for i in range(2)) / 2)) for k, e in enumerate(s.error))
    assert trotter.solve(decay, scheme="rk4", steps=4).t[1] == 0.5 and len(trotter.solve(decay, (0, 1), scheme="rk4", h=0.3).t) == 5
    one = trotter.System(G=lambda t, y: [-v for v in y], initial=[1])
    f = trotter.System(F=lambda t, y: [-v for v in y], initial=[1])
    zero = trotter.System(F=lambda t, y: [-v for v in y], G=lambda t, y: [0 * v for v in y], initial=[1])
    ends = [trotter.solve(u, scheme="rk4", h=0.25).final[0] for u in (one, f, zero)]
    assert ends == [ends[0]] * 3 and near(ends[0], R(-0.25) ** 4)
    burst = trotter.solve(lambda t, y: [1e80 * float(y[0])], (0, 9), [1], "euler", h=1)
    assert burst.outcome == "not finite" and burst.steps == len(burst.t) - 1 < 9 and "not finite" in repr(burst)
    grid = trotter.solve("kepler", (0, 0.3), scheme="heun", h=0.1)
    assert len(grid.y) == 4 and len(grid.y[0]) == 4 and (not np or grid.y.shape == (4, 4, 4)) and len(grid.final[0]) == 4
    assert near(trotter.reference(decay, 1)[1], math.exp(-2)) and near(trotter.reference(decay, [1, 2])[1][0], math.exp(-2))


def by_tolerance():
    """The run is that of `trotter solve`."""
    own, (run,) = rows("solution.csv"), rows("solve.csv")
    s = trotter.solve("arenstorf", rtol=1e-7, atol=1e-7, times=20)
    assert (s.steps, s.rejected, s.nfev) == tuple(int(run[k]) for k in ("steps", "rejected", "evals"))
    own = [r for r in own if r["scheme"] == "dormand-prince"]
    assert len(own) == len(s.t) == 21 and all(near(s.y[i][k], float(r["y%d" % (i + 1)]), 1e-9) for k, r in enumerate(own) for i in range(4))
    assert near(s.error[-1], float(run["error"]), 1e-9)


def theory():
    terms = trotter.expand("heun", basis="field")
    assert terms == [(3, "H''(H,H)", Fraction(1, 12)), (3, "H'H'H", Fraction(-1, 6))] and isinstance(terms[0].coefficient, Fraction)
    assert r"h^{3}\bigl(\tfrac{1}{12} H''(H,H) - \tfrac{1}{6} H'H'H\bigr)" in terms._repr_latex_()
    assert trotter.expand("strang-marchuk", 3, "brackets") == [(3, "[F,[F,G]]", Fraction(1, 12)), (3, "[[F,G],G]", Fraction(-1, 24))]
    assert [t.name for t in trotter.expand("euler", 2, "modified")][-1] == "G'G" and "h^{0}" not in trotter.expand("euler", 2, "modified")._repr_latex_()
    told = [(int(r["order"]), r["condition"], Fraction(r["right"]), Fraction(r["left"]), r["holds"] == "yes") for r in rows("conditions.csv")]
    mine = trotter.conditions("rk4", 5)
    assert len(told) == 17 and mine == told and not mine[-1].holds and all(x.holds for x in mine[:8])
    norms = (trotter.order("rk4").error_norm, math.hypot(*(t.coefficient for t in trotter.expand("rk4", basis="field"))))
    assert "%.4g %.4g" % norms == "0.08935 0.0145"    # of two colours, and of one: Dormand, Prince 1980
    assert r"\sum_{i} b_{i} c_{i}^{2} &= \tfrac{1}{3} && \checkmark" in mine._repr_latex_()
    assert "one-step" in raises(trotter.conditions, "ab2", 3)[1]
    split = trotter.conditions("strang-marchuk", 3)
    assert split[-1].condition == "G'G'G" and split[-1].holds and not split[-2].holds and len(split) == 20
    assert trotter.order("rk4").colours == 2 and trotter.order("transformer-decoder").colours == 3
    constants = [trotter.error_constant(s) for s in ("ab2", "ab3", "ab4", "rk4")]
    assert constants[:3] == [-5 / 12, -3 / 8, -251 / 720] and math.isnan(constants[3])
    tableau = trotter.Scheme('{"name": "mid", "A": [[0], ["1/2"]], "b": [0, 1]}')
    assert tableau.name == "mid" and trotter.order(tableau).order == 2
    assert str(terms) == "h^3 1/12 H''(H,H)\nh^3 -1/6 H'H'H" and "sum b_i c_i^2 = 1/3, not met: 1/2" in str(trotter.conditions("heun", 3))
    assert "rk4" in trotter.schemes() and "kepler" in trotter.systems()
    assert all(trotter.order(s).order >= 0 for s in trotter.schemes()[:5])


def carried():
    nesterov = "scheme n\ncarry v\nk1 = H(y + 9/10*v)\nv' = 9/10*v + 1/10*k1\ny' = y + v'"
    dimsim = "scheme d\ncarry v\nk1 = H(y)\nk2 = H(v + 2*k1)\nv' = 1/2*y + 1/2*v + 3/4*k1 - 1/4*k2\ny' = 1/2*y + 1/2*v + 5/4*k1 + 1/4*k2"
    assert [trotter.order(s).order for s in (nesterov, dimsim)] == [1, 2] and trotter.order(dimsim).zero_stable
    assert trotter.expand(dimsim, basis="field") == [(3, "H''(H,H)", Fraction(-1, 3)), (3, "H'H'H", Fraction(-1, 3))]
    ball = trotter.System(F=lambda t, y: [y[1], -y[0]], initial=[1, 0], t_end=1)
    errors = [trotter.solve(ball, scheme=dimsim, h=h).final[0] - math.cos(1) for h in (.02, .01)]
    assert 3.6 < errors[0] / errors[1] < 4.4
    assert abs(trotter.convergence([dimsim], "attention").table[-1].rate - 2) < .1
    assert "no estimate of its error" in raises(trotter.solve, ball, (0, 1), scheme=dimsim, rtol=1e-3)[1]
    assert "carries 'v' from step to step" in raises(trotter.conditions, dimsim, 2)[1] and math.isnan(trotter.error_constant(dimsim))


def stable():
    p = trotter.region("rk4")
    line = next(c for c in p.curves if c.label == "rk4")
    edge = [complex(x, y) for x, y in zip(line.x, line.y) if x == x]
    assert len(edge) > 200 and all(abs(r - 1) < 2e-3 for r in trotter.amplification("rk4", edge))
    area = sum((b - a) * (d - c) for a, b, c, d in p.shade)
    cells = [complex(-4 + (i + .5) / 25, (j + .5) / 25) for i in range(113) for j in range(80)]
    assert near(area, 2 * sum(r <= 1 for r in trotter.amplification("rk4", cells)) / 625, 0.01), area
    picture(p, 1), picture(trotter.region(["euler", "implicit-midpoint"], points=41), 2)
    assert trotter.amplification("rk4", -1) == 0.37499999999999994 and "window" in raises(trotter.region, "rk4", re=(1, 0))[1]


def converging():
    study = trotter.convergence(["heun", "rk4"], pendulum, t_end=2, h=0.25)
    for o, p in zip(study, (2, 4)):
        mine = [r for r in study.table if r.scheme == o.scheme]
        assert o.expected == p and o.verdict == "agree" and abs(mine[-1].rate - p) < 0.1 and math.isnan(mine[0].rate)
        assert all(near(b.rate, math.log2(a.error / b.error)) for a, b in zip(mine, mine[1:]))
    points = trotter.library.table([("h", "f8"), ("error", "f8"), ("evaluations", "i8")], [(h, 5 * h ** 3, 1) for h in (1, 0.8, 0.5)])
    uneven = trotter.Convergence([study[0]._replace(points=points)])  # steps need not be halves
    assert all(near(r.rate, 3) for r in uneven.table[1:])
    lines = str(study).split("\n")
    assert lines[0].split() == ["h", "heun", "rate", "rk4", "rate"] and lines[2].split()[1] == "%.3e" % study.table[1].error
    assert study.latex().count(r"\\") == len(lines) and r"\cdot 10^{-" in study.latex()
    assert not np or (study.table.dtype.names == ("scheme", "h", "error", "rate", "evaluations") and study.table.h[0] == 0.25)
    work = trotter.work_precision("dormand-prince", pendulum, [1e-4, 1e-6, 1e-8], 2)
    errors, spent = [r.error for r in work.table], [r.evaluations for r in work.table]
    assert all(b < a / 20 for a, b in zip(errors, errors[1:])) and spent == sorted(spent) and errors[2] < 1e-7
    for p in (study.picture(), study.work(), work.picture(), study.work() + work.picture()):
        picture(p, 1)
    assert picture(study.work() + work.picture(), 3).count(">dormand-prince<") == 1


def pictures():
    evil = trotter.Picture("<b>", "x & y", "`id`", [trotter.Curve("<script>", [0, 1, float("nan"), 3], [0, 1, 2, float("inf")])])
    text = picture(evil, 1)
    assert "<script>" not in text and "&lt;script&gt;" in text and "x &amp; y" in text
    up = trotter.Picture("", "x", "y", [trotter.Curve("a", [0, 1], [0, 1])])
    x0, y0, x1, y1 = map(float, re.search('path d="M([0-9.]+) ([0-9.]+)L([0-9.]+) ([0-9.]+)"', picture(up, 1)).groups())
    assert x0 < x1 and y0 > y1
    assert len({c.colour for c in (up + up + up).curves}) == 3
    assert picture(trotter.solve(decay).picture(), 2) == trotter.solve(decay)._repr_svg_()
    assert picture(trotter.Picture("one point", "x", "y", [trotter.Curve("a", [2], [2])], log=True), 1)
    if np and importlib.util.find_spec("matplotlib"):
        drawn = trotter.region("rk4").draw()
        assert len(drawn.lines) == 3 and drawn.get_xlabel() == "Re z,  z = hλ" and len(trotter.solve(decay).picture().draw().lines) == 2
        (trotter.solve(decay).phase() + trotter.solve(decay, scheme="euler", h=0.1).phase()).save("phase.png")
        assert os.path.getsize("phase.png") > 5000
    trotter.solve("lorenz", scheme="rk4", h=0.01).phase(0, 2).save("lorenz.svg")
    assert os.path.getsize("lorenz.svg") > 1000


def refused():
    for name in "/x" + "\u20ac" * 600, "/nowhere/\udcff":  # words that are cut within a letter; a file's bytes
        assert raises(trotter.load, name)[0] == "Error"
    assert "F(t, y) gives shape" in raises(trotter.solve, lambda t, y: [1], (0, 1), [1, 2])[1]
    calls = []
    late = trotter.System(F=lambda t, y: calls.append(t) or ([1.0] if t < 0.5 else 1 / 0), initial=[0.0])
    assert raises(trotter.measure, "euler", late)[0] == "ZeroDivisionError"
    assert sum(t >= 0.5 for t in calls) == 1  # not called again
    assert near(trotter.solve(late, (0, 0.4), scheme="euler", h=0.1).final[0], 0.4)
    assert "rk4" in raises(trotter.order, "rk44")[1] and "text:2:" in raises(trotter.Scheme, "scheme a\nk1 = F(y\n")[1]
    assert raises(trotter.System)[0] == raises(trotter.order, None)[0] == "TypeError"
    assert "System(F=<lambda>, initial" in raises(trotter.reference, lambda t, y: y, 1)[1]
    assert raises(trotter.solve, decay, scheme="rk4", steps=-1)[0] == "ValueError" and "modified" in raises(trotter.expand, "rk4", 4, "roots")[1]


for case in (solving, by_tolerance, theory, carried, stable, converging, pictures, refused):
    case()
    print(case.__name__)
