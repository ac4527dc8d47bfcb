/* site.js: draws the charts of a method's page, sorts and filters the index, and has a scheme told of that is typed. */
"use strict";

/* ---- charts: the CSV beside each stands in the page ---- */

function drawWork(text, box) {
    const series = byScheme(readRows(text)).map(([name, rows], colour) =>
        ({ name, colour, dots: true, points: rows.filter(r => r.outcome === "done").map(r => [+r.evals, +r.error]) }));
    box.previousElementSibling?.remove();
    box.before(make("div", { class: "key" }, ...series.map(s => make("span", { class: "c" + s.colour % COLOURS }, s.name))));
    sayBelow(box, "Error at the end by evaluations of F and G, for tolerances from 1e-3 to 1e-10, on the system attention; gsl: the GNU Scientific Library.");
    chart(box, series, { x: "evaluations", y: "error", logX: true, logY: true, label: "Error by evaluations" });
}

const drawings = {
    region: drawRegion, order: drawOrder, work: drawWork,
    star: (text, box = $("scheme-star")) => drawRegion(text, box, "Order star: it is where |R(z) e^−z| > 1, the part without shade.")
};
function drawAll() {
    for (const f of document.querySelectorAll("figure[data-draw]"))
        drawings[f.dataset.draw](f.querySelector("script").textContent.trim() + "\n", f.querySelector(".chart"));
}

/* ---- the index ---- */

/* Does a row have the word, or a column the value: order>4? */
function hasWord(row, names, word) {
    const m = /^([a-z²]+)([<>=])(.+)$/.exec(word), at = m ? names.findIndex(n => n.startsWith(m[1])) : -1;
    if (at < 0) return row.textContent.toLowerCase().includes(word);
    const value = row.cells[at].dataset.value ?? row.cells[at].textContent, a = parseFloat(value.replace("inf", "Infinity")), b = parseFloat(m[3]);
    return m[2] === "=" ? value === m[3] : m[2] === "<" ? a < b : a > b;
}

function showIndex(table) {
    const heads = [...table.tHead.rows[0].cells], rows = [...table.tBodies[0].rows], names = heads.map(h => h.textContent);
    const valueOf = (row, j) => row.cells[j].dataset.value ?? row.cells[j].textContent;
    const keep = () => {
        const words = $("index-find").value.toLowerCase().split(/\s+/).filter(Boolean);
        for (const r of rows) r.hidden = !words.every(w => hasWord(r, names, w));
        $("index-said").textContent = `${rows.filter(r => !r.hidden).length} of ${rows.length} methods`;
    };
    heads.forEach((head, j) => head.firstChild.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        const number = v => v === "" ? NaN : parseFloat(v.replace("inf", "Infinity"));
        const order = (a, b) => { const x = number(a), y = number(b); return isNaN(x) && isNaN(y) ? (a < b ? -1 : a > b ? 1 : 0) * down : isNaN(x) ? 1 : isNaN(y) ? -1 : (x - y) * down; };
        rows.sort((a, b) => order(valueOf(a, j), valueOf(b, j)));
        for (const h of heads) h.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down > 0 ? "ascending" : "descending");
        table.tBodies[0].append(...rows);
    }));
    $("index-find").addEventListener("input", keep);
    keep();
}

/* ---- the scheme that is typed, told of by the program's own code (wasm.sh) ---- */

const PATIENCE = 20; /* seconds that one part of an answer may take */
const here = { worker: null, waiting: [] };

/* What the worker does; TYPED, which stands before it there, defines typedModule. */
function inWorker() {
    const module = typedModule();
    onmessage = async ({ data }) => {
        try {
            const m = await module, told = m.ccall("typed_tell", "number", ["string", "string"], data);
            postMessage(told ? { told: m.UTF8ToString(told) } : { wrong: m.ccall("error_text", "string") });
            m._memory_free(told);
        } catch (e) {
            postMessage({ broken: e.message });
        }
    };
}

function endWorker(error) {
    here.worker?.terminate();
    here.worker = null;
    for (const w of here.waiting.splice(0)) w.settle(null, error);
}

/* A worker answers in the order in which it is asked. One that is not waited for any more, or for too long, is ended. */
function askWorker(part, text, signal) {
    if (!here.worker) {
        here.worker = new Worker(URL.createObjectURL(new Blob([TYPED, `\n(${inWorker})();`], { type: "text/javascript" })));
        here.worker.onerror = e => endWorker(new Error(e.message));
        here.worker.onmessage = ({ data }) => {
            if (data.broken !== undefined) endWorker(new Error(`The program ended: ${data.broken}.`));
            else here.waiting.shift().settle(data.told, data.wrong && new Error(data.wrong));
        };
    }
    here.worker.postMessage([part, text]);
    return new Promise((resolve, reject) => {
        const stop = () => endWorker(new DOMException("not asked any more", "AbortError"));
        const late = setTimeout(() => endWorker(new Error(`Not told within ${PATIENCE} seconds: the program itself waits longer (trotter schemes --scheme-file FILE).`)), 1000 * PATIENCE);
        signal?.addEventListener("abort", stop);
        here.waiting.push({ settle: (told, error) => {
            clearTimeout(late);
            signal?.removeEventListener("abort", stop);
            if (error) reject(error); else resolve(told);
        } });
    });
}

for (const form of document.forms) form.addEventListener("submit", e => e.preventDefault());
drawAll();
addEventListener("resize", drawAll);
if ($("index")) showIndex($("index"));
if ($("scheme-text") && typeof TYPED === "string") typedScheme(askWorker, { region: drawRegion, star: drawings.star })();
