"""Trotter from Python: schemes, particle systems and trained models, by ctypes and NumPy.

    import trotter
    trotter.order("rk4").order                     # 4
    trotter.expand("strang-marchuk", 3)            # the error terms, exact
    trotter.measure("heun", "attention")           # an order study; in Jupyter its plot
    trotter.load("out/train").logits([0, 5, 17])   # (3, V)

A scheme is a name, as `trotter schemes` lists them, or a text in the language of schemes. What the C library cannot do
raises trotter.Error with its words. The library is libtrotter.so: the one of $TROTTER_LIBRARY, else the one that pip put
beside this file or that stands in its source tree (make shared), else the installed one. trotter.h tells what each
function means."""

import ctypes
import ctypes.util
import operator
import os
import subprocess
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int32, c_size_t, c_uint64, c_void_p
from fractions import Fraction
from typing import NamedTuple

import numpy as np

__all__ = ["Error", "Model", "Order", "Scheme", "System", "Term", "Theory", "amplification", "expand", "load", "measure",
           "order", "reference", "score", "solve", "stability", "version"]


class Error(Exception):
    """What the library refused or could not do; .code is that of trotter.h."""

    def __init__(self, code, words):
        super().__init__(words)
        self.code = code


# ---- the library ----------------------------------------------------------------------------------

class _Theory(ctypes.Structure):
    _fields_ = [("order", c_int), ("at_least", c_int), ("zero_stable", c_int), ("decoder", c_int),
                ("error_norm", c_double), ("evaluations", c_size_t)]


class _Term(ctypes.Structure):
    _fields_ = [("degree", c_int), ("name", c_char_p), ("coefficient", c_char_p), ("value", c_double)]


class _Point(ctypes.Structure):
    _fields_ = [("h", c_double), ("error", c_double), ("steps", c_size_t), ("evaluations", c_size_t)]


class _Order(ctypes.Structure):
    _fields_ = [("slope", c_double), ("low", c_double), ("high", c_double), ("constant", c_double),
                ("expected", c_int), ("verdict", c_char_p), ("count", c_size_t), ("point", POINTER(_Point))]


_Field = ctypes.CFUNCTYPE(c_int, c_void_p, c_double, POINTER(c_double), POINTER(c_double))
_numbers = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
_tokens = np.ctypeslib.ndpointer(np.int32, flags="C_CONTIGUOUS")

# name, result (None: a code that raises), arguments
_calls = [
    ("version", c_char_p, []), ("error", c_char_p, []), ("free", "void", [c_void_p]),
    ("scheme_find", None, [c_char_p, POINTER(c_void_p)]),
    ("scheme_read", None, [c_char_p, c_char_p, POINTER(c_void_p)]),
    ("scheme_free", "void", [c_void_p]), ("scheme_name", c_char_p, [c_void_p]),
    ("scheme_print", None, [c_void_p, POINTER(c_void_p)]),
    ("scheme_theory", None, [c_void_p, POINTER(_Theory)]),
    ("scheme_stability", None, [c_void_p, POINTER(c_double), POINTER(c_double)]),
    ("scheme_amplification", None, [c_void_p, c_size_t, _numbers, _numbers]),
    ("scheme_expand", None, [c_void_p, c_int, c_int, POINTER(POINTER(_Term)), POINTER(c_size_t)]),
    ("system_find", None, [c_char_p, c_size_t, c_size_t, c_uint64, POINTER(c_void_p)]),
    ("system_parse", None, [c_char_p, c_size_t, c_size_t, c_uint64, POINTER(c_void_p)]),
    ("system_make", None, [c_size_t, c_size_t, _numbers, _Field, _Field, c_void_p, POINTER(c_void_p)]),
    ("system_free", "void", [c_void_p]), ("system_particles", c_size_t, [c_void_p]),
    ("system_dimension", c_size_t, [c_void_p]), ("system_initial", POINTER(c_double), [c_void_p]),
    ("solve", None, [c_void_p, c_void_p, c_double, c_size_t, _numbers]),
    ("reference", None, [c_void_p, c_double, _numbers]),
    ("measure", None, [c_void_p, c_void_p, c_double, c_double, c_int, POINTER(_Order)]),
    ("model_load", None, [c_char_p, c_size_t, POINTER(c_void_p)]), ("model_free", "void", [c_void_p]),
    ("model_vocabulary", c_size_t, [c_void_p]), ("model_parameters", c_size_t, [c_void_p]),
    ("model_layers", c_size_t, [c_void_p]), ("model_sequence", c_size_t, [c_void_p]),
    ("model_word", c_char_p, [c_void_p, c_int32]),
    ("model_encode", None, [c_void_p, c_char_p, POINTER(POINTER(c_int32)), POINTER(c_size_t)]),
    ("model_logits", None, [c_void_p, _tokens, c_size_t, _numbers]),
    ("model_truncation", None, [c_void_p, c_void_p, c_size_t, _tokens, c_size_t, c_int, _numbers, _numbers]),
    ("score_lines", None, [c_char_p, c_char_p, c_size_t, POINTER(c_char_p), POINTER(c_char_p), POINTER(c_double)]),
    ("score_labels", None, [c_char_p, c_size_t, _numbers, _numbers, POINTER(c_double)]),
]


def _find():
    here = os.path.dirname(os.path.abspath(__file__))
    named = os.environ.get("TROTTER_LIBRARY")
    if named:
        return named
    for beside in ("libtrotter.so", os.path.join("..", "..", "build", "release", "libtrotter.so")):
        if os.path.exists(os.path.join(here, beside)):
            return os.path.join(here, beside)
    found = ctypes.util.find_library("trotter")
    for path in (found, os.path.expanduser("~/.local/lib/libtrotter.so"), "/usr/local/lib/libtrotter.so"):
        if path and (path == found or os.path.exists(path)):
            return path
    raise ImportError("libtrotter.so is not found: 'make shared' builds it, 'make install' installs it, and "
                      "TROTTER_LIBRARY may name it")


class _Library:
    """The functions of trotter.h, without their trotter_; those that give a code raise Error."""

    def __init__(self, path):
        dll = ctypes.CDLL(path)
        for name, result, arguments in _calls:
            call = getattr(dll, "trotter_" + name)
            call.argtypes = arguments
            call.restype = c_int if result is None else None if result == "void" else result
            setattr(self, name, self._checked(call) if result is None else call)

    def _checked(self, call):
        def checked(*arguments):
            code = call(*arguments)
            if code != 0:
                raise Error(code, self.error().decode())
        return checked


_c = _Library(_find())
version = _c.version().decode()


def _bytes(text):
    if isinstance(text, os.PathLike):
        text = os.fspath(text)
    if not isinstance(text, str) or "\0" in text:
        raise TypeError("expected a text, not %r" % (text,))
    return text.encode()


def _count(n, what):
    n = operator.index(n)  # a TypeError, where it is no whole number
    if not 0 <= n < 1 << 63:
        raise ValueError("%s: %d" % (what, n))
    return n


class _Handle:
    _free = None

    def __del__(self):
        if getattr(self, "_at", None):
            self._free(self._at)
            self._at = None


# ---- schemes --------------------------------------------------------------------------------------

class Theory(NamedTuple):
    order: int          # exact
    at_least: bool      # order is a lower bound
    zero_stable: bool
    decoder: bool       # it reads C too
    error_norm: float   # of the leading error terms
    evaluations: int    # of F, G and C together, a step


class Term(NamedTuple):
    degree: int         # power of h
    name: str           # "F''(F,G)", "[F,[F,G]]"
    coefficient: object  # Fraction; float where the scheme has decimals or roots


class Scheme(_Handle):
    """An integrator, of its name or of a text; name: which of a text's several."""
    _free = staticmethod(_c.scheme_free)

    def __init__(self, scheme, name=None):
        self._at = c_void_p()
        text = _bytes(scheme)
        if b"\n" in text or b"=" in text:
            _c.scheme_read(text, None if name is None else _bytes(name), byref(self._at))
        else:
            _c.scheme_find(text, byref(self._at))

    @property
    def name(self):
        return _c.scheme_name(self._at).decode()

    @property
    def text(self):
        """A text that reads back as the same scheme."""
        at = c_void_p()
        _c.scheme_print(self._at, byref(at))
        try:
            return ctypes.string_at(at).decode()
        finally:
            _c.free(at)

    def __repr__(self):
        return "trotter.Scheme(%r)" % self.name


def _scheme(s):
    return s if isinstance(s, Scheme) else Scheme(s)


def order(scheme):
    """The exact order and what else theory tells, a Theory."""
    t = _Theory()
    s = _scheme(scheme)
    _c.scheme_theory(s._at, byref(t))
    return Theory(t.order, bool(t.at_least), bool(t.zero_stable), bool(t.decoder), t.error_norm, t.evaluations)


def _coefficient(text, value):
    try:
        return Fraction(text)
    except ValueError:
        return value


def expand(scheme, degree=0, basis="trees"):
    """The non-zero error terms up to h^degree, a list of Term; 0: the leading ones. basis: trees or brackets."""
    bases = "trees", "brackets"
    if basis not in bases:
        raise ValueError("basis %r: expected trees or brackets" % (basis,))
    s, terms, count = _scheme(scheme), POINTER(_Term)(), c_size_t()
    _c.scheme_expand(s._at, bases.index(basis), degree, byref(terms), byref(count))
    try:
        found = [terms[i] for i in range(count.value)]
        return [Term(t.degree, t.name.decode(), _number(t)) for t in found]
    finally:
        _c.free(terms)


def _number(term):
    text = term.coefficient.decode()
    return term.value if "." in text or "e" in text else _coefficient(text, term.value)


def stability(scheme):
    """Ends of the stability interval on the negative real and on the positive imaginary axis."""
    s, real, imaginary = _scheme(scheme), c_double(), c_double()
    _c.scheme_stability(s._at, byref(real), byref(imaginary))
    return real.value, imaginary.value


def amplification(scheme, z):
    """Largest amplification factor at h lambda = z, an array of complex numbers; of z's shape."""
    s, z = _scheme(scheme), np.asarray(z, np.complex128)
    flat = np.ascontiguousarray(np.stack([z.real, z.imag], axis=-1)).reshape(-1)
    out = np.empty(z.size)
    _c.scheme_amplification(s._at, z.size, flat, out)
    return out.reshape(z.shape)


# ---- particle systems -----------------------------------------------------------------------------

class System(_Handle):
    """A particle system: its name; a text in the language of system files; or one's own F and G.

    System(F=f, G=g, initial=y): f(t, y) and g(t, y) give arrays of y's shape (n, d)."""
    _free = staticmethod(_c.system_free)

    def __init__(self, system=None, particles=0, dimension=0, seed=1, F=None, G=None, initial=None):
        self._at = c_void_p()
        if system is None:
            if not (callable(F) and callable(G)) or initial is None:
                raise TypeError("a System needs a name, a text, or functions F and G and an initial state")
            self._make(F, G, np.atleast_2d(np.array(initial, np.float64)))
        else:
            text = _bytes(system)
            sizes = _count(particles, "particles"), _count(dimension, "coordinates"), _count(seed, "a seed of")
            (_c.system_parse if b"\n" in text else _c.system_find)(text, *sizes, byref(self._at))

    def _make(self, F, G, y):
        def field(f):
            def evaluate(_, t, y_at, dy_at):
                try:
                    dy = np.ctypeslib.as_array(dy_at, y.shape)
                    dy[:] = f(t, np.ctypeslib.as_array(y_at, y.shape).copy())
                    return 0
                except Exception as e:  # it cannot pass through C: the next call raises it
                    self._failed = self._failed or e
                    return 1
            return _Field(evaluate)
        self._failed = None
        self._fields = field(F), field(G)  # kept as long as the system
        _c.system_make(*y.shape, np.ascontiguousarray(y), *self._fields, None, byref(self._at))

    def _call(self, call, *arguments):
        try:
            call(*arguments)
        except Error as refused:
            failed, self._failed = getattr(self, "_failed", None), None
            raise (failed or refused) from None

    @property
    def shape(self):
        return _c.system_particles(self._at), _c.system_dimension(self._at)

    @property
    def initial(self):
        return np.ctypeslib.as_array(_c.system_initial(self._at), self.shape).copy()


def _system(s):
    return s if isinstance(s, System) else System(s)


def solve(scheme, system, h, steps):
    """The state (n, d) after so many steps of h from the initial one."""
    s, on = _scheme(scheme), _system(system)
    y = np.empty(on.shape)
    on._call(_c.solve, s._at, on._at, h, _count(steps, "steps"), y)
    return y


def reference(system, t):
    """The exact state (n, d) at time t."""
    on = _system(system)
    y = np.empty(on.shape)
    on._call(_c.reference, on._at, t, y)
    return y


class Order(NamedTuple):
    scheme: str
    slope: float        # the measured order, with its 95 % interval
    low: float
    high: float
    constant: float     # error ~ constant h^expected
    expected: int       # the exact order
    verdict: str        # agree, higher, disagree, diverges, floor, unstable, inconsistent
    points: np.ndarray  # fields h, error, steps, evaluations; coarsest first

    def _repr_svg_(self):
        guide = self.constant * self.points["h"] ** self.expected
        return plot([(self.scheme, self.points["h"], self.points["error"])], "step h", "RMS error at the end",
                    [("order %d" % self.expected, self.points["h"], guide)])


def measure(scheme, system="attention", t_end=0, h=0, halvings=6):
    """Measures the order over steps h, h/2, ...; 0: the system's own end and step."""
    s, on, o = _scheme(scheme), _system(system), _Order()
    on._call(_c.measure, s._at, on._at, t_end, h, halvings, byref(o))
    try:
        rows = [(p.h, p.error, p.steps, p.evaluations) for p in o.point[:o.count]]
    finally:
        _c.free(o.point)
    points = np.array(rows, [("h", "f8"), ("error", "f8"), ("steps", "u8"), ("evaluations", "u8")])
    return Order(s.name, o.slope, o.low, o.high, o.constant, o.expected, o.verdict.decode(), points)


def plot(curves, x, y, guides=()):
    """Curves (name, x, y) on two logarithmic axes, and guides as dashed lines, by gnuplot: an SVG text."""
    # gnuplot would run what stands in backquotes
    quote = lambda text: "'" + "".join("\u2019" if c in "'`" else c for c in text if c.isprintable()) + "'"
    head = ["set encoding utf8", "set terminal svg size 480,360 noenhanced", "set logscale xy", "set format '%.0e'", "set key left top",
            "set xlabel " + quote(x), "set ylabel " + quote(y)]
    parts = ["'-' with lines linecolor '#777777' dashtype '-' title " + quote(name) for name, _, _ in guides]
    parts += ["'-' with linespoints pointtype 7 linetype %d title " % (i + 1) + quote(c[0]) for i, c in enumerate(curves)]
    lines = []
    for _, a, b in [*guides, *curves]:
        lines += ["%.17g %.17g" % p for p in zip(a, b) if np.all(np.isfinite(p)) and min(p) > 0] + ["e"]
    script = "\n".join(head + ["plot " + ", ".join(parts)] + lines) + "\n"
    return subprocess.run(["gnuplot"], input=script, capture_output=True, encoding="utf-8", check=True).stdout


# ---- trained models -------------------------------------------------------------------------------

def _ids(ids):
    a = np.asarray(ids)
    whole = a.astype(np.int32) if a.dtype.kind in "iuf" else None
    if a.ndim != 1 or whole is None or np.any(whole != a):
        raise TypeError("expected a list of tokens, whole numbers")
    return np.ascontiguousarray(whole)


class Model(_Handle):
    """A language model of a directory that `trotter train` wrote, in double precision."""
    _free = staticmethod(_c.model_free)

    def __init__(self, directory, sequence=0):
        self._at = c_void_p()
        _c.model_load(_bytes(directory), _count(sequence, "a sequence of"), byref(self._at))
        self.vocabulary = [_c.model_word(self._at, i).decode() for i in range(_c.model_vocabulary(self._at))]
        self.parameters = _c.model_parameters(self._at)
        self.layers = _c.model_layers(self._at)
        self.sequence = _c.model_sequence(self._at)

    def encode(self, text):
        """Its tokens (n), <eos> first and at the end of each line."""
        ids, n = POINTER(c_int32)(), c_size_t()
        _c.model_encode(self._at, _bytes(text), byref(ids), byref(n))
        try:
            return np.ctypeslib.as_array(ids, (n.value,)).copy()
        finally:
            _c.free(ids)

    def logits(self, ids):
        """(n, V): row i has the logits of what follows ids[i]."""
        ids = _ids(ids)
        z = np.empty((len(ids), len(self.vocabulary)))
        _c.model_logits(self._at, ids, len(ids), z)
        return z

    def truncation(self, ids, scheme=None, layer=0, halvings=6):
        """Fields h, error, relative of a step of h = 1, 1/2, ... in one layer against its exact flow; None: its own scheme."""
        s = None if scheme is None else _scheme(scheme)
        ids = _ids(ids)
        error, relative = np.full((2, _count(halvings, "halvings") + 1), np.nan)
        _c.model_truncation(self._at, s._at if s else None, _count(layer, "a layer of"), ids, len(ids), halvings, error, relative)
        rows = zip(0.5 ** np.arange(halvings + 1), error, relative)
        return np.array(list(rows), [("h", "f8"), ("error", "f8"), ("relative", "f8")])


def load(directory, sequence=0):
    """The Model of a directory."""
    return Model(directory, sequence)


# ---- metrics --------------------------------------------------------------------------------------

def score(metric, said, right, tokenize="13a"):
    """bleu, chrf, rouge-1, rouge-2, rouge-l of lists of lines; accuracy, f1, matthews, pearson, spearman of numbers."""
    out, n = c_double(), len(said)
    if n != len(right):
        raise ValueError("%d answers and %d right ones" % (n, len(right)))
    if n and isinstance(said[0], str):
        lines = [(c_char_p * n)(*map(_bytes, x)) for x in (said, right)]
        _c.score_lines(_bytes(metric), _bytes(tokenize), n, *lines, byref(out))
    else:
        numbers = [np.ascontiguousarray(x, np.float64) for x in (said, right)]
        _c.score_labels(_bytes(metric), n, *numbers, byref(out))
    return out.value
