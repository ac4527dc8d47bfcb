"""What the scripts beside this one assert with."""


def near(a, b, within=1e-12):
    return abs(a - b) <= within * (1 + abs(b))


def raises(f, *a, **k):
    """The type's name and the text of what f(*a, **k) raises."""
    try:
        f(*a, **k)
    except BaseException as e:
        return type(e).__name__, str(e)
    raise AssertionError("not refused: %r %r" % (a, k))
