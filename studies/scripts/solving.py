"""solving.py: how exact `solve` is by its tolerances, and what that costs beside SciPy and CVODE.

    /usr/bin/python3 studies/scripts/solving.py [--out DIR] [--only errors|work|pages] [--problems NAME,...] [--schemes NAME,...] [--seconds S]

It needs build/release/libtrotter.so (`make shared`), NumPy and SciPy (python3-scipy), Matplotlib for the plot
(python3-matplotlib), and for the rows of CVODE build/peers/arkode.so (`make peers`, libsundials-dev).

DIR (studies/results/solve, for whole runs alone) gets errors.csv, the errors of every pair and of bdf on 20 problems at six tolerances; work.csv, steps,
evaluations, processor time and errors on seven of them beside the peers; work.svg, the plot of both; references.csv, how well the
solutions are known; about.txt, the date, the machine and the command. README.md there has the rules by which they are read.

Fields are written twice: ours as built in (ode/systems), the peers' here. SciPy's have NumPy where there are many coordinates, and
Jacobians by differences, of grids with their pattern, as ours. A run that takes more than S seconds (60) of processor time is ended,
and so are its scheme's smaller tolerances."""
import argparse
import csv
import ctypes
import math
import os
import pickle
import resource
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "studies" / "api" / "python"))
import numpy as np
from scipy import integrate as scipy_integrate
from scipy.integrate import odeint, solve_ivp
from scipy.sparse import diags
import trotter

TOLERANCES = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8]
LOOSER = [0.3, 0.1, 0.03, 0.01]  # for work too: some schemes are more exact than they need be
TIMES = 200
GOOD = 20     # tolerances
QUICK = 10    # times the median speed of the solution
EXPLICIT = ["bogacki-shampine", "fehlberg", "cash-karp", "dormand-prince", "dop853"]
WORK = {"stiff": ["radau-iia5", "bdf", "kvaerno5", "esdirk4", "rodas4"], "other": EXPLICIT}
PEERS = {"stiff": ["SciPy Radau", "SciPy BDF", "CVODE BDF"], "other": ["SciPy DOP853", "SciPy RK45", "ARKODE ERK"]}
IMPLICIT = ["radau-iia5", "bdf", "kvaerno3", "kvaerno5", "sdirk4", "esdirk4", "tr-bdf2", "rodas4"]

# ---- fields ---------------------------------------------------------------------------------------------


def logistic(t, y):
    return [y[0] * (1 - y[0])]


def oscillator(t, y):
    return [y[1], -y[0]]


def pendulum(t, y):
    return [y[1], -math.sin(y[0])]


def lotka_volterra(t, y):
    return [y[0] * (2 / 3 - 4 / 3 * y[1]), y[1] * (y[0] - 1)]


def brusselator(t, y):
    return [1 + y[0] * y[0] * y[1] - 4 * y[0], 3 * y[0] - y[0] * y[0] * y[1]]


def lorenz(t, y):
    return [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]


def fitzhugh_nagumo(t, y):
    return [y[0] - y[0] ** 3 / 3 - y[1] + 0.5, (y[0] + 0.7 - 0.8 * y[1]) / 12.5]


def arenstorf(t, y):
    mu, nu = 0.012277471, 1 - 0.012277471
    a, b = ((y[0] + mu) ** 2 + y[1] ** 2) ** 1.5, ((y[0] - nu) ** 2 + y[1] ** 2) ** 1.5
    return [y[2], y[3], y[0] + 2 * y[3] - nu * (y[0] + mu) / a - mu * (y[0] - nu) / b, y[1] - 2 * y[2] - nu * y[1] / a - mu * y[1] / b]


def pleiades(t, y):
    z, out = y.reshape(7, 4), np.empty((7, 4))
    d = z[None, :, :2] - z[:, None, :2]
    r3 = ((d ** 2).sum(2) + np.eye(7)) ** 1.5
    out[:, :2], out[:, 2:] = z[:, 2:], (np.arange(1, 8)[None, :, None] * d / r3[:, :, None]).sum(1)
    return out.ravel()


def advection(t, y):
    n = len(y)
    return -n * (np.roll(y, -1) - np.roll(y, 1)) / 2


def prothero_robinson(t, y):
    return [-1e6 * (y[0] - math.cos(t)) - math.sin(t)]


def van_der_pol(t, y):
    return [y[1], 1000 * (1 - y[0] * y[0]) * y[1] - y[0]]


def hires(t, y):
    a, b, c, d, e, f, g, h = y
    r = 280 * f * h
    return [-1.71 * a + 0.43 * b + 8.32 * c + 0.0007, 1.71 * a - 8.75 * b, -10.03 * c + 0.43 * d + 0.035 * e, 8.32 * b + 1.71 * c - 1.12 * d,
            -1.745 * e + 0.43 * f + 0.43 * g, -r + 0.69 * d + 1.71 * e - 0.43 * f + 0.69 * g, r - 1.81 * g, -r + 1.81 * g]


def robertson(t, y):
    a, b = 0.04 * y[0] - 1e4 * y[1] * y[2], 3e7 * y[1] * y[1]
    return [-a, a - b, b]


def oregonator(t, y):
    return [77.27 * (y[1] + y[0] * (1 - 8.375e-6 * y[0] - y[1])), (y[2] - (1 + y[0]) * y[1]) / 77.27, 0.161 * (y[0] - y[2])]


def pollution(t, y):
    r = [0.35 * y[0], 26.6 * y[1] * y[3], 1.23e4 * y[4] * y[1], 8.6e-4 * y[6], 8.2e-4 * y[6], 1.5e4 * y[6] * y[5], 1.3e-4 * y[8],
         2.4e4 * y[8] * y[5], 1.65e4 * y[10] * y[1], 9e3 * y[10] * y[0], 0.022 * y[12], 1.2e4 * y[9] * y[1], 1.88 * y[13],
         1.63e4 * y[0] * y[5], 4.8e6 * y[2], 3.5e-4 * y[3], 0.0175 * y[3], 1e8 * y[15], 4.44e11 * y[15], 1240 * y[16] * y[5], 2.1 * y[18],
         5.78 * y[18], 0.0474 * y[0] * y[3], 1780 * y[18] * y[0], 3.12 * y[19]]
    return [-r[0] - r[9] - r[13] - r[22] - r[23] + r[1] + r[2] + r[8] + r[10] + r[11] + r[21] + r[24], -r[1] - r[2] - r[8] - r[11] + r[0] + r[20],
            -r[14] + r[0] + r[16] + r[18] + r[21], -r[1] - r[15] - r[16] - r[22] + r[14], -r[2] + 2 * r[3] + r[5] + r[6] + r[12] + r[19],
            -r[5] - r[7] - r[13] - r[19] + r[2] + 2 * r[17], -r[3] - r[4] - r[5] + r[12], r[3] + r[4] + r[5] + r[6], -r[6] - r[7],
            -r[11] + r[6] + r[8], -r[8] - r[9] + r[7] + r[10], r[8], -r[10] + r[9], -r[12] + r[11], r[13], -r[17] - r[18] + r[15], -r[19], r[19],
            -r[20] - r[21] - r[23] + r[22] + r[24], -r[24] + r[23]]


def ring_modulator(t, y):
    C, Cs, Cp, Lh, Ls1, Ls2, Ls3, gamma, delta = 1.6e-8, 2e-12, 1e-8, 4.45, 2e-3, 5e-4, 5e-4, 40.67286402e-9, 17.7493332
    a, b = 0.5 * math.sin(2000 * math.pi * t), 2 * math.sin(20000 * math.pi * t)
    try:
        q = [gamma * (math.exp(delta * u) - 1) for u in (y[2] - y[4] - y[6] - b, -y[3] + y[5] - y[6] - b, y[3] + y[4] + y[6] + b, -y[2] - y[5] + y[6] + b)]
    except OverflowError:
        return [math.nan] * 15
    return [(y[7] - 0.5 * y[9] + 0.5 * y[10] + y[13] - y[0] / 25000) / C, (y[8] - 0.5 * y[11] + 0.5 * y[12] + y[14] - y[1] / 25000) / C,
            (y[9] - q[0] + q[3]) / Cs, (-y[10] + q[1] - q[2]) / Cs, (y[11] + q[0] - q[2]) / Cs, (-y[12] - q[1] + q[3]) / Cs,
            (-y[6] / 50 + q[0] + q[1] - q[2] - q[3]) / Cp, -y[0] / Lh, -y[1] / Lh, (0.5 * y[0] - y[2] - 17.3 * y[9]) / Ls2,
            (-0.5 * y[0] + y[3] - 17.3 * y[10]) / Ls3, (0.5 * y[1] - y[4] - 17.3 * y[11]) / Ls2, (-0.5 * y[1] + y[5] - 17.3 * y[12]) / Ls3,
            (-y[0] + a - (50 + 36.3) * y[13]) / Ls1, (-y[1] - (600 + 36.3) * y[14]) / Ls1]


def medical_akzo(t, y):
    n, u, v = 200, y[0::2], y[1::2]
    x = np.arange(1, n + 1) / n
    left = np.concatenate(([2.0 if t <= 5 else 0.0], u[:-1]))
    right = np.concatenate((u[1:], u[-1:]))
    out, r = np.empty(2 * n), 100 * u * v
    out[0::2] = n * (x - 1) ** 3 / 16 * (right - left) + n * n * (x - 1) ** 4 / 16 * (right - 2 * u + left) - r
    out[1::2] = -r
    return out


def heat(t, y):
    n = len(y)
    out = -2 * y
    out[1:] += y[:-1]
    out[:-1] += y[1:]
    return (n + 1) ** 2 * out


def burgers(t, y):
    n, p = len(y), np.concatenate(([0.0], y, [0.0]))
    return 0.1 * (n + 1) ** 2 * (p[2:] - 2 * y + p[:-2]) - (n + 1) * (p[2:] ** 2 - p[:-2] ** 2) / 4


def transport(t, y):
    n, p = len(y), np.concatenate(([0.0], y, [0.0]))
    dx = 2 * math.pi / (n + 1)
    return (p[2:] - 2 * y + p[:-2]) / (4 * dx * dx) + (p[:-2] - p[2:]) / (2 * dx)


# ---- problems -------------------------------------------------------------------------------------------


class Problem:
    """once: the end alone is looked at. small: atol over rtol, 1 where all coordinates are of one size, else what Hairer and Wanner 1996, IV.10 take. band: of the
    Jacobian. breaks: times where the field jumps."""

    def __init__(self, f, t_end, stiff, small=1.0, band=None, log=0, breaks=(), particles=0, system=None, parts=1, once=False):
        self.name, self.f, self.t_end, self.stiff = f.__name__.replace("_", "-"), f, t_end, stiff
        self.small, self.band, self.log, self.breaks = small, band, log, breaks
        self.system, self.particles, self.parts = system or self.name, particles, parts
        self.t = np.geomspace(log, t_end, TIMES) if log else np.array([t_end]) if once else np.linspace(0, t_end, TIMES + 1)[1:]

    def begin(self):
        """Makes our system, and reads its initial state."""
        self.on = trotter.System(self.system, particles=self.particles)
        self.initial = np.array(self.on.initial, dtype=float).ravel()
        return self

    def scale(self, rtol, y):
        return rtol * (self.small + np.abs(y))

    def error(self, rtol, y, exact):
        """RMS over coordinates of error over tolerance, of each time."""
        return np.sqrt((((y - exact) / self.scale(rtol, exact)) ** 2).mean(-1))

    def quick(self):
        """At which of the times the solution is quick: y' along the axis of these times, over atol / rtol + |y|, is QUICK times its median."""
        speed = np.array([np.sqrt(((np.asarray(self.f(t, y)) / self.scale(1, y)) ** 2).mean()) for t, y in zip(self.t, self.exact)])
        if self.log:
            speed = speed * self.t
        return speed > QUICK * np.median(speed)

    def pattern(self):
        N, b = len(self.initial), self.band
        return None if b is None else diags([np.ones(N - abs(k)) for k in range(-b, b + 1)], range(-b, b + 1)).tocsc()

    def lsoda(self, rtol):
        """States at the times by LSODA, begun anew where the field jumps."""
        band = {} if self.band is None else {"ml": self.band, "mu": self.band}
        y, states, at = self.initial, [], 0.0
        for stop in [*self.breaks, self.t_end]:
            t = np.concatenate(([at], [x for x in self.t if at < x < stop], [stop]))
            # The field is that of the time before a jump up to it.
            f = (lambda s, y, stop=stop: self.f(min(s, stop), y)) if stop < self.t_end else (lambda s, y, at=at: self.f(max(s, math.nextafter(at, 1e9)), y))
            run = odeint(f if self.breaks else self.f, y, t, tfirst=True, rtol=rtol, atol=rtol * self.small, mxstep=10 ** 8, **band)
            states.append(run[1:] if stop in self.t else run[1:-1])
            y, at = run[-1], stop
        return np.concatenate(states)

    def solve(self):
        """Finds the states at the times by SciPy, and how far another method is from them in tolerances of 1e-8."""
        self.begin()
        tight = 2e-13
        if self.stiff:
            self.exact = self.lsoda(tight if len(self.initial) <= 1000 else 1e-11)
            other = ours(self, "radau-iia5", 1e-12 if len(self.initial) <= 1000 else 1e-10, self.t)[1]
        else:
            self.exact = solve_ivp(self.f, (0, self.t_end), self.initial, "DOP853", self.t, rtol=tight, atol=tight).y.T
            other = self.lsoda(tight)
        off = self.error(1e-8, other, self.exact)
        return [self.name, off[-1], off.max(), off[~self.quick()].max(), self.condition() if len(self.t) > 1 else math.nan]

    def known(self):
        """Finds the states at the times, or those that an earlier run found in the folder of the environment's SOLVING_KEPT."""
        kept = os.environ.get("SOLVING_KEPT")
        path = kept and Path(kept) / (self.name + ".pickle")
        if path and path.exists():
            self.begin()
            self.exact, row = pickle.loads(path.read_bytes())
            return row
        row = self.solve()
        if path:
            path.write_bytes(pickle.dumps((self.exact, row)))
        return row

    def condition(self):
        """By how many tolerances the solution moves, at the time of those that are not quick where it moves most, when each coordinate
        of its beginning moves by one: root of the sum of squares over coordinates, of more than ten by the mean over four signs of chance."""
        N, rtol, kept = len(self.initial), 1e-6, self.initial
        chance = np.random.default_rng(1)
        moves = np.eye(N) if N <= 10 else chance.choice([-1.0, 1.0], (4, N))
        sum = 0
        for move in moves:
            self.initial = kept + move * self.scale(rtol, kept)
            y = ours(self, "radau-iia5", 1e-9, self.t, self.initial)[1] if self.stiff else solve_ivp(self.f, (0, self.t_end), self.initial, "DOP853", self.t, rtol=1e-12, atol=1e-12).y.T
            sum = sum + self.error(rtol, y, self.exact) ** 2 / (1 if N <= 10 else len(moves))
        self.initial = kept
        return float(np.sqrt(sum[~self.quick()].max()))


PROBLEMS = [
    Problem(logistic, 4, False), Problem(oscillator, 6, False), Problem(pendulum, 8, False, parts=2), Problem(lotka_volterra, 10, False),
    Problem(brusselator, 20, False), Problem(lorenz, 5, False), Problem(fitzhugh_nagumo, 40, False),
    Problem(arenstorf, 17.0652165601579625588917206249, False), Problem(pleiades, 3, False, parts=2), Problem(advection, 1, False),
    Problem(prothero_robinson, 3, True, system="prothero-robinson:lambda=-1e6"), Problem(van_der_pol, 2000, True),
    Problem(hires, 321.8122, True, small=1e-4), Problem(robertson, 1e11, True, small=1e-6, log=1e-5), Problem(oregonator, 360, True, small=1e-6),
    Problem(pollution, 60, True), Problem(ring_modulator, 1e-3, True), Problem(medical_akzo, 20, True, band=2, breaks=(5,)),
    Problem(heat, 0.1, True, band=1, particles=63), Problem(burgers, 0.25, True, band=1, parts=2),
]
TRANSPORT = Problem(transport, 1, True, band=1, particles=4096, parts=2, once=True)
WORKED = ["hires", "van-der-pol", "oregonator", "medical-akzo", "arenstorf", "pleiades", "transport"]

# ---- peers ----------------------------------------------------------------------------------------------

FIELD = ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double), ctypes.c_void_p)


class PeerProblem(ctypes.Structure):  # studies/solve/peer.h
    _fields_ = [("N", ctypes.c_size_t), ("initial", ctypes.POINTER(ctypes.c_double)), ("field", FIELD), ("arg", ctypes.c_void_p), ("band", ctypes.c_long)]


class PeerTolerance(ctypes.Structure):
    _fields_ = [(name, ctypes.c_double) for name in ("absolute", "relative", "t_end", "first")] + [("most", ctypes.c_size_t)]


class PeerRun(ctypes.Structure):
    _fields_ = [("outcome", ctypes.c_int), ("steps", ctypes.c_size_t), ("rejected", ctypes.c_size_t)]


class PeerLibrary(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int),
                ("adapt", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(PeerProblem), ctypes.POINTER(PeerTolerance),
                                           ctypes.POINTER(ctypes.c_double), ctypes.POINTER(PeerRun)))]


def sundials(p, method, rtol):
    """Runs CVODE or ARKODE. They call the field through Python here, so their processor time is not told."""
    N, calls = len(p.initial), [0]
    library = PeerLibrary.in_dll(ctypes.CDLL(str(ROOT / "build/peers/arkode.so")), "peer_library")
    assert library.version == 5

    def field(t, y, dy, _):
        calls[0] += 1
        np.ctypeslib.as_array(dy, (N,))[:] = p.f(t, np.ctypeslib.as_array(y, (N,)))

    initial, y = (ctypes.c_double * N)(*p.initial), (ctypes.c_double * N)()
    problem = PeerProblem(N, initial, FIELD(field), None, -1 if p.band is None else p.band)
    run = PeerRun()
    library.adapt(method, problem, PeerTolerance(rtol * p.small, rtol, p.t_end, 0, 10 ** 7), y, run)
    return [run.steps, run.rejected, calls[0], math.nan, "done" if run.outcome == 0 else "failed"], np.array(y)


def scipy(p, method, rtol):
    more = {"jac_sparsity": p.pattern()} if p.band is not None and method in ("Radau", "BDF") else {}
    calls, steps = [0], [0]

    class Counting(getattr(scipy_integrate, method)):  # nfev leaves out the values that differences take
        def step(self):
            steps[0] += 1
            return super().step()

    def f(t, y):
        calls[0] += 1
        return p.f(t, y)

    s = solve_ivp(f, (0, p.t_end), p.initial, Counting, [p.t_end], rtol=rtol, atol=rtol * p.small, **more)
    counts = [steps[0], None, calls[0]]
    seconds = timed(lambda: solve_ivp(p.f, (0, p.t_end), p.initial, method, [p.t_end], rtol=rtol, atol=rtol * p.small, **more))
    return [*counts, seconds, "done" if s.success else s.message], s.y[:, -1] if s.success else None


def timed(call):
    """Returns the processor time of a call, of all threads: the median of up to five batches, each of as many calls as take a
    tenth of a second, since some systems count this time in ticks of 4 ms."""
    calls, found, all_took = 1, [], 0.0
    while not found or (len(found) < 5 and all_took < 0.5):
        begun = time.process_time()
        for _ in range(calls):
            call()
        took = time.process_time() - begun
        if took < 0.1:
            calls *= 2
            continue
        found.append(took / calls)
        all_took += took
    return float(np.median(found))


def one_run(p, scheme, rtol):
    """Counts and the error at the end of a run of ours, or of a peer."""
    library, _, method = scheme.partition(" ")
    if library == "SciPy":
        counts, y = scipy(p, method, rtol)
    elif method:
        counts, y = sundials(p, {"BDF": b"bdf", "ERK": b"erk"}[method], rtol)
    else:
        counts, y = ours(p, scheme, rtol, [p.t_end])
        counts[2] //= p.parts
        counts[3] = timed(lambda: ours(p, scheme, rtol, [p.t_end]))
        y = y[-1]
    return counts, float(p.error(rtol, y, p.exact[-1])) if counts[4] == "done" else math.nan


def work(problems, seconds):
    for p in problems:
        kind = "stiff" if p.stiff else "other"
        for scheme in WORK[kind] + PEERS[kind]:
            for rtol in LOOSER + TOLERANCES:
                found = apart(seconds, one_run, p, scheme, rtol)
                if found is None:
                    yield [p.name, scheme, "%g" % rtol, "", "", "", "", "", "over %g s" % seconds]
                    break
                counts, end = found
                yield [p.name, scheme, "%g" % rtol, "%.3g" % (end * rtol), *("" if x is None else x for x in counts[:3]),
                       "" if math.isnan(counts[3]) else "%.3g" % counts[3], counts[4]]


# ---- runs -----------------------------------------------------------------------------------------------


def ours(p, scheme, rtol, times, initial=None):
    """Returns the run's counts, [steps, rejected, evaluations, seconds], and states (times, N)."""
    begun = time.process_time()
    s = trotter.solve(p.on, (0, p.t_end), initial, scheme=scheme, rtol=rtol, atol=rtol * p.small, t_eval=times)
    seconds = time.process_time() - begun
    y = np.array(s.y).reshape(len(p.initial), -1).T
    return [s.steps, s.rejected, s.nfev, seconds, s.message if not s.success else "done"], y


def apart(seconds, call, *arguments):
    """Returns what a call gives in a process of its own, or None where it takes more processor time or fails."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))
        try:
            with os.fdopen(write, "wb") as out:
                pickle.dump(call(*arguments), out)
            os._exit(0)
        except BaseException as failed:
            print("#", arguments[1:3], repr(failed)[:200], file=sys.stderr)
            os._exit(1)
    os.close(write)
    with os.fdopen(read, "rb") as back:
        data = back.read()
    _, status = os.waitpid(child, 0)
    return pickle.loads(data) if status == 0 else None


def both(p, scheme, rtol):
    """The counts of a run to the end alone, and the errors of one with all times."""
    counts, y = ours(p, scheme, rtol, [p.t_end])
    if counts[4] != "done":
        return counts, math.nan, math.nan, math.nan
    end = float(p.error(rtol, y[-1], p.exact[-1]))
    within = p.error(rtol, ours(p, scheme, rtol, p.t)[1], p.exact)
    quiet = within[~p.quick()]
    return counts, end, float(quiet.max()) if len(quiet) else math.nan, float(within.max())


def errors(problems, schemes, seconds):
    for p in problems:
        for scheme in schemes or (IMPLICIT if p.stiff else EXPLICIT):
            for rtol in TOLERANCES:
                found = apart(seconds, both, p, scheme, rtol)
                if found is None:
                    yield [p.name, scheme, "%g" % rtol, "", "", "", "", "", "", "", "over %g s" % seconds]
                    break
                counts, end, quiet, most = found
                yield [p.name, scheme, "%g" % rtol, "%.3g" % end, "%.3g" % quiet, "%.3g" % most, *counts[:3], "%.3g" % counts[3], counts[4]]


# ---- all ------------------------------------------------------------------------------------------------

ERRORS = ["problem", "scheme", "tolerance", "end", "quiet", "within", "steps", "rejected", "evals", "seconds", "outcome"]
COSTS = ["problem", "scheme", "tolerance", "error", "steps", "rejected", "evals", "seconds", "outcome"]


def write(path, names, found):
    with open(path, "w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(names)
        for row in found:
            rows.writerow(row)
            file.flush()
            print(*row, file=sys.stderr, flush=True)


# ---- what the page says ---------------------------------------------------------------------------------


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def number(text):
    return float(text) if text else math.nan


def brief(x):
    """A number in two digits, for tables."""
    if math.isnan(x):
        return "-"
    if 0 < x < 0.01:
        return "<.01"
    if x >= 9950:
        return "%.0e" % x
    return ("%.0f" % float("%.2g" % x) if x >= 9.95 else "%.1f" % x if x >= 0.995 else ("%.2g" % x).lstrip("0")) if x else "0"


def good_from(rows, condition):
    """The largest of TOLERANCES from which on a scheme is good up to the condition, at the end and at the quiet times, down to the smallest; None: not at the
    smallest. condition None: from which on it is good, at the end and at all times."""
    passed = None
    for rtol in reversed(TOLERANCES):
        own = [r for r in rows if float(r["tolerance"]) == rtol]
        most = GOOD * (max(1.0, condition[rows[0]["problem"]]) if condition else 1)
        if not own or not all(number(r[c]) <= most for r in own for c in ("end", "quiet" if condition else "within")):
            return passed
        passed = rtol
    return passed


def schemes_table(found, condition):
    """Tables of all schemes: where they err most, and from which tolerance on they are good, by problems."""
    lines = ["| scheme | largest at the end | while quiet | within | good | good up to the condition | so from a smaller tolerance on, on | else not on |", "|---|--:|--:|--:|---|---|---|---|"]
    for scheme in EXPLICIT + IMPLICIT:
        own = [r for r in found if r["scheme"] == scheme]
        if not own:
            continue
        plain, good, late, bad = 0, 0, [], []
        for name in dict.fromkeys(r["problem"] for r in own):
            rows = [r for r in own if r["problem"] == name]
            plain += good_from(rows, None) == TOLERANCES[0]
            start = good_from(rows, condition)
            if start == TOLERANCES[0]:
                good += 1
            elif start is not None and start >= 1e-5:
                late.append("%s (%g)" % (name, start))
            else:
                most = max((number(r[c]) / max(1, condition[name]) for r in rows for c in ("end", "quiet") if r[c]), default=math.nan)
                bad.append("%s (%s)" % (name, brief(most) + (", then too long" if rows[-1]["outcome"].startswith("over") else "")))
        cell = ["%s" % brief(max((number(r[c]) / max(1, condition[r["problem"]]) for r in own if r[c]), default=math.nan)) for c in ("end", "quiet", "within")]
        lines.append("| `%s` | %s | %d of %d | %d | %s | %s |" % (scheme, " | ".join(cell), plain, good + len(late) + len(bad), good, ", ".join(late), ", ".join(bad)))
    return lines


def problems_table(found, condition, column):
    """Largest error over tolerance among the schemes that are good for the problem up to its condition, by problem and tolerance."""
    lines = ["| problem | condition | schemes | " + " | ".join("%g" % x for x in TOLERANCES) + " |", "|---|--:|--:|" + "--:|" * len(TOLERANCES)]
    for p in PROBLEMS:
        own = [r for r in found if r["problem"] == p.name]
        if not own:
            continue
        good = [s for s in (IMPLICIT if p.stiff else EXPLICIT) if good_from([r for r in own if r["scheme"] == s], condition) == TOLERANCES[0]]
        cell = [brief(max((number(r[column]) for r in own if r["scheme"] in good and float(r["tolerance"]) == x and r[column]), default=math.nan)) for x in TOLERANCES]
        lines.append("| `%s` | %s | %d | %s |" % (p.name, brief(condition[p.name]), len(good), " | ".join(cell)))
    return lines


def cost(rows, column, error):
    """The least cost of an error, between the two tolerances around it by a power; NaN: no run is as exact. Runs without a right
    digit count for nothing."""
    points = [(math.log(number(r["error"])), math.log(number(r[column]))) for r in rows if r["outcome"] == "done" and 0 < number(r["error"]) < 0.1 and r[column] and number(r[column]) > 0]
    target, least = math.log(error), math.inf
    for (e, c), (e2, c2) in zip(points, points[1:]):
        if min(e, e2) <= target <= max(e, e2):
            least = min(least, c + (c2 - c) * (target - e) / (e2 - e) if e2 != e else min(c, c2))
    least = min([least] + [c for e, c in points[:1] if e <= target])
    return math.exp(least) if math.isfinite(least) else math.nan


def cheapest(rows, names, column, error):
    found = [(cost([r for r in rows if r["scheme"] == s], column, error), s) for s in names]
    found = [x for x in found if not math.isnan(x[0])]
    return min(found) if found else (math.nan, "-")


def work_table(found):
    lines = ["| problem | error | evaluations | of | the best peer's | of | ratio | seconds | of | SciPy's | of | ratio |", "|---|--:|--:|---|--:|---|--:|--:|---|--:|---|--:|"]
    for p in [*PROBLEMS, TRANSPORT]:
        kind, rows = "stiff" if p.stiff else "other", [r for r in found if r["problem"] == p.name]
        for error in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7) if rows else ():
            e, s = cheapest(rows, WORK[kind], "evals", error)
            e2, s2 = cheapest(rows, PEERS[kind], "evals", error)
            c, s3 = cheapest(rows, WORK[kind], "seconds", error)
            c2, s4 = cheapest(rows, [x for x in PEERS[kind] if x.startswith("SciPy")], "seconds", error)
            if math.isnan(e) or math.isnan(e2):
                continue
            lines.append("| `%s` | %g | %.0f | `%s` | %.0f | %s | %.2f | %.2g | `%s` | %.2g | %s | %.3f |" % (p.name, error, e, s, e2, s2, e / e2, c, s3, c2, s4, c / c2))
    return lines


def draw(found, path):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "solving", "svg.fonttype": "none"})
    from matplotlib import pyplot
    names = [n for n in WORKED if any(r["problem"] == n for r in found)]
    figure, axes = pyplot.subplots(2, len(names), figsize=(3.1 * len(names), 6.4), squeeze=False, layout="constrained")
    looks = {}
    for k, name in enumerate(names):
        rows = [r for r in found if r["problem"] == name]
        for scheme in dict.fromkeys(r["scheme"] for r in rows):
            looks.setdefault(scheme, len(looks))
            own = [r for r in rows if r["scheme"] == scheme and r["outcome"] == "done"]
            for row, column in ((0, "evals"), (1, "seconds")):
                shown = [r for r in own if r[column]]
                axes[row][k].loglog([number(r["error"]) for r in shown], [number(r[column]) for r in shown], "--" if " " in scheme else "-",
                                    marker="x" if " " in scheme else "o", ms=3, lw=1, color="C%d" % (looks[scheme] % 10), label=scheme)
        axes[0][k].set_title(name)
        axes[1][k].set_xlabel("error at the end")
        for row in (0, 1):
            axes[row][k].invert_xaxis()
            axes[row][k].grid(alpha=0.3)
            axes[row][k].minorticks_off()
        axes[0][k].legend(fontsize=6)
    axes[0][0].set_ylabel("evaluations of the field")
    axes[1][0].set_ylabel("processor time, s")
    figure.savefig(path, metadata={"Date": None})


def fill(page, tables):
    """Puts tables into a page, each between two lines <!-- NAME --> and <!-- end -->."""
    lines, out, inside = page.read_text().splitlines(), [], False
    for line in lines:
        if line == "<!-- end -->":
            inside = False
        if not inside:
            out.append(line)
        name = line[5:-4] if line.startswith("<!-- ") and line.endswith(" -->") else ""
        if name in tables:
            out += ["", *tables[name], ""]
            inside = True
    page.write_text("\n".join(out) + "\n")


def pages(out):
    condition = {r["problem"]: number(r["condition"]) for r in rows_of(out / "references.csv")}
    tables = {}
    if (out / "errors.csv").exists():
        found = rows_of(out / "errors.csv")
        tables.update({"schemes": schemes_table(found, condition), "ends": problems_table(found, condition, "end"),
                       "quiet": problems_table(found, condition, "quiet"), "within": problems_table(found, condition, "within")})
    if (out / "work.csv").exists():
        found = rows_of(out / "work.csv")
        tables["work"] = work_table(found)
        draw(found, out / "work.svg")
    for name, lines in tables.items():
        print("\n%s\n%s" % (name, "\n".join(lines)))
    if (out / "README.md").exists():
        fill(out / "README.md", tables)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out")
    options.add_argument("--only", default="errors,work")
    options.add_argument("--problems")
    options.add_argument("--schemes")
    options.add_argument("--seconds", type=float, default=60)
    o = options.parse_args()
    names, only = o.problems and o.problems.split(","), o.only.split(",")
    part = o.problems or o.schemes or only not in (["errors", "work"], ["pages"])
    if part and not o.out:
        options.error("a part of the runs needs --out DIR: the recorded tables are those of a whole run")
    out = Path(o.out or ROOT / "studies/results/solve")
    out.mkdir(parents=True, exist_ok=True)
    chosen = [p for p in [*PROBLEMS, TRANSPORT] if (p.name in names if names else p in PROBLEMS and "errors" in only or p.name in WORKED and "work" in only)]
    if o.only == "pages":
        return pages(out)
    with open(out / "about.txt", "w") as file:
        print("date:", time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), file=file)
        print("processor:", next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown"),
              "%d cores," % os.cpu_count(), "load %.1f" % os.getloadavg()[0], file=file)
        print("command:", "/usr/bin/python3", *sys.argv, file=file)
        import scipy as package
        print("SciPy %s, NumPy %s, Python %s" % (package.__version__, np.__version__, sys.version.split()[0]), file=file)
    write(out / "references.csv", ["problem", "end", "within", "quiet", "condition"], ([row[0]] + ["%.2g" % x for x in row[1:]] for row in (p.known() for p in chosen)))
    if "errors" in only:
        write(out / "errors.csv", ERRORS, errors([p for p in chosen if p is not TRANSPORT], o.schemes and o.schemes.split(","), o.seconds))
    if "work" in only:
        write(out / "work.csv", COSTS, work([p for p in chosen if p.name in WORKED], o.seconds))
    pages(out)


if __name__ == "__main__":
    main()
