"""Lines that a user of scipy.integrate.solve_ivp would write, with trotter.solve in its place: results beside closed forms and, where
SciPy is there, beside its own. `python3 solving.py bare` runs the same without NumPy (test_library.c)."""
import math
import sys

if "bare" in sys.argv:
    sys.modules["numpy"] = None
import trotter
from trotter.library import np

from asserts import near, raises

try:
    from scipy.integrate import solve_ivp
except ImportError:
    solve_ivp = None
    print("# skipped: SciPy's own results, as there is no SciPy" if np else "# bare")


def beside(mine, within, f, span, y0, method="RK45", **given):
    """SciPy's run has the same shapes, status and events, and its numbers are as near as that."""
    if solve_ivp is None:
        return
    theirs = solve_ivp(f, span, y0, method=method, **given)
    assert (mine.status, mine.success, mine.y.shape[0], mine.y.shape[1]) == (theirs.status, theirs.success, theirs.y.shape[0], len(mine.t))
    assert near(mine.t[-1], theirs.t[-1], within) and np.allclose(mine.y[:, -1], theirs.y[:, -1], rtol=within, atol=within)
    for a, b, c, d in zip(mine.t_events or [], theirs.t_events or [], mine.y_events or [], theirs.y_events or []):
        assert a.shape == b.shape and np.allclose(a, b, rtol=within, atol=within), (a, b)
        assert len(a) == 0 or np.allclose(c, d, rtol=within, atol=within)
    if mine.sol:
        t = np.linspace(*span, 301)
        assert mine.sol(t).shape == theirs.sol(t).shape and np.allclose(mine.sol(t), theirs.sol(t), rtol=within, atol=within)


def bouncing_ball():
    def fall(t, y):
        return [y[1], -9.81]

    def ground(t, y):
        return y[0]
    ground.terminal, ground.direction = True, -1
    t, y, hits = 0, [10, 0], []
    while len(hits) < 4:
        s = trotter.solve(fall, (t, 20), y, events=ground, rtol=1e-9, atol=1e-9)
        assert s.status == 1 and s.success and "event" in s.message and s.t[-1] == s.t_events[0][0]
        beside(s, 1e-9, fall, (t, 20), y, events=ground, rtol=1e-9, atol=1e-9)
        hits.append(float(s.t[-1]))
        t, y = s.t[-1], [0, -0.5 * float(s.y[1][-1])]
    exact = [math.sqrt(20 / 9.81) * (1 + sum(2 * 0.5 ** i for i in range(1, k + 1))) for k in range(4)]
    assert all(near(a, b, 1e-9) for a, b in zip(hits, exact)), (hits, exact)
    ground.terminal, ground.direction = 3, 0  # of many the third ends the run
    s = trotter.solve(lambda t, y: [math.cos(t)], (1, 50), [math.sin(1)], events=ground, rtol=1e-9, atol=1e-9)
    assert s.status == 1 and [round(float(x) / math.pi, 8) for x in s.t_events[0]] == [1, 2, 3]


def poincare_section():
    def henon_heiles(t, s):
        x, y, u, v = s
        return [u, v, -x - 2 * x * y, -y - x * x + y * y]

    def section(t, s):
        return s[0]
    section.direction = 1
    y0 = [0.1, -0.15, 0.4, 0.05]
    mine = trotter.solve(henon_heiles, (0, 60), y0, events=[section, lambda t, s: s[1] - 5], rtol=1e-10, atol=1e-10)
    assert len(mine.t_events) == 2 and len(mine.t_events[0]) == 8 and len(mine.t_events[1]) == 0
    assert all(abs(s[0]) < 1e-11 and s[2] > 0 for s in mine.y_events[0])
    energy = [(s[2] ** 2 + s[3] ** 2 + s[0] ** 2 + s[1] ** 2) / 2 + s[0] ** 2 * s[1] - s[1] ** 3 / 3 for s in [y0, *mine.y_events[0]]]
    assert max(energy) - min(energy) < 1e-8
    beside(mine, 1e-7, henon_heiles, (0, 60), y0, "DOP853", events=[section, lambda t, s: s[1] - 5], rtol=1e-12, atol=1e-12)


def period_of_arenstorf():
    def through(t, y):
        return y[1]
    through.direction = -1
    s = trotter.solve("arenstorf", (0, 17.5), events=through, rtol=1e-12, atol=1e-12)
    assert abs(s.t_events[0][-1] - 17.0652165601579625) < 1e-8 and abs(s.y_events[0][-1][0] - 0.994) < 1e-7


def stiff_van_der_pol():
    mu, asked, called = 1000, [], []

    def f(t, y):
        called.append(t)
        return [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]

    def jac(t, y):
        asked.append(t)
        return [[0, 1], [-2 * mu * y[0] * y[1] - 1, mu * (1 - y[0] ** 2)]]
    both = [trotter.solve(f, (0, 2000), [2, 0], "radau-iia5", rtol=1e-6, atol=1e-6, jac=j, dense_output=True) for j in (None, jac)]
    for s in both:
        assert near(s.y[0][-1], 1.706167732170483, 1e-6) and near(s.y[1][-1], -0.8928097010247975e-3, 1e-6)
        assert s.njev > 50 and s.nlu > s.njev
    assert sum(s.nfev for s in both) == len(called)
    assert len(asked) == both[1].njev and both[1].nfev < both[0].nfev - 2 * both[1].njev
    beside(both[1], 2e-4, f, (0, 2000), [2, 0], "Radau", jac=jac, rtol=1e-8, atol=1e-8, dense_output=True)
    for scheme in ("radau-iia5", "rodas4", "tr-bdf2"):  # a constant one
        A = [[-1000.0, 1.0], [0.0, -0.5]]
        linear = trotter.solve(lambda t, y: [sum(a * x for a, x in zip(row, y)) for row in A], (0, 1), [1, 1], scheme, rtol=1e-6,
                               jac=(lambda t, y: A) if scheme == "rodas4" else A)
        assert scheme != "rodas4" or linear.njev > 0
        assert near(linear.y[1][-1], math.exp(-0.5), 1e-4) and near(linear.y[0][-1], math.exp(-0.5) / 999.5, 1e-4), linear


def sparse_derivatives():
    """Where the derivative has entries three differences give those of 40 columns; a wrong pattern gives other steps."""
    n, calls = 40, [0]

    def heat(t, y):
        calls[0] += 1
        return [900 * ((y[i - 1] if i else 0) - 2 * y[i] + (y[i + 1] if i < n - 1 else 0)) for i in range(n)]

    band = [[int(abs(i - k) < 2) for k in range(n)] for i in range(n)]
    y0, given = [math.sin(math.pi * (i + 1) / (n + 1)) for i in range(n)], {"rtol": 1e-6, "atol": 1e-8}
    whole = trotter.solve(heat, (0, 0.1), y0, "rodas4", **given)
    calls[0] = 0
    sparse = trotter.solve(heat, (0, 0.1), y0, "rodas4", jac_sparsity=band, **given)
    assert sparse.nfev == calls[0] and sparse.nfev < whole.nfev / 5 and sparse.steps == whole.steps, (sparse.nfev, calls, whole.nfev)
    assert near(sparse.y[0][-1], whole.y[0][-1], 1e-9)
    diagonal = [[int(i == k) for k in range(n)] for i in range(n)]
    assert trotter.solve(heat, (0, 0.1), y0, "rodas4", jac_sparsity=diagonal, **given).steps != whole.steps
    assert raises(trotter.solve, heat, (0, 1), y0, "bdf", jac_sparsity=[[1]]) == ("ValueError", "jac_sparsity: expected 40 rows of 40 numbers, one a coordinate")
    assert "belong to a function" in raises(trotter.solve, "lorenz", jac_sparsity=[[1]])[1]
    if solve_ivp is not None:
        from scipy.sparse import csc_matrix
        mine = trotter.solve(heat, (0, 0.1), y0, "bdf", jac_sparsity=csc_matrix(band), **given)
        beside(mine, 1e-4, heat, (0, 0.1), y0, "BDF", jac_sparsity=csc_matrix(band), **given)
        turn = trotter.solve(lambda t, y: [y[1], -y[0]], (0, 1), [1, 0], "bdf", jac=lambda t, y: csc_matrix([[0, 1], [-1, 0]]), **given)
        assert near(turn.y[0][-1], math.cos(1), 1e-5)


def dense_output():
    for scheme in ("dormand-prince", "radau-iia5", "rodas4", "fehlberg", "rk4", "ab2"):
        given = {"steps": 400} if scheme in ("rk4", "ab2") else {"rtol": 1e-7, "atol": 1e-9}
        s = trotter.solve(lambda t, y: [y[1], -y[0]], (0, 2), [0, 1], scheme, dense_output=True, **given)
        assert near(s.sol(0.777)[0], math.sin(0.777), 2e-5 if scheme == "ab2" else 1e-6), scheme
        values = s.sol([0, 0.5, 1, 2])
        assert len(values) == 2 and len(values[0]) == 4 and (not np or (values.shape == (2, 4) and s.sol(0.5).shape == (2,)))
        assert all(near(values[1][k], math.cos(t), 2e-5) for k, t in enumerate((0, 0.5, 1, 2)))
        assert raises(s.sol, 2.5)[0] == "Error" and raises(s.sol, float("nan"))[0] == "Error"
    assert trotter.solve(lambda t, y: [1.0], (0, 1), [0.0]).sol is None


def times():
    f, at = (lambda t, y: [-v for v in y]), [0, 0.5, 1.5, 3]
    s = trotter.solve(f, (0, 3), [1, 2], t_eval=at, rtol=1e-8, atol=1e-10)
    assert [float(t) for t in s.t] == at and all(near(s.y[1][k], 2 * math.exp(-t), 1e-7) for k, t in enumerate(at))
    assert [float(t) for t in trotter.solve(f, (0, 3), [1, 2], t_eval=[1]).t] == [1]
    grid = trotter.solve(f, (0, 3), [1, 2], times=6, rtol=1e-8, atol=1e-10)
    assert [float(t) for t in grid.t] == [0, 0.5, 1, 1.5, 2, 2.5, 3] and abs(grid.y[0][1] - s.y[0][1]) < 1e-12
    fixed = trotter.solve(f, (0, 3), [1, 2], "rk4", h=0.1, t_eval=at)
    assert all(near(fixed.y[0][k], math.exp(-t), 1e-6) for k, t in enumerate(at)) and fixed.steps == 30
    free = trotter.solve(f, (0, 3), [1, 2])
    assert len(free.t) == free.steps + 1 and free.t[0] == 0 and free.t[-1] == 3
    assert trotter.solve(f, (0, 3), [1, 2], max_step=0.01).steps >= 300
    beside(free, 1e-2, lambda t, y: -y, (0, 3), [1, 2])


def backwards():
    s = trotter.solve(lambda t, y: [t * y[0]], (3, -1), [math.exp(4.5)], rtol=1e-9, atol=1e-9, t_eval=[2, 0, -1], dense_output=True)
    assert all(near(y, math.exp(t * t / 2), 1e-7) for t, y in zip(s.t, s.y[0])) and near(s.sol(1)[0], math.exp(0.5), 1e-7)
    late = trotter.solve(lambda t, y: [t], (5, 6), [0], "rk4", steps=2)
    assert near(late.y[0][-1], 5.5, 1e-12) and list(map(float, late.t)) == [5, 5.5, 6]


def arguments():
    def f(t, y, a, b):
        return [a * y[0] + b]

    def level(t, y, a, b):
        return y[0] - b
    s = trotter.solve(f, (0, 1), [0], args=(-2, 3), events=level, jac=lambda t, y, a, b: [[a]], scheme="radau-iia5", rtol=1e-8, atol=1e-8)
    assert near(s.y[0][-1], 1.5 * (1 - math.exp(-2)), 1e-7) and len(s.t_events[0]) == 0
    assert near(trotter.solve(lambda t, y, k: [k], (0, 1), [0], args=7).y[0][-1], 7, 1e-9)


def exceptions():
    calls = []

    def late(t, y):
        calls.append(t)
        return [1.0 if t < 0.5 else 1 / 0]
    wrong = {"f": {"f": late}, "events": {"events": lambda t, y: y[7] if t > 0.5 else 1}, "jac": {"jac": lambda t, y: {}["x"], "scheme": "radau-iia5"}}
    for name, error in (("f", "ZeroDivisionError"), ("events", "IndexError"), ("jac", "KeyError")):
        given = dict(wrong[name])
        assert raises(trotter.solve, given.pop("f", lambda t, y: [1.0]), (0, 1), [0], **given)[0] == error, name
    assert sum(t >= 0.5 for t in calls) == 1
    assert raises(trotter.solve, lambda t, y: sys.exit(3), (0, 1), [0])[0] == "SystemExit"
    assert raises(trotter.solve, late, (0, 1), [0], "rk4", h=0.1)[0] == "ZeroDivisionError"


def systems_and_schemes():
    assert trotter.solve("lorenz", (0, 1), scheme="rk4", h=0.01).steps == 100
    slow, fast = (trotter.solve(("van-der-pol", {"mu": mu}), rtol=1e-8, atol=1e-8, t_span=(0, 1)).y[1][-1] for mu in (1, 5))
    assert abs(slow - fast) > 0.1
    text = "system own\ny1' = y2\ny2' = -sin(y1)\ninitial = 1, 0\nt-end = 20\n"
    mine = "scheme mine\nk1 = H(y)\nk2 = H(y + 1/2*k1)\ny' = y + k2\nerror = k2 - k1\n"
    s = trotter.solve(text, scheme=mine, rtol=1e-6, atol=1e-6)
    assert s.t[-1] == 20 and near(math.cos(s.y[0][-1]) - s.y[1][-1] ** 2 / 2, math.cos(1), 1e-3)
    s = trotter.solve("kepler", times=4)
    assert len(s.y) == 4 and len(s.y[0]) == 4 and len(s.y[0][0]) == 5
    other = trotter.solve(text, (0, 1), [0, 0])
    assert other.y[0][-1] == 0 and raises(getattr, other, "error")[0] == "ValueError"
    tight = [trotter.solve(lambda t, y: [y[1], -y[0]], (0, 10), [0, 1], rtol=r, atol=a).steps for r, a in ((1e-6, 1e-6), (1e-6, [1e-6, 1e-6]), (1e-6, [1e-10, 1e-10]))]
    assert tight[0] == tight[1] < tight[2]
    burst = trotter.solve(lambda t, y: [y[0] ** 2], (0, 2), [1])
    assert burst.status == -1 and not burst.success and abs(burst.t[-1] - 1) < 1e-3 and "spacing" in burst.message


def refused():
    f = lambda t, y: [-v for v in y]
    for words, given in (("not both 0", {"rtol": 0, "atol": 0}), ("from t = 0 to 2", {"t_eval": [1, 3]}), ("behind the one", {"t_eval": [1, 0.5]}),
                         ("no estimate", {"scheme": "rk4"}), ("shape (1,)", {"jac": [1], "scheme": "radau-iia5"}), ("'rk4'", {"scheme": "rk44"}),
                         ("length", {"h": -1}), ("or tolerances", {"h": 0.1, "rtol": 1e-3}), ("no step", {"steps": 0}), ("tolerances where", {"atol": [1] * 3}),
                         ("t_eval or times", {"times": 3, "t_eval": [1]}), ("longest", {"max_step": -1}), ("begins with", {"scheme": "ab4", "steps": 1})):
        kind, said = raises(trotter.solve, f, (0, 2), [1, 2], **given)
        assert words in said and "\n" not in said and kind in ("Error", "ValueError"), (given, kind, said)
    assert "from t = 1 to 1" in raises(trotter.solve, f, (1, 1), [1])[1] and "solve(f, (t0, t1), y0)" in raises(trotter.solve, f)[1]
    assert "jac" in raises(trotter.solve, "lorenz", jac=[[1]])[1] and "has 2" in raises(trotter.solve, "pendulum", y0=[1, 2, 3])[1]
    assert raises(trotter.solve, lambda t, y: None, (0, 1), [1])[0] == "TypeError"
    assert raises(trotter.solve, f, (0, 1), [1], events=lambda t, y: None)[0] == "TypeError"


for case in (bouncing_ball, poincare_section, period_of_arenstorf, stiff_van_der_pol, sparse_derivatives, dense_output, times, backwards, arguments, exceptions,
             systems_and_schemes, refused):
    case()
    print(case.__name__)
