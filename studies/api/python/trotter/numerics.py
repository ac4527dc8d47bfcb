"""Schemes, systems of differential equations, solving, convergence, work and precision."""

import re
from contextlib import nullcontext
from ctypes import byref, c_double, c_void_p, memmove, sizeof
from fractions import Fraction
from functools import lru_cache
from math import ceil, hypot, inf, log, nan, prod, sqrt
from threading import RLock
from typing import Callable, NamedTuple, Union

from .library import (Error, Field, Handle, LinePoint, _Condition, _Event, _Options, _Order, _Run, _Term, _Theory, c, callback, doubles,
                      interrupts, np, quantity, shaped, table, take_rows, take_text, text_bytes, whole)
from .pictures import Curve, Picture

SchemeLike = Union["Scheme", str]
SystemLike = Union["System", str]

# ---- schemes --------------------------------------------------------------------------------------


class Scheme(Handle):
    """An integrator: its name, as trotter.schemes() lists them (and looped:2, strang-marchuk:heun, ...); a text in the
    language of schemes, several lines; or a Butcher tableau. name: which of a text's several.

    Error: no such scheme, with the nearest name; a mistake in a text, with line and column."""
    _free = staticmethod(c.scheme_free)

    def __init__(self, scheme: str, name: str = None):
        self._at = c_void_p()
        text = text_bytes(scheme)
        if b"\n" in text or b"=" in text or text.lstrip().startswith(b"{"):
            c.scheme_read(text, None if name is None else text_bytes(name), byref(self._at))
        else:
            c.scheme_find(text, byref(self._at))

    @property
    def name(self) -> str:
        return c.scheme_name(self._at).decode()

    @property
    def text(self) -> str:
        """A text that reads back as the same scheme."""
        return take_text(c.scheme_print, self._at)

    def __repr__(self):
        return "trotter.Scheme(%r)" % self.name


@lru_cache(maxsize=64)
def _known(s: str) -> Scheme:
    return Scheme(s)


def as_scheme(s: SchemeLike) -> Scheme:
    return s if isinstance(s, Scheme) else _known(s) if isinstance(s, str) else Scheme(s)


def _several(schemes):
    """One scheme or a list of them, as a list of Scheme."""
    return [as_scheme(s) for s in ([schemes] if isinstance(schemes, (Scheme, str)) else schemes)]


def schemes() -> list:
    """Names of the built-in schemes."""
    return take_text(c.scheme_names).split()


class Theory(NamedTuple):
    order: int          # exact: the local error is O(h^(order + 1))
    at_least: bool      # order is a lower bound
    zero_stable: bool
    decoder: bool       # it reads C too
    error_norm: float   # root of the sum of squares of the leading error terms in as many colours
    evaluations: int    # of F, G and C together, a step
    colours: int        # of error_norm: 2, F and G; of a decoder 3, F, G and C


def order(scheme: SchemeLike) -> Theory:
    """The exact order, by rooted trees, and what else theory tells.

    error_norm counts the terms of two colours, F and G (a decoder's of three), also where every stage is H: `colours`. The literature's
    norms of Runge-Kutta methods are those of the one colour H: math.hypot(*(t.coefficient for t in expand(s, basis="field")))."""
    t, s = _Theory(), as_scheme(scheme)
    c.scheme_theory(s._at, byref(t))
    return Theory(t.order, bool(t.at_least), bool(t.zero_stable), bool(t.decoder), t.error_norm, t.evaluations,
                  3 if t.decoder else 2)


def error_constant(scheme: SchemeLike) -> float:
    """C of a linear multistep method: numerical - exact = C h^(p+1) y^(p+1) + ... in a step, p its order; nan: another scheme.

    Source: Henrici 1962; Hairer, Norsett, Wanner 1993, III.2."""
    C = c_double()
    c.scheme_error_constant(as_scheme(scheme)._at, byref(C))
    return C.value


def _number(text, value):
    """A text's Fraction, or where the scheme has decimals the double."""
    return value if re.search("[.e]", text) else Fraction(text)


def _latex_number(x):
    """Sign, and size without a factor 1."""
    size = abs(x)
    if isinstance(x, Fraction):
        text = "" if size == 1 else str(size) if size.denominator == 1 else r"\tfrac{%d}{%d}" % (size.numerator, size.denominator)
    else:
        text = re.sub(r"e([-+]\d+)", lambda m: r"\cdot 10^{%d}" % int(m[1]), "%.6g" % size)
    return "-" if x < 0 else "+", text


class Term(NamedTuple):
    degree: int                            # power of h
    name: str                              # "F''(F,G)", "[F,[F,G]]"
    coefficient: Union[Fraction, float]    # float where the scheme has decimals or roots

    def _repr_latex_(self):
        sign, size = _latex_number(self.coefficient)
        return "$%sh^{%d}\\,%s\\,%s$" % (sign.strip("+"), self.degree, size, self.name)


# The bases by their names: number in trotter.h, what is expanded, and by which power of h it was divided.
_BASES = {"trees": (0, "y_1 - y(t + h)", 0), "brackets": (1, r"\tfrac{1}{h}\log\Phi_h - (F + G)", 1),
          "field": (2, "y_1 - y(t + h)", 0), "modified": (3, r"\tfrac{1}{h}\log\Phi_h", 1)}


class Terms(list):
    """A list of Term; in Jupyter a formula."""

    def __init__(self, terms, left, less):
        super().__init__(terms)
        self.left, self.less = left, less

    def __str__(self):
        return "\n".join("h^%d %s %s" % (t.degree, t.coefficient, t.name) for t in self)

    def _repr_latex_(self):
        lines = []
        for degree in sorted({t.degree for t in self}):
            terms = [" ".join((*_latex_number(t.coefficient), t.name)) for t in self if t.degree == degree]
            rows = [" ".join(terms[i:i + 6]) for i in range(0, len(terms), 6)]
            power = degree - self.less
            lines.append("&{}+%s\\bigl(%s\\bigr)" % ("h^{%d}" % power if power else "", r"\\ &\qquad{}".join(rows).lstrip("+ ")))
        return "$$\\begin{aligned}%s ={}%s + \\cdots\\end{aligned}$$" % (self.left, r"\\ ".join(lines or ["& 0"]).replace("&{}+", "& ", 1))


def expand(scheme: SchemeLike, degree: int = 0, basis: str = "trees") -> Terms:
    """The non-zero terms of a step's error, numerical - exact, up to h^degree; 0: the leading ones.

    basis: "trees", elementary differentials of F and G; "field", those of H = F + G, for schemes whose stages are all H;
    "brackets", of log(step)/h - (F + G), for splittings by exact flows; "modified", log(step)/h, the field whose exact
    flow the step is, with h^(degree - 1). Source: Hairer, Lubich, Wanner 2006, chapters III and IX."""
    if basis not in _BASES:
        raise ValueError("basis %r: expected trees, field, brackets or modified" % (basis,))
    s, (number, left, less) = as_scheme(scheme), _BASES[basis]
    row = lambda t: Term(t.degree, t.name.decode(), _number(t.coefficient.decode(), t.value))
    return Terms(take_rows(c.scheme_expand, _Term, row, s._at, number, degree), left, less)


class Condition(NamedTuple):
    order: int
    condition: str      # "sum b_i c_i a_ij c_j", c_i = sum of a_ij
    right: Fraction     # what it should be, 1/gamma
    left: Union[Fraction, float]    # what it is for the scheme; float where decimals or roots make it no fraction
    holds: bool         # within the rounding of decimals

    def _latex(self):
        letters = ",".join(dict.fromkeys("".join(re.findall(r"_(\w+)", self.condition))))
        sums = re.sub(r"\^(\d+)", r"^{\1}", re.sub(r"_(\w+)", r"_{\1}", self.condition))
        sums = sums.replace("sum", r"\sum_{%s}" % letters)
        sign, size = _latex_number(self.left)
        met = r"\checkmark" if self.holds else r"\text{not met: }%s%s" % (sign.strip("+"), size or "1")
        return "%s &= %s && %s" % (sums, _latex_number(self.right)[1] or "1", met)


class Conditions(list):
    """A list of Condition; in Jupyter formulas."""

    def __str__(self):
        return "\n".join("%s = %s%s" % (x.condition, x.right, "" if x.holds else ", not met: %s" % x.left) for x in self)

    def _repr_latex_(self):
        return "$$\\begin{aligned}%s\\end{aligned}$$" % r"\\ ".join(x._latex() for x in self)


def conditions(scheme: SchemeLike, degree: int) -> Conditions:
    """The order conditions up to an order, one a rooted tree, of a one-step scheme.

    Error: another scheme. Source: Hairer, Norsett, Wanner 1993, theorem II.2.13."""
    s = as_scheme(scheme)
    row = lambda x: Condition(x.order, x.condition.decode(), Fraction(x.right.decode()),
                              _number(x.left.decode(), float(Fraction(x.left.decode()))), bool(x.holds))
    return Conditions(take_rows(c.scheme_conditions, _Condition, row, s._at, whole(degree, "an order of")))


# ---- stability ------------------------------------------------------------------------------------


class Stability(NamedTuple):
    real: float         # end of the stability interval on the negative real axis, <= 0
    imaginary: float    # and on the positive imaginary axis


def stability(scheme: SchemeLike) -> Stability:
    """Ends of the stability intervals of y' = lambda y in h lambda, F and G with half of lambda each; may be inf."""
    s, real, imaginary = as_scheme(scheme), c_double(), c_double()
    c.scheme_stability(s._at, byref(real), byref(imaginary))
    return Stability(real.value, imaginary.value)


def amplification(scheme: SchemeLike, z):
    """The largest amplification factor |R(z)| at h lambda = z: complex numbers of any shape in, that shape out."""
    s = as_scheme(scheme)
    if np:
        z = np.asarray(z, np.complex128)
        flat, shape = doubles(z.ravel().view(np.float64))[0], z.shape
    else:
        listed = z if isinstance(z, (list, tuple)) else [z]
        flat, shape = doubles([part for v in listed for part in (complex(v).real, complex(v).imag)])[0], (len(listed),)
        shape = shape if listed is z else ()
    out = (c_double * prod(shape))()
    c.scheme_amplification(s._at, prod(shape), flat, out)
    return shaped(out, shape)


def region(schemes, re=(-7.0, 3.3), im=(-4.0, 4.0), points: int = 241) -> Picture:
    """A picture of the stability regions |R(z)| <= 1 in a window of z = h lambda; that of one scheme is shaded."""
    several, curves, shade = _several(schemes), [], []
    for look, s in enumerate(several):
        lines = {}
        take = LinePoint(lambda _, line, x, y, lines=lines: lines.setdefault(line, []).append((x, y)))
        c.scheme_region(s._at, doubles(re)[0], doubles(im)[0], whole(points, "points"), take, None)
        gap = [(nan, nan)]
        xs, ys = zip(*(sum((line + gap for line in lines.values()), []) or gap))
        curves.append(Curve(s.name, xs, ys, look))
    if len(several) == 1:
        shade = _inside(several[0], re, im, points)
    far = 10 * max(map(abs, (*re, *im)))
    axes = [Curve("", (-far, far), (0, 0), guide=True), Curve("", (0, 0), (-far, far), guide=True)]
    return Picture("Stability region |R(z)| ≤ 1", "Re z,  z = hλ", "Im z", axes + curves, equal=True, window=(re, im), shade=shade)


def _inside(s, re, im, points):
    """Rectangles (x0, x1, y0, y1) that cover the region, a row of the grid each."""
    dx, dy = ((b - a) / points for a, b in (re, im))
    out = []
    for j in range(points):
        y, begun = im[0] + j * dy, None
        row = amplification(s, [complex(re[0] + (i + .5) * dx, y + dy / 2) for i in range(points)])
        for i, inside in enumerate([*(v <= 1 + 1e-12 for v in row), False]):
            if inside and begun is None:
                begun = i
            elif not inside and begun is not None:
                out.append((re[0] + begun * dx, re[0] + i * dx, y, y + dy))
                begun = None
    return out


# ---- systems --------------------------------------------------------------------------------------


class System(Handle):
    """y' = F(t, y) + G(t, y): its name, as trotter.systems() lists them; a text in the language of system files, several
    lines; or one's own functions, of which one may be left out:

        System(F=f, initial=[1, 0], t_end=10)     f(t, y) gives dy/dt, an array of y's shape, that of `initial`

    or System(f, initial=...). With NumPy y is an array, else a list. Schemes of one field take F + G; splittings need both. jac: the
    derivative of the one function by y, a function jac(t, y) or an array, (N, N) with N numbers of y, row i that of component i;
    of two functions both. particles, dimension: 0 for the system's own; seed: of its numbers. t_end: where studies end. An
    exception in a function is raised again."""
    _free = staticmethod(c.system_free)

    def __init__(self, system: str = None, particles: int = 0, dimension: int = 0, seed: int = 1, F: Callable = None,
                 G: Callable = None, initial=None, t_end: float = None, jac=None):
        if callable(system):
            system, F = None, system
        self._at, self._failed, self.own, self._lock, self._derived = c_void_p(), [], system is None, RLock(), 0
        if self.own:
            if not (callable(F) or callable(G)) or initial is None:
                raise TypeError("a System needs a name, a text, or functions F or G and an initial state")
            self._make(F, G, initial)
            self._derive(jac if F and G else (jac, None) if F else (None, jac))
        elif jac is not None:
            raise TypeError("jac is the derivative of a function of one's own")
        else:
            text = text_bytes(system)
            sizes = whole(particles, "particles"), whole(dimension, "coordinates"), whole(seed, "a seed of")
            (c.system_parse if b"\n" in text else c.system_find)(text, *sizes, byref(self._at))
            n, d = c.system_particles(self._at), c.system_dimension(self._at)
            self.shape = (n, d) if n > 1 else (d,)
        self.name = "own system" if self.own or "\n" in system else system
        self.t_end = float(t_end or c.system_end(self._at))

    def _make(self, F, G, initial):
        y, shape = doubles(initial)
        self.shape = shape or (1,)
        n, d = self.shape if len(self.shape) == 2 else (1, prod(self.shape))
        self._fields = [callback(f, self.shape, self.shape, name, self._failed) if f else Field() for f, name in ((F, "F"), (G, "G"))]
        c.system_make(n, d, y, *self._fields, None, byref(self._at))

    def _derive(self, pair):
        """Takes the derivatives of F and G, functions or arrays; None: there is none."""
        if pair is None or all(j is None for j in pair):
            return
        N = prod(self.shape)

        def counted(jac):
            def given(t, y):
                self._derived += 1
                return _dense(jac(t, y))
            return given

        fields = []
        for jac in pair:
            f = counted(jac) if callable(jac) else lambda t, y, jac=_dense(jac): jac
            fields.append(Field() if jac is None else callback(f, self.shape, (N, N), "jac", self._failed))
        self._fields += fields
        c.system_jacobian(self._at, *fields)

    def _call(self, call, *arguments, own=False):
        """Calls, for one thread at a time; what a function of one's own raised is raised again."""
        with self._lock:
            self._failed.clear()
            try:
                with interrupts(self._failed) if self.own or own else nullcontext():
                    call(*arguments)
            except Error as refused:
                raise (self._failed[0] if self._failed else refused) from None
            if self._failed:
                raise self._failed[0]

    @property
    def initial(self):
        """The state at time 0, of shape .shape: (n, d), n particles of d coordinates, (d) of one particle, or that of one's own."""
        at = c.system_initial(self._at)
        return shaped((c_double * prod(self.shape))(*at[:prod(self.shape)]), self.shape)


def systems() -> list:
    """Names of the built-in systems."""
    return take_text(c.system_names).split()


def as_system(s: SystemLike) -> System:
    if isinstance(s, tuple):
        name, parameters = s
        return System(name + "".join(":%s=%r" % item for item in parameters.items()))
    if callable(s):
        raise TypeError("a function of one's own is System(F=%s, initial=...)" % getattr(s, "__name__", "f"))
    return s if isinstance(s, System) else System(s)


def reference(system: SystemLike, t):
    """The exact state at a time t, of the system's shape, to about 1e-13; of a list of times an array (times, ...).

    Source: Prince, Dormand 1981, checked by Gragg's extrapolation. Error: it cannot be found."""
    on = as_system(system)
    at, shape = doubles(t)
    y = (c_double * (len(at) * prod(on.shape)))()
    on._call(c.references, on._at, len(at), at, y, None)
    return shaped(y, shape + tuple(on.shape))


# ---- solving --------------------------------------------------------------------------------------


_MESSAGES = {"done": "the run came to its end", "event": "a terminal event ended the run",
             "underflow": "the steps that the tolerance asks for are below the spacing of numbers",
             "too many steps": "the run took 10,000,000 steps and ended",
             "jumps": "the right side jumps where the solution stays, so that 10,000,000 steps would not come to the end: end the run "
                      "at the jump by a terminal event, make it smooth, or take a greater tolerance or an explicit scheme", "not finite": "the state is not finite"}


class Within(Handle):
    """The solution between the ends of steps: sol(t) has a state's shape; of times (k) that shape and (k) behind it. Each step has the
    polynomial through as many of the scheme's own values in it as its order and one. Error: a time out of the run."""

    def __init__(self, run, shape):
        self._at, self._shape = run, shape

    @staticmethod
    def _free(run):
        c.run_free(byref(run))

    def __call__(self, t):
        at, shape = doubles(t)
        y = (c_double * (len(at) * prod(self._shape)))()
        c.run_at(byref(self._at), len(at), at, y)
        return _columns(y, len(at), self._shape) if shape else shaped(y, self._shape)


def _columns(flat, k, shape):
    """k states of a shape, one after the other, as an array of that shape and (k)."""
    N = prod(shape)
    if np:
        return np.ascontiguousarray(shaped(flat, (k, N)).T).reshape(*shape, k)
    return shaped([x for i in range(N) for x in flat[i::N]], (*shape, k))


class Solution:
    """A run, as scipy.integrate.solve_ivp tells it: t (k); y (n, k), or the system's shape and (k); also by `t, y = solution`.
    sol: the function between (Within), if asked for. t_events, y_events: a list an event, of times (m) and states (m, n). nfev:
    evaluations of F and G, those for derivatives by differences and for states within steps included; njev, nlu: derivatives taken
    and matrices factored, njev where stages are found by tolerance or jac is one's own, nlu where stages are found by tolerance.
    status: 0 done, 1 ended by an event, -1 ended before; success, message, and outcome, a word. steps, rejected; final: the last
    state."""

    def __init__(self, scheme, system, run, options, derived):
        self.scheme, self.system, self.outcome = scheme, system, run.outcome.decode()
        self.steps, self.rejected = run.steps, run.rejected
        self.nfev, self.njev, self.nlu = run.evaluations, max(run.jacobians, derived), run.factors
        self.status = {"done": 0, "event": 1}.get(self.outcome, -1)
        self.success = self.status >= 0
        self.message = "%s at t = %.6g" % (_MESSAGES.get(self.outcome, self.outcome), run.t)
        self._flat, self._begin = _copy(run.y, run.count * prod(system.shape)), (options.begin, bool(options.initial))
        self.t = shaped(_copy(run.time, run.count), (run.count,))
        self.y = _columns(self._flat, run.count, system.shape)
        self.t_events = self.y_events = self.sol = self._error = None
        if options.events:
            self._take_events(run, options.events)

    def _take_events(self, run, events):
        N = prod(self.system.shape)
        of = [[k for k in range(run.crossings) if run.crossing[k].event == i] for i in range(events)]
        self.t_events = [shaped(doubles([run.crossing[k].t for k in ks])[0], (len(ks),)) for ks in of]
        states = [doubles([x for k in ks for x in run.crossing_y[k * N:(k + 1) * N]])[0] for ks in of]
        self.y_events = [shaped(y, (len(ks), *self.system.shape)) for y, ks in zip(states, of)]

    def __iter__(self):
        return iter((self.t, self.y))

    def __repr__(self):
        return "trotter.Solution(%s on %s: %s, %d steps)" % (self.scheme.name, self.system.name, self.message, self.steps)

    @property
    def final(self):
        N = prod(self.system.shape)
        return shaped(doubles(self._flat[-N:])[0], self.system.shape)

    @property
    def error(self):
        """(k): RMS over coordinates of y - reference at each time, of a run from the system's own initial state at time 0."""
        if self._error is None:
            if self._begin != (0, False):
                raise ValueError("the reference is that from the system's own initial state at time 0, and the run begins elsewhere")
            exact, N = doubles(reference(self.system, self.t))[0], prod(self.system.shape)
            apart = [a - b for a, b in zip(self._flat, exact)]
            self._error = doubles([hypot(*apart[k * N:(k + 1) * N]) / sqrt(N) for k in range(len(self.t))])[0]
        return shaped(self._error, (len(self.t),))

    def coordinate(self, i: int):
        """(k): coordinate i of the state, counted row by row from 0."""
        N = prod(self.system.shape)
        return self._flat[whole(i, "coordinate") % N::N]

    def picture(self, coordinates=None) -> Picture:
        """The coordinates over time; None: the first six."""
        chosen = range(min(6, prod(self.system.shape))) if coordinates is None else coordinates
        curves = [Curve("y%d" % (i + 1), self.t, self.coordinate(i), look) for look, i in enumerate(chosen)]
        return Picture("%s: %s" % (self.system.name, self.scheme.name), "time t", "y", curves)

    def phase(self, i: int = 0, j: int = 1) -> Picture:
        """The path of two coordinates."""
        curve = Curve(self.scheme.name, self.coordinate(i), self.coordinate(j))
        return Picture("Phase portrait: " + self.system.name, "y%d" % (i + 1), "y%d" % (j + 1), [curve])

    def _repr_svg_(self):
        return self.picture().svg()


def _copy(pointer, count):
    """The first numbers behind a pointer of C."""
    copy = (c_double * count)()
    if count:  # else there may be no pointer
        memmove(copy, pointer, sizeof(copy))
    return copy


def _bound(f, args):
    """f(t, y, *args) as a function of t and y."""
    return f if not args or not callable(f) else lambda t, y: f(t, y, *args)


def _set_events(o, events, args, on):
    """Sets the events of options; what holds their functions is returned."""
    several = [] if events is None else [events] if callable(events) else list(events)
    kept = (_Event * len(several))()
    for at, g in zip(kept, several):
        direction = getattr(g, "direction", 0)
        at.value = quantity(_bound(g, args), on.shape, on._failed)
        at.direction, at.terminal = (direction > 0) - (direction < 0), int(getattr(g, "terminal", 0) or 0)
    o.events, o.event = len(several), kept
    return kept


def _dense(J):
    """The matrix of SciPy's sparse one, or what is none."""
    return J.toarray() if hasattr(J, "toarray") else J


def _coloured(f, y0, sparsity, least, taken):
    """The derivative of f by forward differences, where its entries other than 0 are known: columns that share no row are moved at
    once (Curtis, Powell, Reid 1974). least: of a coordinate's size, the absolute tolerance; taken[0]: evaluations."""
    n, values = len(y0), _dense(sparsity)
    values = values.tolist() if hasattr(values, "tolist") else values
    if len(values) != n or any(len(row) != n for row in values):
        raise ValueError("jac_sparsity: expected %d rows of %d numbers, one a coordinate" % (n, n))
    rows = [[r for r in range(n) if values[r][k]] for k in range(n)]
    groups = []                                                        # (columns, the rows that they have)
    for k in range(n):
        for columns, used in groups:
            if used.isdisjoint(rows[k]):
                break
        else:
            columns, used = [], set()
            groups.append((columns, used))
        columns.append(k)
        used.update(rows[k])
    least = least if hasattr(least, "__len__") else [least] * n

    def jac(t, y):
        J, at, size = [[0.0] * n for _ in range(n)], f(t, y), max(abs(x) for x in y)
        taken[0] += 1 + len(groups)
        for columns, _ in groups:
            moved = y.copy()
            for k in columns:
                moved[k] += 2.0 ** -26 * max(abs(y[k]), least[k], 1e-3 * size)
            there = f(t, moved)
            for k in columns:
                for r in rows[k]:
                    J[r][k] = (there[r] - at[r]) / (moved[k] - y[k])
        return J
    return jac


def _tolerance(o, name, given, N):
    """Sets a tolerance: a number, or a list of one a coordinate."""
    values, shape = doubles(given)
    if not shape:
        setattr(o, name, values[0])
    elif len(values) != N:
        raise ValueError("%d tolerances where the state has %d numbers" % (len(values), N))
    else:
        setattr(o, name + "s", values)


def _set_steps(o, N, rtol, atol, h, steps):
    if h is not None or steps is not None:
        if (h is not None and steps is not None) or rtol is not None or atol is not None:
            raise ValueError("expected h, or steps, or tolerances")
        if h is not None and not 0 < h < inf:
            raise ValueError("steps of length %g" % h)
        o.steps = ceil(abs(o.end - o.begin) / h * (1 - 1e-12)) if h is not None else whole(steps, "steps")
        if o.steps == 0:
            raise ValueError("no step to take: from t = %g to %g" % (o.begin, o.end))
        return
    _tolerance(o, "relative", 1e-3 if rtol is None else rtol, N)
    _tolerance(o, "absolute", 1e-6 if atol is None else atol, N)


def _set_times(o, times):
    if times is None:
        return
    if not hasattr(times, "__len__"):
        parts = whole(times, "times")
        times = [o.begin + (o.end - o.begin) * k / parts for k in range(parts)] + [o.end]
    o.t = doubles(times)[0]
    o.times = len(times)
    if not o.times:
        raise ValueError("no time is asked for")


def solve(system, t_span=None, y0=None, scheme: SchemeLike = "dormand-prince", *, rtol=None, atol=None, h: float = None,
          steps: int = None, t_eval=None, times=None, events=None, jac=None, jac_sparsity=None, args=None, dense_output: bool = False,
          first_step: float = None, max_step: float = None) -> Solution:
    """Solves y' = f(t, y) from t_span[0] to t_span[1], which may be earlier, with names as scipy.integrate.solve_ivp has them.

    system: f(t, y, *args), with the state y0 at the beginning; a System; the name of one, or (name, {parameter: value}); a text in
    the language of system files. t_span and y0 may be left out of all but f: from 0 to the system's end, from its own state.
    scheme: a name, a text of one's own, a Scheme. Stiff problems want an implicit one: "radau-iia5", "rodas4".
    rtol (1e-3), atol (1e-6): tolerances of a step, numbers or lists of one a coordinate, for schemes with an estimate of their error:
    RMS of err_i / (atol_i + rtol_i |y_i|) at most 1. first_step, max_step: bounds of such steps. Or h or steps: steps of one
    length, by any scheme; h is shortened so that they end at t_span[1]. The first steps of a multistep scheme end in the reference.
    t_eval, or times: the times of y, in order; a number of equal parts; None: the ends of steps.
    events: g(t, y, *args), or a list; where g passes 0. g.direction > 0: upwards alone, < 0: downwards; g.terminal: True, or how
    many of them end the run. A g that is 0 at the beginning does not pass there.
    jac: jac(t, y, *args) or an array (n, n), the derivative of f by y, for implicit schemes, also sparse as SciPy has it; None: by
    differences. jac_sparsity: an array (n, n), 0 where the derivative is: fewer differences then give it.
    dense_output: give sol, the solution between. Within steps all values are the scheme's own (trotter.h, trotter_run).
    An exception in a function is raised again. Source: Hairer, Norsett, Wanner 1993, II.4; Hairer, Wanner 1996, IV.8."""
    if t_eval is not None and times is not None:
        raise ValueError("expected t_eval or times")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    s, o, run = as_scheme(scheme), _Options(dense=bool(dense_output), first=first_step or 0, longest=max_step or 0), _Run()
    if callable(system):
        if t_span is None or y0 is None:
            raise TypeError("a function needs a time span and a state: solve(f, (t0, t1), y0)")
        f, taken = _bound(system, args), [0]
        if jac is None and jac_sparsity is not None:
            derivative = _coloured(f, y0, jac_sparsity, 1e-6 if atol is None else atol, taken)
        else:
            derivative = _bound(jac, args)
        on, y0 = System(F=f, initial=y0, t_end=t_span[1], jac=derivative), None
    elif jac is not None or jac_sparsity is not None or (args and events is None):
        raise TypeError("jac, jac_sparsity and args belong to a function f(t, y)")
    else:
        on = as_system(system)
    N = prod(on.shape)
    o.begin, o.end = (0, on.t_end) if t_span is None else map(float, t_span)
    if y0 is not None:
        o.initial, shape = doubles(y0)
        if prod(shape) != N:
            raise ValueError("y0 has %d numbers where the system has %d" % (prod(shape), N))
    _set_steps(o, N, rtol, atol, h, steps)
    _set_times(o, t_eval if times is None else times)
    kept, derived = _set_events(o, events, args, on), on._derived
    within = Within(run, on.shape)  # which frees the run
    on._call(c.run, s._at, on._at, byref(o), byref(run), own=len(kept) > 0)
    solution = Solution(s, on, run, o, on._derived - derived)
    if callable(system):
        solution.nfev += taken[0]
    if dense_output:
        solution.sol = within
    return solution


# ---- convergence, work and precision ----------------------------------------------------------------


class Order(NamedTuple):
    scheme: str
    slope: float        # the measured order, with its 95 % interval
    low: float
    high: float
    constant: float     # error ~ constant h^expected
    expected: int       # the exact order
    verdict: str        # agree, higher, disagree, diverges, floor, unstable, inconsistent, undecided
    points: object      # table: h, error, steps, evaluations; coarsest first

    def picture(self) -> Picture:
        return _errors([self], "h", "step h")

    def _repr_svg_(self):
        return self.picture().svg()


def _errors(studies, by, words):
    """The picture of the errors of several Order, with guides of the exact orders where it is by h."""
    curves = []
    for look, o in enumerate(studies):
        x = [getattr(p, by) for p in o.points]
        curves.append(Curve(o.scheme, x, [p.error for p in o.points], look, marks=True))
        if by == "h" and o.constant > 0:
            guide = Curve("order %d" % o.expected, x, [o.constant * h ** o.expected for h in x], guide=True)
            curves.insert(0, guide)
    return Picture("Error of schemes", words, "RMS error at the end", curves, log=True)


def measure(scheme: SchemeLike, system: SystemLike = "attention", t_end: float = 0, h: float = 0, halvings: int = 6) -> Order:
    """Measures the order over steps h, h/2, ..., halvings >= 4 times; 0: the system's own end and step."""
    s, on, o = as_scheme(scheme), as_system(system), _Order()
    end = t_end or (on.t_end if on.own else 0)
    on._call(c.measure, s._at, on._at, end, h or (end / 4 if on.own else 0), halvings, byref(o))
    try:
        rows = [(p.h, p.error, p.steps, p.evaluations) for p in o.point[:o.count]]
    finally:
        c.free(o.point)
    points = table([("h", "f8"), ("error", "f8"), ("steps", "i8"), ("evaluations", "i8")], rows)
    return Order(s.name, o.slope, o.low, o.high, o.constant, o.expected, o.verdict.decode(), points)


class Convergence(list):
    """A list of Order, one a scheme; print() gives the table of lectures, Jupyter shows the picture."""

    @property
    def table(self):
        """A row a scheme and step: scheme, h, error, rate = log(error before / error) / log(h before / h), evaluations."""
        rows = []
        for o in self:
            before, rate = None, nan
            for p in o.points:
                if before:
                    both = before.error > 0 < p.error and max(before.error, p.error) < inf
                    rate = log(before.error / p.error) / log(before.h / p.h) if both else nan
                rows.append((o.scheme, p.h, p.error, rate, p.evaluations))
                before = p
        return table([("scheme", "U64"), ("h", "f8"), ("error", "f8"), ("rate", "f8"), ("evaluations", "i8")], rows)

    def _cells(self, say):
        """The table's texts, row by row, the head first; say: the text of an error."""
        cells = {(r.scheme, r.h): (say(r.error), "" if r.rate != r.rate else "%.2f" % r.rate) for r in self.table}
        steps = sorted({h for _, h in cells}, reverse=True)
        rows = [["%.5g" % h] + [w for o in self for w in cells.get((o.scheme, h), ("", ""))] for h in steps]
        return [["h"] + [w for o in self for w in (o.scheme, "rate")], *rows]

    def __str__(self):
        cells = self._cells("{:.3e}".format)
        wide = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        return "\n".join("  ".join(x.rjust(w) for x, w in zip(row, wide)).rstrip() for row in cells)

    __repr__ = __str__

    def latex(self) -> str:
        """The table as a tabular, with booktabs."""
        say = lambda error: re.sub(r"e([-+]\d+)", lambda m: r" \cdot 10^{%d}$" % int(m[1]), "$%.3e" % error)
        head, *rows = [" & ".join(row) + r" \\" for row in self._cells(say)]
        return "\n".join([r"\begin{tabular}{r%s}" % ("rr" * len(self)), r"\toprule", head.replace("_", r"\_"), r"\midrule",
                          *rows, r"\bottomrule", r"\end{tabular}"])

    def picture(self) -> Picture:
        return _errors(self, "h", "step h")

    def work(self) -> Picture:
        """Errors against evaluations of F and G."""
        return _errors(self, "evaluations", "evaluations of F and G")

    def _repr_svg_(self):
        return self.picture().svg()


def convergence(schemes, system: SystemLike, t_end: float = 0, h: float = 0, halvings: int = 6) -> Convergence:
    """Measures the order of several schemes, as measure() does."""
    on = as_system(system)
    return Convergence(measure(s, on, t_end, h, halvings) for s in _several(schemes))


class WorkPrecision(list):
    """Runs by tolerance, a pair (scheme, rows) a scheme; .table has them all, Jupyter shows the picture."""

    def __repr__(self):
        return "\n".join("%-20s %8.1e  error %.2e  %6d evaluations  %s" % (*r[:3], *r[5:]) for _, rows in self for r in rows)

    FIELDS = [("scheme", "U64"), ("tolerance", "f8"), ("error", "f8"), ("steps", "i8"), ("rejected", "i8"),
              ("evaluations", "i8"), ("outcome", "U16")]

    @property
    def table(self):
        """A row a scheme and tolerance; error: RMS over coordinates at t_end."""
        return table(self.FIELDS, [row for _, rows in self for row in rows])

    def picture(self) -> Picture:
        curves = [Curve(name, [r[5] for r in rows], [r[2] for r in rows], look, marks=True)
                  for look, (name, rows) in enumerate(self)]
        return Picture("Work and precision", "evaluations of F and G", "RMS error at the end", curves, log=True)

    def _repr_svg_(self):
        return self.picture().svg()


def work_precision(schemes, system: SystemLike, tolerances=(1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9),
                   t_end: float = None) -> WorkPrecision:
    """Runs schemes with an estimate of their error by these tolerances, absolute and relative in one, up to t_end."""
    on = as_system(system)
    end = on.t_end if t_end is None else t_end
    exact = doubles(reference(on, end))[0]
    out = WorkPrecision()
    for s in _several(schemes):
        rows = []
        for tolerance in tolerances:
            run = solve(on, (0, end), scheme=s, rtol=tolerance, atol=tolerance, times=[end])
            last = doubles(run.final)[0]
            off = hypot(*(a - b for a, b in zip(last, exact))) / sqrt(len(exact)) if run.outcome == "done" else nan
            rows.append((s.name, tolerance, off, run.steps, run.rejected, run.nfev, run.outcome))
        out.append((s.name, rows))
    return out
