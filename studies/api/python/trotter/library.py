"""The functions of trotter.h by ctypes, and arrays: NumPy's where it is there, else lists."""

import ctypes
import ctypes.util
import operator
import os
import signal
import threading
from collections import namedtuple
from contextlib import contextmanager
from ctypes import POINTER, addressof, c_char_p, c_double, c_int, c_int32, c_size_t, c_uint64, c_void_p
from math import nan, prod

class Error(Exception):
    """What the library refused or could not do, in its words; .code is that of trotter.h."""

    def __init__(self, code: int, words: str):
        super().__init__(words)
        self.code = code


# ---- the C functions ------------------------------------------------------------------------------

Field = ctypes.CFUNCTYPE(c_int, c_void_p, c_double, c_void_p, c_void_p)
Quantity = ctypes.CFUNCTYPE(c_double, c_void_p, c_double, c_void_p)
LinePoint = ctypes.CFUNCTYPE(None, c_void_p, c_size_t, c_double, c_double)
_numbers = POINTER(c_double)


class _Theory(ctypes.Structure):
    _fields_ = [("order", c_int), ("at_least", c_int), ("zero_stable", c_int), ("decoder", c_int),
                ("error_norm", c_double), ("evaluations", c_size_t)]


class _Term(ctypes.Structure):
    _fields_ = [("degree", c_int), ("name", c_char_p), ("coefficient", c_char_p), ("value", c_double)]


class _Condition(ctypes.Structure):
    _fields_ = [("order", c_int), ("condition", c_char_p), ("right", c_char_p), ("left", c_char_p), ("holds", c_int)]


class _Event(ctypes.Structure):
    _fields_ = [("value", Quantity), ("arg", c_void_p), ("direction", c_int), ("terminal", c_int)]


class _Options(ctypes.Structure):
    _fields_ = [("begin", c_double), ("end", c_double), ("initial", _numbers), ("absolute", c_double), ("relative", c_double),
                ("absolutes", _numbers), ("relatives", _numbers), ("first", c_double), ("longest", c_double), ("steps", c_size_t),
                ("times", c_size_t), ("t", _numbers), ("events", c_size_t), ("event", POINTER(_Event)), ("dense", c_int)]


class _Crossing(ctypes.Structure):
    _fields_ = [("event", c_size_t), ("t", c_double), ("rises", c_int)]


class _Run(ctypes.Structure):
    _fields_ = [("outcome", c_char_p), ("t", c_double), ("steps", c_size_t), ("rejected", c_size_t), ("evaluations", c_size_t),
                ("jacobians", c_size_t), ("factors", c_size_t), ("count", c_size_t), ("time", _numbers), ("y", _numbers),
                ("crossings", c_size_t), ("crossing", POINTER(_Crossing)), ("crossing_y", _numbers), ("within", c_void_p)]


class _Point(ctypes.Structure):
    _fields_ = [("h", c_double), ("error", c_double), ("steps", c_size_t), ("evaluations", c_size_t)]


class _Order(ctypes.Structure):
    _fields_ = [("slope", c_double), ("low", c_double), ("high", c_double), ("constant", c_double),
                ("expected", c_int), ("verdict", c_char_p), ("count", c_size_t), ("point", POINTER(_Point))]



# name, result (None: a code that raises), arguments
_calls = [
    ("version", c_char_p, []), ("error", c_char_p, []), ("free", "void", [c_void_p]),
    ("scheme_find", None, [c_char_p, POINTER(c_void_p)]),
    ("scheme_read", None, [c_char_p, c_char_p, POINTER(c_void_p)]),
    ("scheme_names", None, [POINTER(c_void_p)]),
    ("scheme_free", "void", [c_void_p]), ("scheme_name", c_char_p, [c_void_p]),
    ("scheme_print", None, [c_void_p, POINTER(c_void_p)]),
    ("scheme_theory", None, [c_void_p, POINTER(_Theory)]),
    ("scheme_error_constant", None, [c_void_p, _numbers]),
    ("scheme_stability", None, [c_void_p, _numbers, _numbers]),
    ("scheme_amplification", None, [c_void_p, c_size_t, _numbers, _numbers]),
    ("scheme_region", None, [c_void_p, _numbers, _numbers, c_size_t, LinePoint, c_void_p]),
    ("scheme_expand", None, [c_void_p, c_int, c_int, POINTER(POINTER(_Term)), POINTER(c_size_t)]),
    ("scheme_conditions", None, [c_void_p, c_int, POINTER(POINTER(_Condition)), POINTER(c_size_t)]),
    ("system_find", None, [c_char_p, c_size_t, c_size_t, c_uint64, POINTER(c_void_p)]),
    ("system_parse", None, [c_char_p, c_size_t, c_size_t, c_uint64, POINTER(c_void_p)]),
    ("system_make", None, [c_size_t, c_size_t, _numbers, Field, Field, c_void_p, POINTER(c_void_p)]),
    ("system_jacobian", None, [c_void_p, Field, Field]),
    ("system_names", None, [POINTER(c_void_p)]), ("system_end", c_double, [c_void_p]),
    ("system_free", "void", [c_void_p]), ("system_particles", c_size_t, [c_void_p]),
    ("system_dimension", c_size_t, [c_void_p]), ("system_initial", _numbers, [c_void_p]),
    ("run", None, [c_void_p, c_void_p, POINTER(_Options), POINTER(_Run)]), ("run_free", "void", [POINTER(_Run)]),
    ("run_at", None, [POINTER(_Run), c_size_t, _numbers, _numbers]),
    ("references", None, [c_void_p, c_size_t, _numbers, _numbers, _numbers]),
    ("measure", None, [c_void_p, c_void_p, c_double, c_double, c_int, POINTER(_Order)]),
    ("model_load", None, [c_char_p, c_size_t, POINTER(c_void_p)]), ("model_free", "void", [c_void_p]),
    ("model_vocabulary", c_size_t, [c_void_p]), ("model_parameters", c_size_t, [c_void_p]),
    ("model_layers", c_size_t, [c_void_p]), ("model_sequence", c_size_t, [c_void_p]),
    ("model_word", c_char_p, [c_void_p, c_int32]),
    ("model_encode", None, [c_void_p, c_char_p, POINTER(POINTER(c_int32)), POINTER(c_size_t)]),
    ("model_logits", None, [c_void_p, POINTER(c_int32), c_size_t, _numbers]),
    ("model_truncation", None, [c_void_p, c_void_p, c_size_t, POINTER(c_int32), c_size_t, c_int, _numbers, _numbers]),
    ("score_lines", None, [c_char_p, c_char_p, c_size_t, POINTER(c_char_p), POINTER(c_char_p), _numbers]),
    ("score_labels", None, [c_char_p, c_size_t, _numbers, _numbers, _numbers]),
]


def find() -> str:
    """The library's path: $TROTTER_LIBRARY, beside this file, in the source tree, or installed."""
    here = os.path.dirname(os.path.abspath(__file__))
    named = os.environ.get("TROTTER_LIBRARY")
    if named:
        return named
    for beside in ("libtrotter.so", os.path.join("..", "..", "..", "..", "build", "release", "libtrotter.so")):
        if os.path.exists(os.path.join(here, beside)):
            return os.path.join(here, beside)
    found = ctypes.util.find_library("trotter")
    for path in (found, os.path.expanduser("~/.local/lib/libtrotter.so"), "/usr/local/lib/libtrotter.so"):
        if path and (path == found or os.path.exists(path)):
            return path
    raise ImportError("libtrotter.so is not found: 'make shared' builds it, 'make install' installs it, and "
                      "TROTTER_LIBRARY may name it")


# The least and the largest value of C's whole numbers: ctypes lets others wrap.
_bounds = {t: (-(1 << 8 * ctypes.sizeof(t) - 1), (1 << 8 * ctypes.sizeof(t) - 1) - 1) for t in (c_int, c_int32)}
_bounds.update({t: (0, (1 << 8 * ctypes.sizeof(t)) - 1) for t in (c_size_t, c_uint64)})


def fitting(n, type_of, what) -> int:
    """A whole number that the C type holds."""
    n, (least, most) = operator.index(n), _bounds[type_of]
    if not least <= n <= most:
        raise ValueError("%s: %d is not between %d and %d" % (what, n, least, most))
    return n


@contextmanager
def _short_waits():
    """Libraries that are loaded meanwhile let OpenMP's waiting threads look 1,000 times before they sleep, some 20 us: GNU's own
    300,000 take the processors from threads that work, where other programs want them. What the user has said holds."""
    name = "GOMP_SPINCOUNT"
    said = name in os.environ or "OMP_WAIT_POLICY" in os.environ
    if not said:
        os.environ[name] = "1000"
    try:
        yield
    finally:
        if not said:
            del os.environ[name]


class _Library:
    """The functions of trotter.h, without their trotter_; those that give a code raise Error."""

    def __init__(self, path):
        with _short_waits():
            dll = ctypes.CDLL(path)
        for name, result, arguments in _calls:
            call = getattr(dll, "trotter_" + name)
            call.argtypes = arguments
            call.restype = c_int if result is None else None if result == "void" else result
            setattr(self, name, self._checked(name, call, result is None))

    def _checked(self, name, call, codes):
        whole = [(i, t) for i, t in enumerate(call.argtypes) if t in _bounds]

        def checked(*arguments):
            for i, t in whole:
                fitting(arguments[i], t, name)
            code = call(*arguments)
            if not codes:
                return code
            if code != 0:
                raise Error(code, self.error().decode(errors="replace"))  # long words are cut
        return checked


c = _Library(find())

try:  # behind the library: NumPy may bring GNU's OpenMP, which reads the environment once
    import numpy as np
except ImportError:
    np = None

version = c.version().decode()


class Handle:
    """Owns a handle of the library, ._at."""
    _free = None

    def __del__(self):
        if getattr(self, "_at", None):
            self._free(self._at)
            self._at = None


def take_text(call, *arguments) -> str:
    """The text that a function gives to its caller."""
    at = c_void_p()
    call(*arguments, ctypes.byref(at))
    try:
        return ctypes.string_at(at).decode()
    finally:
        c.free(at)


def take_rows(call, type_of, row, *arguments) -> list:
    """The rows, made by row(), of an array that a function gives to its caller."""
    at, count = POINTER(type_of)(), c_size_t()
    call(*arguments, ctypes.byref(at), ctypes.byref(count))
    try:
        return [row(at[i]) for i in range(count.value)]
    finally:
        c.free(at)


# ---- values ---------------------------------------------------------------------------------------

def text_bytes(text) -> bytes:
    if isinstance(text, os.PathLike):
        text = os.fspath(text)
    if not isinstance(text, str) or "\0" in text:
        raise TypeError("expected a text, not %r" % (text,))
    return text.encode(errors="surrogateescape")  # names of files may be any bytes


def whole(n, what) -> int:
    n = operator.index(n)  # a TypeError, where it is no whole number
    if not 0 <= n < 1 << 63:
        raise ValueError("%s: %d" % (what, n))
    return n


def _shape(values):
    if not isinstance(values, (list, tuple)):
        return ()
    inner = _shape(values[0]) if values else ()
    if any(_shape(v) != inner for v in values):
        raise ValueError("expected rows of one length")
    return (len(values), *inner)


def _flat(values):
    return [x for v in values for x in _flat(v)] if isinstance(values, (list, tuple)) else [float(values)]


def doubles(values):
    """An array of C doubles, and the shape of the values."""
    if np:
        a = np.asarray(values, np.float64)
        return (c_double * a.size).from_buffer_copy(a.tobytes()) if a.size else (c_double * 0)(), a.shape
    flat = _flat(values)
    return (c_double * len(flat))(*flat), _shape(values)


def shaped(numbers, shape):
    """An array of C doubles as one of this shape: NumPy's, on the same memory, or lists."""
    if np:
        return np.frombuffer(numbers, np.float64, prod(shape)).reshape(shape) if prod(shape) else np.empty(shape)
    if len(shape) < 2:
        return list(numbers[:prod(shape)]) if shape else numbers[0]
    size = prod(shape[1:])
    return [shaped(numbers[i * size:(i + 1) * size], shape[1:]) for i in range(shape[0])]


def table(fields, rows):
    """Rows as a NumPy record array, fields (name, type); without NumPy a list of named tuples."""
    if np:
        return np.array(list(rows), fields).view(np.recarray)
    row = namedtuple("Row", [name for name, _ in fields])
    return [row(*r) for r in rows]


@contextmanager
def interrupts(failed):
    """Ctrl-C goes to `failed`: as an exception it could be raised where a callback begins, and ctypes would drop it. A second one
    is raised where it comes."""
    def note(*given):
        if failed:
            signal.default_int_handler(*given)
        failed.append(KeyboardInterrupt())

    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def reader(shape):
    """A function that copies the numbers at an address to an array of this shape."""
    numbers = c_double * prod(shape)
    if not np:
        return lambda at: shaped(numbers.from_address(at), shape)
    if len(shape) == 1:
        return lambda at: np.frombuffer(numbers.from_address(at)).copy()
    return lambda at: np.frombuffer(numbers.from_address(at)).reshape(shape).copy()


def writer(shape, name):
    """A function that writes what name(t, y) gave, which has to have this shape, to an address."""
    size = prod(shape)
    numbers = c_double * size

    def write(given, at):
        if given is None:
            raise TypeError("%s(t, y) gives None: it lacks a return" % name)
        if np:
            value = np.asarray(given, np.float64)
            got, count = value.shape, value.size
        else:
            value, got = doubles(given)
            count = len(value)
        if got != shape and not size == count == 1:
            raise ValueError("%s(t, y) gives shape %s where %s is expected" % (name, got, shape))
        ctypes.memmove(at, value.tobytes() if np else value, ctypes.sizeof(numbers))
    return write


def callback(f, shape, out, name, failed):
    """f(t, y) as a TrotterField: y has one shape, what f gives the other. What f raises is appended to `failed`, and f is not called
    again."""
    read, write = reader(shape), writer(out, name)

    def evaluate(_, t, y_at, out_at):
        if failed:
            return 1
        try:
            write(f(t, read(y_at)), out_at)
            return 0
        except BaseException as e:  # it cannot pass through C: the caller raises it
            failed.append(e)
            return 1
    return Field(evaluate)


def quantity(g, shape, failed):
    """g(t, y) as a TrotterQuantity."""
    read = reader(shape)

    def evaluate(_, t, y_at):
        try:
            value = nan if failed else g(t, read(y_at))
            if not failed and hasattr(value, "__len__"):
                (value,) = value  # an array of one number
            return float(value)
        except BaseException as e:
            failed.append(e)
            return nan
    return Quantity(evaluate)
