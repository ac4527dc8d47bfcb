"""Pictures: curves on two axes as SVG, without any other program, or by Matplotlib where it is there."""

from html import escape
from math import ceil, floor, isfinite, log10

# Okabe and Ito 2008, in the order of the program's plots.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]
DASHES = ["none", "8 4", "2 3", "8 3 2 3"]
LEFT, TOP, WIDTH, HEIGHT, BELOW = 66, 30, 360, 280, 50


class Curve:
    """A line through points (x, y), arrays of one length; where one is not finite the line has a gap. marks: with a dot
    at each; guide: thin and grey; look: which colour and dash, from 0."""

    def __init__(self, label, x, y, look=0, marks=False, guide=False):
        self.label, self.x, self.y = str(label), [float(v) for v in x], [float(v) for v in y]
        self.marks, self.guide, self.look = marks, guide, look

    @property
    def colour(self):
        return "#999999" if self.guide else COLOURS[self.look % len(COLOURS)]

    @property
    def dash(self):
        return "4 4" if self.guide else DASHES[self.look // len(COLOURS) % len(DASHES)]


class _Axis:
    """Maps the values `low` to `high` to pixels, and knows where its marks stand."""

    def __init__(self, values, log, pixels, window=None):
        self.log = log
        seen = [self.of(v) for v in values if isfinite(v) and (v > 0 or not log)] or [0, 1]
        low, high = (min(seen), max(seen)) if window is None else map(self.of, window)
        pad = (high - low or abs(high) or 1) * (0 if window else 0.04)
        self.low, self.high, self.pixels = low - pad, high + pad, pixels

    def of(self, value):
        return log10(value) if self.log else value

    def at(self, value):
        return (self.of(value) - self.low) / (self.high - self.low) * self.pixels

    def draws(self, value):
        return isfinite(value) and (value > 0 or not self.log)

    def widen(self, unit):
        """Sets the length of a pixel."""
        middle, half = (self.low + self.high) / 2, unit * self.pixels / 2
        self.low, self.high = middle - half, middle + half

    def ticks(self):
        """(value, SVG text) of at most some eight marks."""
        span = self.high - self.low
        if self.log and span >= 1:
            step = ceil(span / 7)
            return [(10.0 ** k, '10<tspan dy="-5" font-size="9">%d</tspan>' % k)
                    for k in range(ceil(self.low / step) * step, floor(self.high) + 1, step)]
        low, high = (10 ** self.low, 10 ** self.high) if self.log else (self.low, self.high)
        step = 10.0 ** floor(log10((high - low) / 4))
        step *= next(f for f in (1, 2, 5, 10) if (high - low) / (step * f) <= 6)
        return [(k * step, "%.6g" % (k * step)) for k in range(ceil(low / step), floor(high / step) + 1)]


class Picture:
    """Curves on two axes. In Jupyter it shows itself; .svg() is its text, .save(path) writes it, .draw(ax) draws on
    axes of Matplotlib. One picture + another has the curves of both, on the first one's axes."""

    def __init__(self, title, x, y, curves, log=False, equal=False, window=None, shade=()):
        self.title, self.x, self.y, self.curves = title, x, y, list(curves)
        self.log, self.equal, self.window, self.shade = log, equal, window, list(shade)

    def __add__(self, other):
        looks = 1 + max((c.look for c in self.curves if not c.guide), default=-1)
        more = [Curve(c.label, c.x, c.y, c.look + looks, c.marks, c.guide) for c in other.curves]
        return Picture(self.title, self.x, self.y, self.curves + more, self.log, self.equal, self.window)

    def __repr__(self):
        return "trotter.Picture(%r): .save('picture.svg') writes it" % self.title

    def _axes(self):
        xs, ys = ([v for c in self.curves for v in getattr(c, k)] for k in "xy")
        x = _Axis(xs, self.log, WIDTH, self.window and self.window[0])
        y = _Axis(ys, self.log, HEIGHT, self.window and self.window[1])
        if self.equal:
            unit = max((a.high - a.low) / a.pixels for a in (x, y))
            x.widen(unit), y.widen(unit)
        return x, y

    def svg(self) -> str:
        """The picture as a text in SVG."""
        ax, ay = self._axes()
        place = lambda x, y: "%.1f %.1f" % (LEFT + ax.at(x), TOP + HEIGHT - ay.at(y))
        keys = [c for c in self.curves if c.label]
        wide = LEFT + WIDTH + (40 + 7 * max((len(c.label) for c in keys), default=-4))
        high = max(TOP + HEIGHT + BELOW, TOP + 20 * len(keys) + 10)
        say = lambda x, y, text, more="": '<text x="%.1f" y="%.1f" %s>%s</text>' % (x, y, more, text)
        out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" '
               'font-family="sans-serif" font-size="12" fill="#333333">' % (wide, high, wide, high),
               '<rect width="100%" height="100%" fill="white"/>',
               '<clipPath id="in"><rect x="%d" y="%d" width="%d" height="%d"/></clipPath>' % (LEFT, TOP, WIDTH, HEIGHT)]
        for value, text in ax.ticks():
            at = LEFT + ax.at(value)
            out += ['<path d="M%.1f %dv%d" stroke="#dddddd"/>' % (at, TOP, HEIGHT),
                    say(at, TOP + HEIGHT + 18, text, 'text-anchor="middle"')]
        for value, text in ay.ticks():
            at = TOP + HEIGHT - ay.at(value)
            out += ['<path d="M%d %.1fh%d" stroke="#dddddd"/>' % (LEFT, at, WIDTH),
                    say(LEFT - 6, at + 4, text, 'text-anchor="end"')]
        out += ['<path d="%s" fill="#0072b2" fill-opacity=".15" clip-path="url(#in)"/>' % "".join(
            "M%sL%s %sZ" % (place(x0, y0), place(x1, y0), "%s %s" % (place(x1, y1), place(x0, y1)))
            for x0, x1, y0, y1 in self.shade)] if self.shade else []
        out += [self._line(c, ax, ay, place) for c in self.curves]
        out.append('<path d="M%d %dv%dh%d" fill="none" stroke="#555555"/>' % (LEFT, TOP, HEIGHT, WIDTH))
        for i, c in enumerate(keys):
            at = TOP + 8 + 20 * i
            out += ['<path d="M%d %dh22" stroke="%s" stroke-width="2" stroke-dasharray="%s"/>'
                    % (LEFT + WIDTH + 10, at, c.colour, c.dash), say(LEFT + WIDTH + 38, at + 4, escape(c.label))]
        out += [say(LEFT, TOP - 12, escape(self.title), 'font-size="14" fill="black"'),
                say(LEFT + WIDTH / 2, TOP + HEIGHT + 40, escape(self.x), 'text-anchor="middle"'),
                say(0, 0, escape(self.y), 'text-anchor="middle" transform="translate(14 %d) rotate(-90)"' % (TOP + HEIGHT / 2))]
        return "\n".join(out + ["</svg>"])

    def _line(self, c, ax, ay, place):
        path, pen, dots = [], "M", []
        for x, y in zip(c.x, c.y):
            if not (ax.draws(x) and ay.draws(y)):
                pen = "M"
                continue
            at = place(x, y)
            path.append(pen + at)
            dots.append('<circle cx="%s" cy="%s" r="3" fill="%s"/>' % (*at.split(), c.colour) if c.marks else "")
            pen = "L"
        return ('<g clip-path="url(#in)"><path d="%s" fill="none" stroke="%s" stroke-width="%g" stroke-dasharray="%s"/>%s</g>'
                % ("".join(path), c.colour, 1 if c.guide else 2, c.dash, "".join(dots)))

    _repr_svg_ = svg

    def draw(self, ax=None):
        """Draws on axes of Matplotlib, or new ones; returns them. ImportError where Matplotlib is not there."""
        if ax is None:
            import matplotlib.pyplot
            ax = matplotlib.pyplot.subplots()[1]
        for x0, x1, y0, y1 in self.shade:
            ax.broken_barh([(x0, x1 - x0)], (y0, y1 - y0), facecolor="#0072b2", alpha=.15, linewidth=0)
        for c in self.curves:
            dash = "-" if c.dash == "none" else (0, tuple(float(d) / 2 for d in c.dash.split()))
            ax.plot(c.x, c.y, color=c.colour, linestyle=dash, marker="o" if c.marks else None, markersize=4,
                    linewidth=1 if c.guide else 1.8, label=c.label or None)
        ax.set(title=self.title, xlabel=self.x, ylabel=self.y, **({"xscale": "log", "yscale": "log"} if self.log else {}))
        if self.window:
            ax.set(xlim=self.window[0], ylim=self.window[1])
        if self.equal:
            ax.set_aspect("equal")
        if any(c.label for c in self.curves):
            ax.legend(frameon=False)
        return ax

    def save(self, path):
        """Writes a file: .svg by itself, .png or .pdf by Matplotlib."""
        if str(path).endswith(".svg"):
            with open(path, "w", encoding="utf-8") as f:
                f.write(self.svg())
        else:
            self.draw().figure.savefig(path, bbox_inches="tight")
