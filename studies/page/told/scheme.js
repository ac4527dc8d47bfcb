/* scheme.js: the scheme that is typed, and charts as SVG, drawn from CSV, for `serve` and the atlas. */
"use strict";

const COLOURS = 8;
const $ = id => document.getElementById(id);

/* ---- tables and elements ---- */

/* RFC 4180: lists of cells. */
function readCsv(text) {
    const rows = [[]];
    const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/gy;
    for (let m; cell.lastIndex < text.length && (m = cell.exec(text));) {
        rows[rows.length - 1].push(m[1] !== undefined ? m[1].replaceAll('""', '"') : m[2]);
        if (m[3] !== ",") rows.push([]);
    }
    if (rows[rows.length - 1].length === 0) rows.pop();
    return rows;
}

/* Rows as objects by the names of the first one. */
function readRows(text) {
    const [names = [], ...rows] = readCsv(text);
    return rows.map(row => Object.fromEntries(names.map((n, i) => [n, row[i] ?? ""])));
}

function make(tag, attributes = {}, ...children) {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(attributes)) if (v !== undefined) e.setAttribute(k, v);
    e.append(...children);
    return e;
}

/* ---- charts ---- */

function draw(tag, attributes, ...children) {
    const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    e.append(...children);
    return e;
}

function niceTicks(low, high, most) {
    const rough = (high - low) / most || 1, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find(f => f * power >= rough);
    const ticks = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) ticks.push(k * step);
    return ticks;
}

/* Ticks of an axis, in its own numbers; of a logarithmic one decades, or 1, 2, 5, or even steps where few are there. */
function axisTicks(axis, most) {
    if (!axis.log) return niceTicks(axis.low, axis.high, most);
    const from = Math.ceil(axis.low), to = Math.floor(axis.high), decades = [], some = [];
    for (let k = from; k <= to; k += Math.ceil((to - from + 1) / most)) decades.push(10 ** k);
    for (let k = from - 1; k <= to; k++)
        some.push(...[1, 2, 5].map(f => f * 10 ** k).filter(v => v >= 10 ** axis.low && v <= 10 ** axis.high));
    if (some.length < 3) return niceTicks(10 ** axis.low, 10 ** axis.high, most).filter(v => v > 0);
    return some.length <= most + 2 ? some : decades;
}

function tickText(v) {
    const size = Math.abs(v);
    if (size === 0 || (size >= 1e-3 && size < 1e5)) return String(+v.toPrecision(6)).replace("-", "−");
    const power = Math.floor(Math.log10(size) + 1e-9), factor = +(v / 10 ** power).toPrecision(3);
    const digits = [...String(power)].map(c => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");
    return (factor === 1 ? "" : factor + "·") + "10" + digits;
}

function axisOf(values, log, pad) {
    const list = values.map(v => log ? Math.log10(v) : v).filter(Number.isFinite);
    let low = list.reduce((a, b) => Math.min(a, b), Infinity), high = list.reduce((a, b) => Math.max(a, b), -Infinity);
    if (!(low <= high)) [low, high] = [0, 1];
    const more = high > low ? (high - low) * pad : .5;
    return { log, low: low - more, high: high + more };
}

/* Draws series of { points, colour, thin, dots, closed } into a box, as wide as that is. how: x, y words of the axes; logX,
 * logY; equal: the same unit on both. A point [x, y, edge] ends a line where edge and the one before are set. */
function chart(box, series, how) {
    const points = series.flatMap(s => s.points), w = box.clientWidth || 600;
    const left = 62, right = 14, top = 14, bottom = 46;
    const x = axisOf(points.map(p => p[0]).concat(how.equal ? [0] : []), how.logX, how.pad ?? .02);
    const y = axisOf(points.map(p => p[1]).concat(how.equal ? [0] : []), how.logY, .05);
    const inner = w - left - right;
    const h = how.equal ? Math.min(inner * (y.high - y.low) / (x.high - x.low), 380) : Math.min(Math.max(inner * .58, 220), how.tall ?? 380);
    const unit = how.equal ? Math.min(inner / (x.high - x.low), h / (y.high - y.low)) : 0;
    const sx = unit || inner / (x.high - x.low), sy = unit || h / (y.high - y.low);
    const X = v => +(left + ((x.log ? Math.log10(v) : v) - x.low) * sx).toFixed(2);
    const Y = v => +(top + h - ((y.log ? Math.log10(v) : v) - y.low) * sy).toFixed(2);
    const far = left + (x.high - x.low) * sx;
    const svg = draw("svg", { viewBox: `0 0 ${w} ${h + top + bottom}`, role: "img", "aria-label": how.label });
    for (const v of axisTicks(y, h / 60))
        svg.append(draw("line", { class: how.equal && v === 0 ? "axis" : "grid", x1: left, x2: far, y1: Y(v), y2: Y(v) }),
                   draw("text", { x: left - 8, y: Y(v) + 4, "text-anchor": "end" }, tickText(v)));
    for (const v of axisTicks(x, Math.min(inner / 70, 8))) {
        if (how.equal)
            svg.append(draw("line", { class: v === 0 ? "axis" : "grid", x1: X(v), x2: X(v), y1: top, y2: top + h }));
        svg.append(draw("text", { x: X(v), y: top + h + 20, "text-anchor": "middle" }, tickText(v)));
    }
    svg.append(draw("text", { x: far, y: top + h + 40, "text-anchor": "end" }, how.x),
               draw("text", { x: left, y: 2, "text-anchor": "start" }, how.y));
    for (const s of series) {
        const good = s.points.filter(p => Number.isFinite(X(p[0])) && Number.isFinite(Y(p[1])));
        const at = good.map(p => X(p[0]) + " " + Y(p[1]));
        const path = at.map((p, i) => (i === 0 || (good[i][2] && good[i - 1][2]) ? "M" : "L") + p).join("");
        const c = "c" + s.colour % COLOURS;
        if (s.closed) svg.append(draw("path", { class: c + " area", "fill-rule": "evenodd", d: s.area(X, Y) }));
        if (at.length) svg.append(draw("path", { class: c + (s.thin ? " thin" : ""), d: path }));
        if (s.dots && good.length <= 60)
            for (const p of good) svg.append(draw("circle", { class: c, cx: X(p[0]), cy: Y(p[1]), r: 3 }));
    }
    box.replaceChildren(svg);
}

/* ---- a scheme ---- */

/* The lines of a CSV of points, by scheme: [name, [line, ...]]. */
function byScheme(rows) {
    const found = new Map();
    for (const r of rows) found.set(r.scheme, [...(found.get(r.scheme) ?? []), r]);
    return [...found];
}

const colourOf = name => [...document.querySelectorAll("section.scheme h3")].findIndex(h => h.textContent === name);

/* A path around all lines of a region, for filling. */
function areaOf(rows) {
    return (X, Y) => rows.map((r, i) => (i && rows[i - 1].line === r.line ? "L" : "M") + X(+r.re) + " " + Y(+r.im)).join("");
}

const sayBelow = (box, words) => { box.closest("figure").querySelector("figcaption").textContent = words; };

function drawRegion(text, box = $("scheme-region"), words = "Region of stability: |R(z)| ≤ 1, z = hλ.") {
    const series = byScheme(readRows(text)).flatMap(([name, rows]) => {
        const lines = new Map();
        for (const r of rows) lines.set(r.line, [...(lines.get(r.line) ?? []), [+r.re, +r.im, r.edge === "yes"]]);
        const list = [...lines.values()].map(points => ({ points, colour: Math.max(colourOf(name), 0) }));
        if (list.length) Object.assign(list[0], { closed: true, area: areaOf(rows) });
        return list;
    });
    sayBelow(box, series.length ? words : "There is no region of stability around here.");
    chart(box, series, { x: "Re z", y: "Im z", equal: true, pad: text.includes(",yes\n") ? 0 : .06, label: words });
}

function drawOrder(text, box = $("scheme-order")) {
    const [points, summary] = text.split("\n\n"), rows = readRows(summary);
    const series = byScheme(readRows(points)).map(([name, list]) =>
        ({ points: list.map(r => [+r.h, +r.error]), colour: Math.max(colourOf(name), 0), dots: true }));
    const said = rows.map(r => (rows.length > 1 ? r.scheme + " " : "") + (r.measured ? `${(+r.measured).toFixed(3)} (${r.verdict})` : r.verdict));
    sayBelow(box, `Error by step on the system ${rows[0]?.system}; measured order ${said.join(", ")}.`);
    chart(box, series, { x: "h", y: "error", logX: true, logY: true, label: "Error by step" });
}

/* ---- the scheme that is typed ---- */

/* Nodes of the program's HTML. The policy of `serve` forbids styles in attributes, so they are set by name. */
function nodes(html) {
    const page = new DOMParser().parseFromString(html.replaceAll(' style="', ' data-style="'), "text/html");
    for (const e of page.querySelectorAll("[data-style]"))
        for (const [name, value] of e.dataset.style.split(";").map(s => s.split(":")))
            if (value) e.style.setProperty(name.trim(), value.trim());
    return [...page.body.childNodes].map(n => document.adoptNode(n));
}

/* Says what is wrong; where it is, a button leads there. */
function sayWrong(words) {
    const place = /^scheme:(\d+):(\d+): /.exec(words), area = $("scheme-text");
    area.setAttribute("aria-invalid", words ? "true" : "false");
    if (!place) return $("scheme-wrong").replaceChildren(words);
    const button = make("button", { type: "button" }, words);
    button.addEventListener("click", () => {
        const before = area.value.split("\n").slice(0, place[1] - 1).reduce((n, line) => n + line.length + 1, 0);
        area.focus();
        area.setSelectionRange(before + +place[2] - 1, before + +place[2]);
    });
    $("scheme-wrong").replaceChildren(button);
}

/* Follows what is typed. answer(part, text, signal) is what the program says, a promise; drawings: by part, what draws it in
 * the box scheme-PART. Returns what shows all anew. */
function typedScheme(answer, drawings) {
    const told = $("scheme-told"), drawn = {};
    let asked = new AbortController(), pause;

    /* Asks for a part and shows it; until then, and where it is refused, what stands there is marked as old. */
    async function tell(part, box, show, text) {
        const signal = asked.signal;
        try {
            const said = await answer(part, text, signal);
            if (signal.aborted) return false;
            drawn[part] = () => show(said);
            show(said);
            box.classList.remove("waiting");
            return true;
        } catch (e) {
            if (e.name === "AbortError") return false;
            if (part === "check") {
                sayWrong(e.message);
                told.querySelector("p.first")?.remove();
            } else box.closest("figure").querySelector("figcaption").textContent = e.message;
            return false;
        }
    }

    const showTold = html => {
        sayWrong("");
        told.replaceChildren(...nodes(html));
        told.querySelectorAll("section.scheme").forEach((s, i, all) => all.length > 1 && s.classList.add("marked", "c" + i % COLOURS));
    };
    async function showScheme() {
        const text = $("scheme-text").value;
        asked.abort();
        asked = new AbortController();
        if (!text.trim()) return;
        for (const box of [told, ...Object.keys(drawings).map(part => $("scheme-" + part))]) box.classList.add("waiting");
        if (!told.children.length) told.append(make("p", { class: "first" }, "The scheme is being read …"));
        if (!await tell("check", told, showTold, text)) return;
        for (const [part, show] of Object.entries(drawings)) tell(part, $("scheme-" + part), show, text);
    }
    $("scheme-text").addEventListener("input", () => { clearTimeout(pause); pause = setTimeout(showScheme, 300); });
    addEventListener("resize", () => Object.values(drawn).forEach(show => show()));
    return showScheme;
}
