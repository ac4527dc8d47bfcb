/* page.js: the page of `trotter serve`. It asks the server for HTML that is escaped there and for CSV, and draws SVG. */
"use strict";

const COLOURS = 8, POLL = 2000;
const $ = id => document.getElementById(id);
const visible = name => !$("view-" + name).hidden && document.visibilityState === "visible";

/* ---- asking ---- */

/* Asks for a resource. An answer in plain words, or none, is an error with these words. */
async function ask(name, fields = {}, signal, as = "text") {
    const query = Object.entries(fields).map(([k, v]) => k + "=" + encodeURIComponent(v)).join("&");
    const answer = await fetch(name + (query && "?" + query), { signal });
    if (answer.headers.get("Content-Type").startsWith("text/plain")) throw new Error(await answer.text());
    return answer[as]();
}

/* Reads a table from a byte on; the server sends a part at a time. A character is a byte. */
async function readFile(path, from) {
    let text = "";
    for (let part = " "; part && text.length < 1 << 24; text += part)
        part = new TextDecoder("latin1").decode(await ask("file", { path, from: from + text.length }, undefined, "arrayBuffer"));
    return text;
}

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

/* Nodes of the server's HTML. The policy forbids styles in attributes, so they are set by name. */
function nodes(html) {
    const page = new DOMParser().parseFromString(html.replaceAll(' style="', ' data-style="'), "text/html");
    for (const e of page.querySelectorAll("[data-style]"))
        for (const [name, value] of e.dataset.style.split(";").map(s => s.split(":")))
            if (value) e.style.setProperty(name.trim(), value.trim());
    return [...page.body.childNodes].map(n => document.adoptNode(n));
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

/* ---- the report ---- */

async function showReport() {
    const view = $("view-report");
    try {
        const page = await ask("report");
        view.replaceChildren(...nodes(page.slice(page.indexOf("<body>") + 6)));
    } catch (e) {
        view.replaceChildren(make("p", { class: "soft" }, e.message));
    }
}

/* ---- curves ---- */

const runs = new Map(); /* path -> { bytes, age, over, chosen, from, rest, names, train, valid } */
let polls = 0, next;

function takeLine(run, line) {
    if (!run.names) {
        run.names = line.split(",");
        return;
    }
    const cell = Object.fromEntries(line.split(",").map((v, i) => [run.names[i], v])), step = +cell.step;
    for (const list of [run.train, run.valid]) while (list.length && list[list.length - 1][0] >= step) list.pop();
    run.masked = cell.objective === "masked";
    if (cell.train_loss) run.train.push([step, Math.exp(cell.train_loss)]);
    if (cell.valid_ppl) run.valid.push([step, +cell.valid_ppl]);
}

async function readRun(path, run) {
    if (run.bytes < run.from) Object.assign(run, { from: 0, rest: "", names: undefined, train: [], valid: [] });
    if (run.bytes === run.from) return;
    const text = await readFile(path, run.from);
    run.from += text.length;
    const lines = (run.rest + text).split("\n");
    run.rest = lines.pop();
    lines.filter(Boolean).forEach(line => takeLine(run, line));
}

async function listRuns() {
    const rows = readRows(await ask("files")).filter(r => /(^|\/)log\.csv$/.test(r.path));
    for (const path of [...runs.keys()]) if (!rows.some(r => r.path === path)) runs.delete(path);
    for (const r of rows) {
        const run = runs.get(r.path) ?? { from: 0, rest: "", train: [], valid: [], chosen: false };
        runs.set(r.path, Object.assign(run, { bytes: +r.bytes, age: +r.age, over: r.over === "yes" }));
    }
    if (polls++ === 0)
        [...runs.values()].sort((a, b) => a.age - b.age).slice(0, 6).forEach(r => { r.chosen = true; });
}

const isLive = run => !run.over && run.age < 300;
const nameOf = path => path.replace(/\/?(log|runs)\.csv$/, "") || "this folder";

function runState(run) {
    const last = run.train[run.train.length - 1];
    return (run.over ? "done" : isLive(run) ? "in training" : "not over") + (last ? ", step " + last[0] : "");
}

function runItem(path, run, colour) {
    const tick = make("input", { type: "checkbox", "data-path": path });
    tick.checked = run.chosen;
    tick.addEventListener("change", () => { run.chosen = tick.checked; showCurves(); pollCurves(); });
    const least = run.valid.reduce((a, p) => Math.min(a, p[1]), Infinity);
    return make("li", { class: colour < 0 ? "" : "c" + colour % COLOURS },
                make("label", {}, tick, make("span", { class: "name" }, nameOf(path) + (run.masked ? " (pseudo-perplexity)" : "")),
                     make("span", { class: "value" }, Number.isFinite(least) ? least.toPrecision(4) : ""),
                     make("span", { class: "state" + (isLive(run) ? " live" : "") }, runState(run))));
}

function showCurves() {
    const words = $("curves-find").value.toLowerCase().split(/\s+/), series = [], items = [];
    const focused = document.activeElement?.dataset?.path;
    let colour = 0;
    for (const [path, run] of [...runs].sort((a, b) => a[1].age - b[1].age || (a[0] < b[0] ? -1 : 1))) {
        const mine = run.chosen ? colour++ : -1;
        if (words.every(w => path.toLowerCase().includes(w))) items.push(runItem(path, run, mine));
        if (mine >= 0) series.push({ points: run.train, colour: mine, thin: true }, { points: run.valid, colour: mine, dots: true });
    }
    $("curves-list").replaceChildren(...items);
    if (focused) document.querySelector(`[data-path="${CSS.escape(focused)}"]`)?.focus();
    const live = [...runs.values()].filter(isLive).length;
    const said = runs.size ? `${runs.size} training${runs.size > 1 ? "s" : ""}, ${live} running; ${colour} shown. The numbers are the least validation perplexities.`
                           : "No training has written a log.csv here yet.";
    if ($("curves-said").textContent !== said) $("curves-said").textContent = said;
    chart($("curves-chart"), series, { x: "step", y: "perplexity", logY: true, tall: 460, label: "Perplexity by step" });
}

async function pollCurves() {
    clearTimeout(next);
    if (!visible("curves")) return;
    try {
        await listRuns();
        for (const [path, run] of runs) if (run.chosen) await readRun(path, run);
        showCurves();
    } catch (e) {
        $("curves-said").textContent = "The server does not answer: " + e.message;
    }
    clearTimeout(next);
    next = setTimeout(pollCurves, POLL);
}

/* ---- tables of runs ---- */

const table = { names: [], rows: [], sort: -1, down: false };

/* Is a word of "Keep" met? name<number, name>number, name=text, or a text in some cell. */
function keeps(row, word) {
    const m = /^([^<>=]+)([<>=])(.+)$/.exec(word), at = m ? table.names.indexOf(m[1]) : -1;
    if (at < 0) return row.some(c => c.toLowerCase().includes(word.toLowerCase()));
    if (m[2] === "=") return row[at] === m[3] || (row[at] !== "" && +row[at] === +m[3]);
    return row[at] !== "" && (m[2] === "<" ? +row[at] < +m[3] : +row[at] > +m[3]);
}

function compareCells(a, b) {
    if (a === "" || b === "") return (a === "") - (b === "");
    return (table.down ? -1 : 1) * (Number.isFinite(+a) && Number.isFinite(+b) ? a - b : a < b ? -1 : a > b ? 1 : 0);
}

function sortBy(column) {
    table.down = table.sort === column && !table.down;
    table.sort = column;
    $("runs-sort").value = column;
    showRows();
}

/* Returns a function that writes the cells of a column: numbers with the same places, five digits of the largest. */
function writer(j) {
    const numbers = table.rows.map(r => r[j]).filter(c => c !== "").map(Number);
    if (numbers.every(Number.isInteger) || !numbers.every(Number.isFinite)) return c => c || "–";
    const sizes = numbers.map(Math.abs).filter(v => v > 0), most = sizes.reduce((a, b) => Math.max(a, b), 0);
    const places = Math.max(0, 4 - Math.floor(Math.log10(most))), least = sizes.reduce((a, b) => Math.min(a, b), Infinity);
    const even = places < 8 && least > 10 ** -places;
    return c => c === "" ? "–" : even ? (+c).toFixed(places) : String(+(+c).toPrecision(5));
}

function headCell(j) {
    const name = table.names[j], sorted = table.sort === j ? (table.down ? "descending" : "ascending") : undefined;
    const button = make("button", { type: "button", title: name });
    name.split(/(?<=_)/).forEach((part, i) => button.append(...(i ? [make("wbr"), part] : [part])));
    button.addEventListener("click", () => { sortBy(j); $("runs-rows").querySelectorAll("button")[shownColumns().indexOf(j)]?.focus(); });
    return make("th", { scope: "col", "aria-sort": sorted }, button);
}

/* The first columns, which name a run and have its main results, or all; none that is empty in every row. */
function shownColumns() {
    const full = [...table.names.keys()].filter(j => table.rows.some(r => r[j]));
    return $("runs-all").checked ? full : full.slice(0, 5);
}

function showRows() {
    const most = 400, words = $("runs-find").value.split(/\s+/).filter(Boolean), columns = shownColumns();
    const rows = table.rows.filter(r => words.every(w => keeps(r, w)));
    if (table.sort >= 0) rows.sort((a, b) => compareCells(a[table.sort], b[table.sort]));
    const write = new Map(columns.map(j => [j, writer(j)]));
    const body = rows.slice(0, most).map((r, i) => make("tr", i % 5 ? {} : { class: "new" }, ...columns.map((j, k) =>
        make(k ? "td" : "th", { "data-label": table.names[j], scope: k ? undefined : "row", class: k && Number.isFinite(+r[j]) ? "n" : undefined },
             write.get(j)(r[j])))));
    const chars = columns.map(j => 2 + Math.max(5, ...rows.slice(0, 40).map(r => write.get(j)(r[j]).length)));
    $("runs-rows").style.setProperty("--chars", chars.reduce((a, b) => a + b, 0));
    $("runs-rows").replaceChildren(make("thead", {}, make("tr", {}, ...columns.map(headCell))), make("tbody", {}, ...body));
    $("runs-said").textContent = `${rows.length} of ${table.rows.length} runs` + (rows.length > most ? `; the first ${most} are shown` : "") + ".";
}

async function openTable() {
    const path = $("runs-table").value;
    if (!path) return;
    try {
        const text = path === "trainings" ? await ask(path)
            : new TextDecoder().decode(Uint8Array.from(await readFile(path, 0), c => c.charCodeAt(0)));
        [table.names = [], ...table.rows] = readCsv(text);
        table.rows = table.rows.filter(r => r.length === table.names.length);
        if (table.path !== path) Object.assign(table, { path, sort: -1, down: false });
        $("runs-sort").replaceChildren(new Option("order of the file", -1), ...table.names.map((n, j) => new Option(n, j)));
        $("runs-sort").value = table.sort;
        showRows();
    } catch (e) {
        $("runs-said").textContent = e.message;
    }
}

async function showTables() {
    $("runs-said").textContent = "Looking for tables …";
    try {
        const before = $("runs-table").value;
        const files = readRows(await ask("files")), paths = files.map(r => r.path).filter(p => /(^|\/)runs\.csv$/.test(p));
        if (files.some(r => r.over === "yes" && /(^|\/)log\.csv$/.test(r.path))) paths.push("trainings");
        $("runs-table").replaceChildren(...paths.map(p => new Option(p === "trainings" ? "all trainings that have ended" : nameOf(p), p)));
        if (paths.includes(before)) $("runs-table").value = before;
        $("runs-said").textContent = paths.length ? "" : "No training has ended here yet, and no study has written a runs.csv.";
        await openTable();
    } catch (e) {
        $("runs-said").textContent = e.message;
    }
}

/* ---- a scheme ---- */

let asked = new AbortController(), pause, drawn = {};

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

function drawRegion(text) {
    const series = byScheme(readRows(text)).flatMap(([name, rows]) => {
        const lines = new Map();
        for (const r of rows) lines.set(r.line, [...(lines.get(r.line) ?? []), [+r.re, +r.im, r.edge === "yes"]]);
        const list = [...lines.values()].map(points => ({ points, colour: Math.max(colourOf(name), 0) }));
        if (list.length) Object.assign(list[0], { closed: true, area: areaOf(rows) });
        return list;
    });
    $("region-said").textContent = series.length ? "Region of stability: |R(z)| ≤ 1, z = hλ." : "There is no region of stability around here.";
    chart($("scheme-region"), series, { x: "Re z", y: "Im z", equal: true, pad: text.includes(",yes\n") ? 0 : .06, label: "Region of stability" });
}

function drawOrder(text) {
    const [points, summary] = text.split("\n\n"), rows = readRows(summary);
    const series = byScheme(readRows(points)).map(([name, list]) =>
        ({ points: list.map(r => [+r.h, +r.error]), colour: Math.max(colourOf(name), 0), dots: true }));
    const said = rows.map(r => (rows.length > 1 ? r.scheme + " " : "") + (r.measured ? `${(+r.measured).toFixed(3)} (${r.verdict})` : r.verdict));
    $("order-said").textContent = `Error by step on the system ${rows[0]?.system}; measured order ${said.join(", ")}.`;
    chart($("scheme-order"), series, { x: "h", y: "error", logX: true, logY: true, label: "Error by step" });
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

/* Asks for a part and shows it; until then, and where it is refused, what stands there is marked as old. */
async function tell(name, box, show, text, signal) {
    try {
        const answer = await ask(name, { text }, signal);
        drawn[name] = () => show(answer);
        show(answer);
        box.classList.remove("waiting");
        return true;
    } catch (e) {
        if (e.name === "AbortError") return false;
        if (name === "check") sayWrong(e.message);
        else box.closest("figure").querySelector("figcaption").textContent = e.message;
        return false;
    }
}

async function showScheme() {
    const text = $("scheme-text").value;
    asked.abort();
    asked = new AbortController();
    if (!text.trim()) return;
    const signal = asked.signal, told = $("scheme-told");
    const show = html => {
        sayWrong("");
        told.replaceChildren(...nodes(html));
        told.querySelectorAll("section.scheme").forEach((s, i, all) => all.length > 1 && s.classList.add("marked", "c" + i % COLOURS));
    };
    for (const box of [told, $("scheme-region"), $("scheme-order")]) box.classList.add("waiting");
    if (!await tell("check", told, show, text, signal)) return;
    tell("region", $("scheme-region"), drawRegion, text, signal);
    tell("order", $("scheme-order"), drawOrder, text, signal);
}

/* ---- views ---- */

const views = { report: showReport, curves: pollCurves, runs: showTables, scheme: showScheme };

function showView() {
    const name = location.hash.slice(1) || "report";
    if (!views[name]) return; /* a place in the report */
    for (const v of Object.keys(views)) $("view-" + v).hidden = v !== name;
    for (const a of document.querySelectorAll(".views a"))
        a.hash === "#" + name ? a.setAttribute("aria-current", "page") : a.removeAttribute("aria-current");
    document.title = name[0].toUpperCase() + name.slice(1) + " – trotter";
    views[name]();
}

addEventListener("hashchange", showView);
addEventListener("visibilitychange", pollCurves);
addEventListener("resize", () => {
    if (visible("curves")) showCurves();
    if (visible("scheme")) for (const name of ["region", "order"]) drawn[name]?.();
});
$("curves-find").addEventListener("input", showCurves);
$("runs-table").addEventListener("change", openTable);
$("runs-find").addEventListener("input", showRows);
$("runs-all").addEventListener("change", showRows);
$("runs-sort").addEventListener("change", () => { table.sort = -2; sortBy(+$("runs-sort").value); });
$("scheme-text").addEventListener("input", () => { clearTimeout(pause); pause = setTimeout(showScheme, 300); });
for (const form of document.forms) form.addEventListener("submit", e => e.preventDefault());
showView();
