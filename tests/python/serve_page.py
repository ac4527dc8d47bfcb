"""serve_page.py ADDRESS LOG [FOLDER]: the page of `trotter serve` in headless Chromium, by keyboard, at 390 and 1280 pixels, dark
and light. The training of LOG, a
log.csv, goes on meanwhile. Ends with 1 and words where something is not as it should be; pictures go to FOLDER."""
import os
import sys
import time

from browser import Browser


def fits(b, where):
    wide = b.value("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if wide > 0:
        sys.exit(f"{where} is {wide} pixels too wide")


def look(b, address, width, scheme, folder):
    b.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
    b.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    b.call("Page.navigate", url="about:blank")
    b.call("Page.navigate", url=address)
    ready = {"report": "document.querySelector('#view-report section')",
             "curves": "document.querySelectorAll('#curves-chart path').length > 1",
             "runs": "document.querySelectorAll('#runs-rows tbody tr').length > 1",
             "scheme": "document.querySelectorAll('#scheme-order path').length && document.querySelectorAll('#scheme-region path').length"}
    b.wait("document.readyState === 'complete'", "the page does not come")
    for name, there in ready.items():
        b.value("document.activeElement.blur()")
        b.tab_to(f".views a[href='#{name}']", name)
        b.key("Enter", 13, "\r")
        b.wait(f"Boolean({there})", f"{name} is not shown")
        time.sleep(.3)
        fits(b, f"{name} at {width} pixels")
        if folder:
            b.picture(os.path.join(folder, f"{name}-{width}-{scheme}.png"))


def choose_runs(b, log):
    """Takes a run from the curves and puts it back, and waits for one that grows."""
    paths = "document.querySelectorAll('#curves-chart path').length"
    b.value("location.hash = 'curves'")
    b.wait(f"{paths} > 1", "no curves")
    before = b.value(paths)
    b.tab_to("#curves-list input", "a run")
    b.key(" ", 32, " ")
    b.wait(f"{paths} < {before}", "a run does not go")
    b.key(" ", 32, " ", between="showCurves()")  # the list is told anew while the key is down
    b.wait(f"{paths} === {before}", "a run does not come back")
    points = b.value("document.querySelectorAll('#curves-chart circle').length")
    with open(log, encoding="utf-8") as f:
        step = int(f.read().strip().split("\n")[-1].split(",")[0]) + 10
    with open(log, "a", encoding="utf-8") as f:
        f.write(f"{step},1,9999,2.5,31.5,0.1,1,9\n")
    b.wait(f"document.querySelector('#curves-list').textContent.includes('in training, step {step}')", "no curve grows")
    b.wait(f"document.querySelectorAll('#curves-chart circle').length === {points + 1}", "its point is not drawn")


def filter_and_sort(b):
    b.value("new Promise(done => { addEventListener('hashchange', done, {once: true}); location.hash = 'runs'; })")
    b.wait("document.querySelector('#runs-said').textContent === '2 of 2 runs.'", "not two runs")
    b.tab_to("#runs-find", "the filter")
    b.call("Input.insertText", text="valid_ppl<33 seed=1")
    b.wait("document.querySelector('#runs-said').textContent === '1 of 2 runs.'", "runs are not filtered")
    b.value("document.querySelector('#runs-find').select()")
    b.call("Input.insertText", text=" ")
    b.tab_to("#runs-sort", "the order")
    first = "document.querySelector('#runs-rows tbody th').textContent"
    b.value("document.querySelector('#runs-sort').value = 3, document.querySelector('#runs-sort').dispatchEvent(new Event('change'))")
    b.wait(f"{first} === '<script>alert(1)</script>'", "runs are not sorted")
    if b.value("document.querySelector('#runs-rows thead').offsetHeight") > 0:
        b.tab_to("#runs-rows [aria-sort] button", "the head of the column")
        b.key("Enter", 13, "\r")
        b.wait(f"{first} === 'euler'", "runs are not sorted the other way round")
    b.value("location.hash = 'scheme'")


def type_scheme(b):
    """Types a scheme; reads its order, then an error and where it is."""
    b.tab_to("#scheme-text", "the text")
    b.call("Input.dispatchKeyEvent", type="keyDown", key="a", code="KeyA", modifiers=2, windowsVirtualKeyCode=65, commands=["selectAll"])
    text = "scheme third\nk1 = H(y)\nk2 = H(y + 1/3*k1)\nk3 = H(y + 2/3*k2)\ny' = y + 1/4*k1 + 3/4*k3\n"
    b.call("Input.insertText", text=text)
    b.wait("document.querySelector('.order')?.textContent === '3'", "the typed scheme has no order 3")
    b.wait("Boolean(document.querySelector('#scheme-told math'))", "no leading term is typeset")
    b.wait("/measured order (3.0|2.9)/.test(document.querySelector('#order-said').textContent)", "no order was measured")
    old = "[...document.querySelectorAll('#scheme-told, #scheme-region, #scheme-order')].filter(e => e.classList.contains('waiting')).length"
    b.wait(old + " === 0", "what is told of the scheme looks old")
    b.call("Input.insertText", text="k9")
    b.wait(old + " === 3", "pictures of the scheme before are in full colour beside one that is refused")
    b.wait("/^scheme:6:3: /.test(document.querySelector('#scheme-wrong').textContent)", "no error is told")
    b.tab_to("#scheme-wrong button", "the error")
    b.key("Enter", 13, "\r")
    if b.value("document.activeElement.id") != "scheme-text":
        sys.exit("the error does not lead to its place")


def main():
    address, log, folder = sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None
    b = Browser()
    for width in (1280, 390):
        for scheme in ("light", "dark"):
            look(b, address, width, scheme, folder)
        choose_runs(b, log)
        filter_and_sort(b)
        type_scheme(b)
    if b.said:
        sys.exit("the console has: " + "\n".join(b.said))
    # controls: a stranger's script does not run and is told, a wide page is seen
    b.value("document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 1'}))")
    time.sleep(.2)
    if b.value("window.ran") or not b.said:
        sys.exit("a script in the page runs, or the console's words are not heard")
    b.value("document.body.append(Object.assign(document.createElement('div'), {id: 'wide'}));"
            "document.getElementById('wide').style.width = '4000px'; document.getElementById('wide').textContent = 'w'")
    if b.value("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0:
        sys.exit("a page that is too wide is not seen")
    b.process.kill()
    b.process.wait()


main()
