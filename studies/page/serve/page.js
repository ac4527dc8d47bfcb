/* page.js: the page of `trotter serve`. It asks the server for HTML that is escaped there and for CSV; scheme.js draws. */
"use strict";

const POLL = 2000;
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

/* A run's entry is made once and then kept: what is pressed stays where it is while the numbers change. */
function runItem(path, run, colour) {
    if (!run.item) {
        const tick = make("input", { type: "checkbox", "data-path": path });
        tick.addEventListener("change", () => { run.chosen = tick.checked; showCurves(); pollCurves(); });
        const name = nameOf(path), parts = [make("span", { class: "name" }), make("span", { class: "value" }), make("span", {})];
        run.item = { li: make("li", {}, make("label", {}, tick, ...parts)), tick, name, parts };
    }
    const { li, tick, name, parts } = run.item, least = run.valid.reduce((a, p) => Math.min(a, p[1]), Infinity);
    tick.checked = run.chosen;
    li.className = colour < 0 ? "" : "c" + colour % COLOURS;
    parts[2].className = "state" + (isLive(run) ? " live" : "");
    const says = [name + (run.masked ? " (pseudo-perplexity)" : ""), Number.isFinite(least) ? least.toPrecision(4) : "", runState(run)];
    parts.forEach((part, i) => { if (part.textContent !== says[i]) part.textContent = says[i]; });
    return li;
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
    const list = $("curves-list");
    if (items.length !== list.children.length || items.some((item, i) => item !== list.children[i])) list.replaceChildren(...items);
    if (focused && document.activeElement?.dataset?.path !== focused) document.querySelector(`[data-path="${CSS.escape(focused)}"]`)?.focus();
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

/* ---- the scheme that is typed ---- */

const showScheme = typedScheme((part, text, signal) => ask(part, { text }, signal), { region: drawRegion, order: drawOrder });

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
addEventListener("resize", () => { if (visible("curves")) showCurves(); });
$("curves-find").addEventListener("input", showCurves);
$("runs-table").addEventListener("change", openTable);
$("runs-find").addEventListener("input", showRows);
$("runs-all").addEventListener("change", showRows);
$("runs-sort").addEventListener("change", () => { table.sort = -2; sortBy(+$("runs-sort").value); });
for (const form of document.forms) form.addEventListener("submit", e => e.preventDefault());
showView();
