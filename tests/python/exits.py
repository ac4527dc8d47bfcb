"""exits.py: a Python that ends, forks or is interrupted while the library runs; test_library runs it.

    exits.py MODEL        each case in an interpreter of its own, which has to end as told
"""
import faulthandler
import glob
import os
import signal
import subprocess
import sys
import threading

import trotter


within = threading.Event()  # the library has called a field


def slow():
    """A computation of minutes in a field of Python."""
    def F(t, y):
        within.set()
        return [-x for x in y]

    trotter.solve(F, (0, 100), [1.0], "rk4", h=1e-6)


def busy():
    """The same without a line of Python in it. A system without products: OpenBLAS frees its memory at exit, whoever reads it."""
    trotter.reference(trotter.System("kuramoto", particles=3000), 50)


def behind(job):
    """The interpreter ends while a thread that nobody waits for is in the library. What says nothing has half a second to get there."""
    threading.Thread(target=job, daemon=True).start()
    within.wait(None if job is slow else 0.5)


def interrupted(model):
    """Ctrl-C reaches the caller as in any Python; started in the background of a script, Python ignores it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=lambda: within.wait() and os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        slow()
    except KeyboardInterrupt:
        print("interrupted")


def forked(model):
    """A child has the model of its parent."""
    m = trotter.load(model)
    z = list(map(float, m.logits([0, 1, 2])[2]))
    child = os.fork()
    if child == 0:
        os._exit(0 if max(abs(a - b) for a, b in zip(m.logits([0, 1, 2])[2], z)) < 1e-9 else 1)
    assert os.waitpid(child, 0)[1] == 0


cases = {"thread": (lambda model: behind(slow), ""), "inside": (lambda model: behind(busy), ""),
         "interrupted": (interrupted, "interrupted\n"), "forked": (forked, "")}


def run(name, seconds=300):
    """Returns the status, stdout and stderr of a case; one that does not end tells where its threads stand."""
    child = subprocess.Popen([sys.executable, __file__, sys.argv[1], name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        said = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        threads = [f"{t}: {open(t).read().strip()}" for w in ("wchan", "syscall", "stat") for t in glob.glob(f"/proc/{child.pid}/task/*/{w}")]
        child.kill()
        sys.exit("\n".join([f"{name}: no end in {seconds} s", *child.communicate(), *threads]))
    return (child.returncode, *said)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        faulthandler.dump_traceback_later(280)
        cases[sys.argv[2]][0](sys.argv[1])
        sys.exit(0)
    for name, (_, said) in cases.items():
        got = run(name)
        assert got == (0, said, ""), (name, got)
