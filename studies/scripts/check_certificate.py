#!/usr/bin/env python3
"""check_certificate.py FILE...: checks certificates of order of one-step methods, as
`trotter schemes --certificate json` writes them. It needs Python 3.8 alone, and nothing of Trotter.

A certificate states a method in fractions, its order p, the number of conditions of each order up to p, and one of
order p + 1 that fails. This program makes all conditions up to order p itself and evaluates them in fractions, so it believes
nothing that the certificate says but the method. It prints a line for each file and ends with 0 if all claims are so, 1
if one is not, 2 if a file is no certificate.

The method solves y' = f(y), where f is the sum of one field for each colour. It has either stages,

    k_i = h f_c(i)(y + sum_j a_ij k_j),   y' = y + sum_i b_i k_i,   c(i) the colour of stage i,

or flows, which it follows in turn, each along one field for a fraction of the step.

For stages the conditions are those of rooted trees whose vertices have colours (Butcher; Hairer, Norsett, Wanner 1993,
II.2; Araujo, Murua, Sanz-Serna 1997): the elementary weight of each tree is 1/gamma. For flows they are of words
(Hairer, Lubich, Wanner 2006, III.5.1): in exp(a_1 X_c(1)) exp(a_2 X_c(2)) ... each word of n letters has the
coefficient 1/n!, as in exp(sum X_c). Their certificate has the error too: the step is exp(sum X_c + brackets) in words of
at most so many letters, where [F,G] = G'F - F'G has the words FG - GF.
"""
import itertools
import json
import math
import re
import sys
from collections import defaultdict
from fractions import Fraction
from functools import lru_cache, reduce


class Refused(Exception):
    """What the certificate claims is not so."""


def need(is_so, words):
    if not is_so:
        raise ValueError(words)


def claim(is_so, words):
    if not is_so:
        raise Refused(words)


def fraction(text):
    need(isinstance(text, str) and re.fullmatch(r"-?[0-9]+(/[1-9][0-9]*)?", text, re.ASCII),
         f"{text!r} is no fraction in quotation marks")
    return Fraction(text)


# ---- trees: (colour, subtrees), the subtrees sorted, so that there is one way to write a tree ----

def order(tree):
    return 1 + sum(order(s) for s in tree[1])


@lru_cache(maxsize=None)
def density(tree):
    return order(tree) * math.prod(density(s) for s in tree[1])


@lru_cache(maxsize=None)
def trees(n, colours):
    """All trees of n vertices: a tree of fewer gets one more subtree at its root."""
    if n == 1:
        return tuple((c, ()) for c in colours)
    return tuple(sorted({(root, tuple(sorted(subtrees + (s,))))
                         for k in range(1, n)
                         for root, subtrees in trees(n - k, colours)
                         for s in trees(k, colours)}))


def name(tree):
    """The elementary differential, as H''(H,H'H)."""
    inner = ",".join(name(s) for s in tree[1])
    return tree[0] + "'" * len(tree[1]) + (f"({inner})" if len(tree[1]) > 1 else inner)


def read_tree(given, colours):
    need(isinstance(given, list) and given and given[0] in colours, "fails: tree: expected [COLOUR, SUBTREE, ...]")
    return given[0], tuple(sorted(read_tree(s, colours) for s in given[1:]))


class Stages:
    kind = "trees"

    def __init__(self, given, colours):
        need(isinstance(given, list) and given, "stages: expected a list")
        self.colours, self.of, self.row, self.b = colours, [], [], []
        for s in given:
            need(isinstance(s, dict) and s.get("colour") in colours and isinstance(s.get("a"), list)
                 and len(s["a"]) <= len(given), "stages: expected a colour, a and b")
            self.of.append(s["colour"])
            self.row.append([(j, fraction(a)) for j, a in enumerate(s["a"])])
            self.b.append(fraction(s.get("b")))
        self.read = lru_cache(maxsize=None)(self._read)

    def values(self, tree):
        """What each stage has on a tree: 0 where the root is of another colour."""
        subtrees = [self.read(s) for s in tree[1]]
        return [math.prod((s[i] for s in subtrees), start=Fraction(1)) if c == tree[0] else Fraction(0)
                for i, c in enumerate(self.of)]

    def _read(self, tree):
        """What a parent's stages have of a subtree, sum_j a_ij v_j."""
        v = self.values(tree)
        return [sum((a * v[j] for j, a in row if v[j]), start=Fraction(0)) for row in self.row]

    def conditions(self, n):
        return trees(n, self.colours)

    def left(self, tree):
        return sum((b * v for b, v in zip(self.b, self.values(tree))), start=Fraction(0))

    def right(self, tree):
        return Fraction(1, density(tree))

    order = staticmethod(order)
    name = staticmethod(name)

    def failing(self, fails):
        return read_tree(fails.get("tree"), self.colours)


# ---- series: from words to fractions ----

def series(*parts):
    """The sum of a factor times a series, of each part."""
    out = defaultdict(Fraction)
    for factor, part in parts:
        for word, x in part.items():
            out[word] += factor * x
    return out


def product(a, b, n):
    """Up to words of n letters."""
    return series(*((x, {u + v: y for v, y in b.items() if len(u + v) <= n}) for u, x in a.items()))


def exponential(a, n, k=1):
    """1 + a (1 + a/2 (1 + a/3 (...))), where a has no constant; behind k factors n - k letters are left."""
    return series((1, {"": 1}), (Fraction(1, k), product(a, exponential(a, n - 1, k + 1), n))) if n else {"": 1}


def bracket(given, colours):
    if isinstance(given, str) and given in colours:
        return {given: 1}
    need(isinstance(given, list) and len(given) == 2, "error: expected a letter or [BRACKET, BRACKET]")
    x, y = (bracket(g, colours) for g in given)
    return series((1, product(x, y, math.inf)), (-1, product(y, x, math.inf)))


class Flows:
    kind = "words"

    def __init__(self, given, colours):
        need(isinstance(given, list) and given, "flows: expected a list")
        need(all(isinstance(f, list) and len(f) == 2 and f[0] in colours for f in given),
             "flows: expected [COLOUR, FRACTION]")
        self.colours, self.flow = colours, [(c, fraction(a)) for c, a in given]
        self.step = lru_cache(maxsize=None)(self._step)

    def _step(self, n):
        return reduce(lambda a, f: product(a, exponential({f[0]: f[1]}, n), n), self.flow, {"": 1})

    def conditions(self, n):
        return ["".join(w) for w in itertools.product(self.colours, repeat=n)]

    def left(self, word):
        return self.step(len(word)).get(word, Fraction(0))

    def right(self, word):
        return Fraction(1, math.factorial(len(word)))

    order = staticmethod(len)
    name = staticmethod(str)

    def failing(self, fails):
        word = fails.get("word")
        need(isinstance(word, str) and set(word) <= set(self.colours), "fails: word: expected letters of the colours")
        return word

    def error(self, n, given):
        """Claims that the step is the exponential of the field and the brackets."""
        need(type(n) is int and n > 0 and isinstance(given, list), "expected letters and error")
        need(all(isinstance(e, list) and len(e) == 2 for e in given), "error: expected [FRACTION, BRACKET]")
        want = exponential(series((1, {c: 1 for c in self.colours}),
                                  *((fraction(x), bracket(b, self.colours)) for x, b in given)), n)
        for word in itertools.chain.from_iterable(map(self.conditions, range(1, n + 1))):
            claim(self.step(n)[word] == want[word],
                  f"error: {word} has {self.step(n)[word]}, and with these brackets {want[word]}")
        return f"; the error to {n} letters is that of the brackets ({len(given)})"


def check(given):
    """Returns a sentence; raises Refused, or ValueError where it is none."""
    need(isinstance(given, dict) and given.get("certificate") == "order conditions", "expected a certificate")
    colours = given.get("colours")
    need(isinstance(colours, list) and all(isinstance(c, str) and len(c) == 1 for c in colours)
         and 0 < len(set(colours)) == len(colours), "colours: expected letters")
    need(("stages" in given) != ("flows" in given), "expected stages or flows")
    colours = tuple(colours)
    method = Stages(given["stages"], colours) if "stages" in given else Flows(given["flows"], colours)
    p, counts, fails = given.get("order"), given.get("conditions"), given.get("fails")
    need(type(p) is int and p >= 0, "order: expected a number")
    need(isinstance(fails, dict), "fails: expected a condition")
    made = [method.conditions(n) for n in range(1, p + 1)]
    claim(counts == [len(m) for m in made], f"conditions: {counts}, and there are {[len(m) for m in made]}")
    for c in itertools.chain.from_iterable(made):
        left, right = method.left(c), method.right(c)
        claim(left == right, f"order {method.order(c)}: {method.name(c)} has {left}, not {right}")
    c = method.failing(fails)
    left, right = method.left(c), method.right(c)
    claim(method.order(c) == p + 1, f"fails: {method.name(c)} is of order {method.order(c)}, not {p + 1}")
    claim(left != right, f"fails: {method.name(c)} has {left}, as it should")
    claim(left == fraction(fails.get("left")) and right == fraction(fails.get("right")),
          f"fails: {method.name(c)} has {left} and not {right}; the certificate says otherwise")
    error = method.error(given.get("letters"), given.get("error")) if "flows" in given else ""
    return (f"{given.get('scheme')}: order {p}: all {sum(counts)} conditions hold ({method.kind}: {counts}); "
            f"of order {p + 1} {method.name(c)} has {left}, not {right}{error}")


def main(files):
    status = 0
    for file in files:
        try:
            with open(file, encoding="utf-8") as f:
                print(check(json.load(f)))
        except Refused as e:
            status = max(status, 1)
            print(f"{file}: refused: {e}", file=sys.stderr)
        except (OSError, ValueError, RecursionError) as e:
            status = 2
            print(f"{file}: no certificate: {e}", file=sys.stderr)
    return status if files else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
