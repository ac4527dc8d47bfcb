"""Trained models, and metrics."""

from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int32, c_size_t, c_void_p
from operator import index

from .library import Handle, c, doubles, fitting, np, shaped, table, text_bytes, whole
from .numerics import SchemeLike, as_scheme


def _ids(ids):
    """Tokens (n) as C has them."""
    try:
        ids = [index(i) for i in ids]
    except TypeError:
        raise TypeError("expected a list of tokens, whole numbers") from None
    return (c_int32 * len(ids))(*(fitting(i, c_int32, "token %d" % k) for k, i in enumerate(ids)))


class Model(Handle):
    """A language model of a directory that `trotter train` wrote, in double precision, on the processor.

    sequence: longest input, 0 as trained. .vocabulary (V) texts, .parameters and .layers their number, .sequence."""
    _free = staticmethod(c.model_free)

    def __init__(self, directory, sequence: int = 0):
        self._at = c_void_p()
        c.model_load(text_bytes(directory), whole(sequence, "a sequence of"), byref(self._at))
        self.vocabulary = [c.model_word(self._at, i).decode(errors="surrogateescape") for i in range(c.model_vocabulary(self._at))]
        self.parameters = c.model_parameters(self._at)
        self.layers = c.model_layers(self._at)
        self.sequence = c.model_sequence(self._at)

    def encode(self, text: str):
        """Its tokens (n), <eos> first and at the end of each line; unknown words are <unk>."""
        ids, n = POINTER(c_int32)(), c_size_t()
        c.model_encode(self._at, text_bytes(text), byref(ids), byref(n))
        try:
            return np.array(ids[:n.value], np.int32) if np else ids[:n.value]
        finally:
            c.free(ids)

    def logits(self, ids):
        """(n, V): row i has the logits of what follows ids[i]; n <= sequence."""
        ids = _ids(ids)
        z = (c_double * (len(ids) * len(self.vocabulary)))()
        c.model_logits(self._at, ids, len(ids), z)
        return shaped(z, (len(ids), len(self.vocabulary)))

    def truncation(self, ids, scheme: SchemeLike = None, layer: int = 0, halvings: int = 6):
        """A table of fields h, error, relative: the error of a step of h = 1, 1/2, ... in one layer on these tokens
        against its exact flow, RMS, and that over the flow's displacement. scheme None: the model's own."""
        s = None if scheme is None else as_scheme(scheme)
        ids, rows = _ids(ids), whole(fitting(halvings, c_int, "halvings"), "halvings") + 1
        error, relative = (c_double * rows)(), (c_double * rows)()
        c.model_truncation(self._at, s._at if s else None, whole(layer, "a layer of"), ids, len(ids), halvings, error, relative)
        steps = [0.5 ** i for i in range(rows)]
        return table([("h", "f8"), ("error", "f8"), ("relative", "f8")], zip(steps, error, relative))


def load(directory, sequence: int = 0) -> Model:
    """The Model of a directory."""
    return Model(directory, sequence)


def score(metric: str, said, right, tokenize: str = "13a") -> float:
    """bleu, chrf, chrf++, ter of lists of lines, 0 .. 100; accuracy, f1, matthews of classes 0, 1, ...;
    pearson, spearman of numbers. tokenize: none, 13a, for BLEU alone."""
    out, n = c_double(), len(said)
    if n != len(right):
        raise ValueError("%d answers and %d right ones" % (n, len(right)))
    if n and isinstance(said[0], str):
        lines = [(c_char_p * n)(*map(text_bytes, x)) for x in (said, right)]
        c.score_lines(text_bytes(metric), text_bytes(tokenize), n, *lines, byref(out))
    else:
        c.score_labels(text_bytes(metric), n, doubles(said)[0], doubles(right)[0], byref(out))
    return out.value
