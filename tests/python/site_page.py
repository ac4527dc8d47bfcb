"""site_page.py PAGE TYPED ZOO: types schemes into PAGE, a file that `make site` wrote, in headless Chromium, without a server, and
compares what it tells with what the program TYPED prints; then schemes of the file ZOO, one of ten, or all where
TROTTER_SITE_ALL is set. Ends with 1 and words where something is not as it should be."""
import json
import os
import re
import subprocess
import sys
import time

from browser import Browser

RK4 = """scheme rk4
k1 = H(y)
k2 = H(y + 1/2*k1)
k3 = H(y + 1/2*k2)
k4 = H(y + k3)
y' = y + 1/6*k1 + 1/3*k2 + 1/3*k3 + 1/6*k4
"""
SCHEMES = {
    "rk4": (RK4, "4"),
    "a wrong one": (RK4.replace("1/2*k2", "1/3*k2"), "1"),
    "a splitting": ("scheme strang\nflow 1/2 F\nflow G\nflow 1/2 F\n", "2"),
    "a tableau": ('{"name": "heun", "A": [[0, 0], [1, 0]], "b": ["1/2", "1/2"], "order": 2}', "2"),
}
REFUSED = {"a name that is not there": "scheme x\nk1 = H(y)\ny' = y + k9\n", "no scheme": "y' = y\n", "too long a number": "scheme x\nk1 = H(y)\ny' = y + 1" + "0" * 5000 + "*k1\n"}


def program(typed, part, text):
    """Returns what the program prints, and its words where it refuses."""
    p = subprocess.run([typed, part], input=text.encode(), capture_output=True, check=False)
    return (p.stdout.decode(), None) if p.returncode == 0 else (None, p.stderr.decode().rstrip("\n"))


def put(b, text):
    b.value("document.querySelector('#scheme-text').focus(), document.querySelector('#scheme-text').select()")
    b.call("Input.insertText", text=text)


def page(b, part, text):
    """Returns what the page's worker tells, as `program`."""
    return tuple(b.value(f"askWorker({json.dumps(part)}, {json.dumps(text)}).then(told => [told, null], e => [null, e.message])"))


def compare(b, typed, file):
    """Compares what is told of schemes of the file, and says how long the slowest took."""
    slowest, differ = (0, ""), []
    with open(file, encoding="utf-8") as f:
        zoo = [s for s in re.split(r"(?m)^(?=scheme )", f.read()) if s.startswith("scheme ")]
    chosen = zoo if os.environ.get("TROTTER_SITE_ALL") else zoo[::10]
    for text in chosen:
        name = text.split()[1]
        for part in ("check", "region", "star"):
            begin = time.time()
            said = page(b, part, text)
            slowest = max(slowest, (time.time() - begin, f"{name}'s {part}"))
            if said != program(typed, part, text):
                differ.append(f"{name}'s {part}")
    print(f"{len(chosen)} of {len(zoo)} schemes; the slowest answer, {slowest[1]}, after {slowest[0]:.2f} s; different: {len(differ)}")
    if differ:
        sys.exit("not as the program prints it: " + ", ".join(differ))


def main():
    where, typed, zoo = sys.argv[1:]
    b = Browser()
    b.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    b.call("Page.navigate", url="file://" + where)
    b.wait("document.readyState === 'complete'", "the page does not come")
    b.wait("document.querySelector('.order')?.textContent === '2'", "the scheme that stands there is not told of")
    told = "document.querySelector('#scheme-told').innerHTML === nodes(%s).map(n => n.outerHTML ?? n.textContent).join('')"
    for name, (text, order) in SCHEMES.items():
        for part in ("check", "region", "star"):
            if page(b, part, text) != program(typed, part, text):
                sys.exit(f"{name}: {part} differs: {page(b, part, text)}, {program(typed, part, text)}")
        html = program(typed, "check", text)[0]
        put(b, text)
        b.wait(told % json.dumps(html), f"{name}: the page does not show what the program prints")
        b.wait(f"document.querySelector('.order').textContent === '{order}'", f"{name} is not of order {order}")
        b.wait("document.querySelectorAll('.waiting').length === 0", f"{name}: pictures look old")
        if not b.value("document.querySelectorAll('#scheme-region path').length && document.querySelectorAll('#scheme-star path').length"):
            sys.exit(f"{name}: no region, or no star")
    for name, text in REFUSED.items():
        words = program(typed, "check", text)[1]
        put(b, text)
        b.wait(f"document.querySelector('#scheme-wrong').textContent === {json.dumps(words)}", f"{name}: not refused by '{words}'")
    # what takes too long, and what is not asked any more, ends
    slow = "askWorker('check', %s, stop.signal).catch(e => e.name)" % json.dumps(SCHEMES["rk4"][0])
    if b.value(f"stop = new AbortController(), said = {slow}, stop.abort(), said") != "AbortError":
        sys.exit("an answer that nobody waits for is given")
    compare(b, typed, zoo)
    # controls: a byte less, an order that is not
    if b.value(told % json.dumps(html[:-1])) or page(b, "check", RK4) == program(typed, "check", SCHEMES["a wrong one"][0]):
        sys.exit("a difference is not seen")
    if b.said:
        sys.exit("the console has: " + "\n".join(b.said))
    b.process.kill()
    b.process.wait()


main()
