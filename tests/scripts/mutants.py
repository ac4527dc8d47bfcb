#!/usr/bin/env python3
"""mutants.py SEED COUNT ROOM...: how many faults in the code the tests see (DeMillo, Lipton and Sayward, 1978).

A mutant is the program with one place of one source changed. COUNT of them are drawn by SEED from all places of the rooms
(folders of sources) that one of these rows describes:

    operator   + - * / < <= > >= == != && || += -= ++ -- become another of their kind
    constant   0 becomes 1, 1 becomes 0, another n becomes n + 1, a decimal x becomes 2x
    condition  if (c) and while (c) become if (!(c)) and while (!(c)); !c becomes c
    statement  a call or an assignment of one line is left out
    arguments  the first two arguments of a call change places

A mutant that does not compile, or to the bytes of the original, is none, and another is drawn. Each is given to the tests
that execute its line, the quickest first, until one fails, or takes 5 times as long as it does and 5 s more: the mutant is
killed. A constant of a table belongs to no line, so all tests of its file run. What no test executes survives.

A mutant takes the time of one compilation, and nothing is linked again: the objects of build/release become one shared
library, liball.so, in build/mutants, and in front of it every program looks for functions in libmutant.so, which has those of
the changed source alone. Which test executes which line (gcov) is found once for a build and kept: it takes as long as
`make check`. Two controls come first: the source unchanged must survive, and one that ends every program must be killed.

build/mutants/mutants.csv has a row for each mutant; the score ends the output, with its 95 % interval (Wilson, 1927).
"""
import collections, csv, glob, hashlib, json, math, os, random, re, resource, shutil, subprocess, sys, threading, time

HOME = os.path.abspath('build/mutants')
JOBS = int(os.environ.get('JOBS', os.cpu_count()))
COMPILE = [os.environ.get('CC', 'gcc'), '-std=c17', '-D_GNU_SOURCE', '-I.', '-w', '-Wno-psabi', '-O1', '-fPIC', '-fopenmp', '-fno-math-errno',
           '-fno-trapping-math']
SHARED = ['-shared', '-Wl,-soname,libmutant.so']
ENDS = '\n__attribute__((constructor)) static void ends(void) { __builtin_trap(); }\n'
OTHER = {'+': '-', '-': '+', '*': '/', '/': '*', '<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '==',
         '&&': '||', '||': '&&', '+=': '-=', '-=': '+=', '++': '--', '--': '++'}
SPACED = r'(?<= )(?:[-+*/<>]|<=|>=|==|!=|&&|\|\||\+=|-=)(?= )'  # the format has spaces around binary operators alone
NAME = r'[A-Za-z_]\w*(?:(?:->|\.)\w+|\[\w+\])*'
JUMP = r'return|break|continue|goto|case|default|else|do|typedef|extern|static|enum|struct'
STATEMENT = rf'(?<=\n)( +)(?!(?:{JUMP})\b)(?:{NAME}\([^\n]*\)|{NAME} (?:[-+*/|&]?=|<<=)[^\n]*|{NAME}(?:\+\+|--));(?=\n)'


def blank(text):
    """The text, where comments, strings, characters and lines of the preprocessor are blanks."""
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*'
    return re.sub(pattern, lambda m: re.sub(r'[^\n]', ' ', m.group()), text, flags=re.S | re.M)


def closing(text, at):
    """Where the bracket that opens at `at` closes."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == '(') - (text[i] == ')')
        if depth == 0:
            return i
    return -1


def places(text):
    """All (kind, begin, end, new text) of a source."""
    code, found = blank(text), []
    for m in re.finditer(SPACED + r'|\+\+|--', code):
        found.append(('operator', m.start(), m.end(), OTHER[m.group()]))
    for m in re.finditer(r'(?<![\w.])(\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?![\w.])', code):
        number, size = m.group(), code[m.start() - 1] + code[m.end()] == '[]'
        new = {'0': '1', '1': '0'}.get(number) or (str(int(number) + 1) if number.isdigit() else f'(2 * {number})')
        if not size or number in '0123':  # a larger array is no fault
            found.append(('constant', m.start(), m.end(), new))
    for m in re.finditer(r'\b(?:if|while) (?=\()', code):
        end = closing(code, m.end())
        if end > 0:
            found.append(('condition', m.end(), end + 1, f'(!{text[m.end():end + 1]})'))
    for m in re.finditer(r'!(?=[A-Za-z_(])', code):
        found.append(('condition', m.start(), m.end(), ''))
    for m in re.finditer(STATEMENT, code):
        found.append(('statement', m.end(1), m.end() - 1, '(void)0'))
    for m in re.finditer(rf'\w\(({NAME}|\d+), ({NAME}|\d+)(?=[,)])', code):
        if m.group(1) != m.group(2):
            found.append(('arguments', m.start(1), m.end(2), f'{m.group(2)}, {m.group(1)}'))
    return found


def quiet(*command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def build():
    """Links the tests and the program of build/release again in build/mutants, where they are others; returns the tests."""
    programs = [f[:-2] for f in sorted(glob.glob('tests/*/test_*.c')) if not re.match(r'tests/(cuda|faults|library|scripts)/', f)]
    release = ['build/release/libstudies.a', 'build/release/libtrotter.a']
    inputs = release + sorted(glob.glob('build/release/tests/*/*.o'))
    mark = HOME + '/of-' + hashlib.sha256(b''.join(open(f, 'rb').read() for f in inputs)).hexdigest()[:16]
    if not os.path.exists(mark):
        shutil.rmtree(HOME, ignore_errors=True)
        subprocess.run(['cp', '-al', 'build/release', HOME], check=True)
        for folder, _, names in os.walk(HOME):
            for name in names:
                if not name.endswith('.o') and name != 'found':
                    os.remove(f'{folder}/{name}')
        # What runs before all libraries (studies/base/process/start.c) cannot be in one.
        early = glob.glob('build/release/studies/base/process/start.o')
        for a in release:
            shutil.copy(a, HOME)
        subprocess.run(['ar', 'd', HOME + '/libstudies.a', 'start.o'], check=True)
        subprocess.run(['ar', 'rcs', HOME + '/libearly.a', *early], check=True)
        subprocess.run(['gcc', '-shared', '-o', HOME + '/liball.so', '-Wl,-soname,liball.so', '-Wl,--whole-archive',
                        HOME + '/libstudies.a', HOME + '/libtrotter.a', '-Wl,--no-whole-archive'], check=True)
        subprocess.run([*COMPILE, *SHARED, '-x', 'c', '/dev/null', '-o', HOME + '/libmutant.so'], check=True)
        for a in release:
            with open(f'{HOME}/{os.path.basename(a)}', 'w') as f:
                f.write(f'INPUT({HOME}/libmutant.so {HOME}/liball.so {HOME}/libearly.a)\n')
        subprocess.run(['make', '-s', '-k', '-j', str(JOBS), 'FLAVOUR=mutants', 'NO_DEPS=1', 'build/mutants/trotter',
                        *[f'build/mutants/{p}' for p in programs]], stdout=subprocess.DEVNULL,
                       env=dict(os.environ, LDFLAGS='-Wl,--no-as-needed'))
        open(mark, 'w').close()
    return [p for p in programs if os.path.exists(f'build/mutants/{p}')]


def environment(worker, **more):
    """Where a worker's programs find its libmutant.so, before the one without a function, and write their files."""
    os.makedirs(worker + '/tmp', exist_ok=True)
    return dict(os.environ, LD_LIBRARY_PATH=f'{worker}:{HOME}', TMPDIR=worker + '/tmp', TROTTER=HOME + '/trotter',
                OMP_WAIT_POLICY='passive', OMP_NUM_THREADS='2', **more)


def bounded():
    """No mutant fills the memory or the disk."""
    resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def passes(test, worker, limit, **more):
    """Runs a test, PROGRAM:NAME (an empty name: all of them); whether it passes, and its seconds."""
    program, name = test.split(':')
    begin = time.time()
    if name:
        more['CMOCKA_FILTER'] = name
    process = subprocess.Popen([f'build/mutants/{program}'], env=environment(worker, **more), start_new_session=True,
                               preexec_fn=bounded, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        passed = process.wait(limit) == 0
    except subprocess.TimeoutExpired:
        passed = False
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        pass
    process.wait()
    shutil.rmtree(worker + '/tmp', ignore_errors=True)
    return passed, time.time() - begin


def together(work):
    """Calls work(folder) in as many threads as there are cores, each with a folder of its own."""
    threads = []
    for i in range(JOBS):
        worker = f'{HOME}/worker{i}'
        shutil.rmtree(worker, ignore_errors=True)
        os.makedirs(worker)
        threads.append(threading.Thread(target=work, args=(worker,)))
        threads[-1].start()
    for t in threads:
        t.join()


def tests_in(program):
    """Its tests. Of a program that makes some as it runs no names are known: it is one."""
    text = open(program + '.c').read()
    names = re.findall(r'^TEST(?:_BETWEEN|_ADD)?\((\w+)', text, flags=re.M)
    return [''] if 'test_add(' in text or not names else names


def say(words, now_and_then):
    """Tells how far it is: on a terminal in one line that changes, elsewhere now and then in a line of its own."""
    if sys.stderr.isatty():
        print('\r' + words, end='' if words else '\n', file=sys.stderr, flush=True)
    elif words and now_and_then:
        print(words, file=sys.stderr, flush=True)


def reached(programs, rooms):
    """{'lines': {file: {line: tests}}, 'seconds': {test: seconds}}, kept in map.json and made longer by rooms that it lacks."""
    kept, lock = HOME + '/map.json', threading.Lock()
    found = json.load(open(kept)) if os.path.exists(kept) else {'rooms': [], 'lines': {}, 'seconds': {}}
    lacking = [r for r in rooms if r not in found['rooms']]
    files = [f for r in lacking for f in sorted(glob.glob(r + '/*.c'))]
    if not lacking:
        return found
    cover = HOME + '/cover'
    shutil.rmtree(cover, ignore_errors=True)
    os.makedirs(cover)
    objects = [f"{cover}/{f[:-2].replace('/', '+')}.o" for f in files]
    for f, o in zip(files, objects):
        subprocess.run([*COMPILE, '--coverage', '-c', f, '-o', o], check=True)
    subprocess.run(['gcc', '--coverage', '-fopenmp', *SHARED, *objects, '-o', cover + '/libmutant.so'], check=True)
    waiting = [f'{p}:{t}' for p in programs for t in tests_in(p)]
    total = len(waiting)

    def work(worker):
        os.symlink(cover + '/libmutant.so', worker + '/libmutant.so')
        for o in objects:
            os.symlink(o[:-2] + '.gcno', f'{worker}/{os.path.basename(o)[:-2]}.gcno')
        while True:
            with lock:
                if not waiting:
                    return
                test = waiting.pop(0)
                say(f'lines of tests: {total - len(waiting)} of {total}', (total - len(waiting)) % 100 == 0)
            passed, seconds = passes(test, worker, 600, GCOV_PREFIX=worker, GCOV_PREFIX_STRIP='99')
            counts = glob.glob(worker + '/*.gcda')
            text = subprocess.run(['gcov', '--json-format', '--stdout', *counts], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL).stdout.decode() if counts and passed else ''
            for c in counts:
                os.remove(c)
            with lock:
                found['seconds'][test] = seconds
                if not passed:
                    print(f'\n{test} fails without a mutant, and is left out', file=sys.stderr)
                for document in text.splitlines():
                    for source in json.loads(document)['files']:
                        of = found['lines'].setdefault(source['file'], {})
                        for line in source['lines']:
                            tests = of.setdefault(str(line['line_number']), [])
                            if line['count'] and (not tests or tests[-1] != test):
                                tests.append(test)

    together(work)
    say('', True)
    found['rooms'] += lacking
    json.dump(found, open(kept, 'w'))
    return found


def compiled(worker, path, text):
    """The library of a changed source, in its place before the tests; None where it does not compile."""
    with open(worker + '/mutant.c', 'w') as f:
        f.write(f'#line 1 "{path}"\n{text}')
    made = quiet(*COMPILE, *SHARED, worker + '/mutant.c', '-o', worker + '/libmutant.so')
    return open(worker + '/libmutant.so', 'rb').read() if made else None


def killer(found, worker, tests):
    """The test that kills the mutant in its place; none where it survives."""
    return next((t for t in tests if not passes(t, worker, 5 * found['seconds'][t] + 5)[0]), '')


def tests_of(found, path, line):
    """The tests that execute a line, the quickest first; all of the file's, where the line is no code."""
    of = found['lines'].get(path, {})
    tests = of[str(line)] if str(line) in of else {t for tests in of.values() for t in tests}
    return sorted(tests, key=lambda t: found['seconds'][t])


def wilson(k, n):
    z = 1.959964
    middle, half = (k + z * z / 2) / (n + z * z), z * math.sqrt(k * (n - k) / n + z * z / 4) / (n + z * z)
    return f'{k} of {n} killed: {100 * k / n:.1f} % [{100 * (middle - half):.1f}, {100 * (middle + half):.1f}]'


def controls(found, path, text, worker):
    """The source as it is must survive its tests, and one that ends every program must not."""
    tests = tests_of(found, path, 0)
    for name, more, right in ('nothing changed', '', False), ('every program ends', ENDS, True):
        compiled(worker, path, text + more)
        by = killer(found, worker, tests[:20])
        if bool(by) != right:
            sys.exit(f'mutants: the control fails where {name}: {path} {by}')
        print(f'control, {name}: {"killed" if by else "survived"}', flush=True)


def main(seed, count, rooms):
    texts = {f: open(f).read() for r in rooms for f in sorted(glob.glob(r + '/*.c'))}
    drawn = [(f, m) for f in texts for m in places(texts[f])]
    if not drawn:
        sys.exit('mutants: no source in ' + ' '.join(rooms))
    random.Random(seed).shuffle(drawn)
    found = reached(build(), rooms)
    lock, score, as_it_is = threading.Lock(), collections.Counter(), {}
    together(lambda worker: None)
    controls(found, drawn[0][0], texts[drawn[0][0]], HOME + '/worker0')
    out = open(HOME + '/mutants.csv', 'w', newline='')
    rows = csv.writer(out)
    rows.writerow(['file', 'line', 'kind', 'was', 'is', 'verdict', 'test'])

    def work(worker):
        while True:
            with lock:
                if not drawn or score['taken'] >= count:
                    return
                score['taken'] += 1
                path, (kind, begin, end, new) = drawn.pop(0)
            text, line = texts[path], texts[path].count('\n', 0, begin) + 1
            if path not in as_it_is:
                as_it_is[path] = compiled(worker, path, text)
            library, by = compiled(worker, path, text[:begin] + new + text[end:]), ''
            verdict = 'none'
            if library not in (None, as_it_is[path]):
                by = killer(found, worker, tests_of(found, path, line))
                verdict = 'killed' if by else 'survived'
            with lock:
                score[verdict] += 1
                if verdict == 'none':
                    score['taken'] -= 1
                else:
                    rows.writerow([path, line, kind, text[begin:end], new, verdict, by])
                    out.flush()
                    print(f'{verdict:8} {path}:{line} {kind} `{text[begin:end]}` -> `{new}` {by}', flush=True)

    together(work)
    print(f'{wilson(score["killed"], score["killed"] + score["survived"])}; {score["none"]} more did not compile or changed nothing')


if __name__ == '__main__':
    if len(sys.argv) < 4:
        sys.exit('usage: mutants.py SEED COUNT ROOM...')
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
