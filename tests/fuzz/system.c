/* system.c: particle systems (ode/field/system_file.c, formula.c, program.c): an accepted system can be stepped.
 * It has few particles, whatever the text wants: F looks at every pair. */
#include "ode/ode.h"
#include "tests/fuzz/fuzz.h"

enum { PARTICLES = 3, MOST = PARTICLES * 32 };

FUZZ()
{
    System *s = NULL;
    double dy[MOST];
    if (system_parse("input", (const char *)data, size, PARTICLES, 0, 1, &s) == 0) {
        FUZZ_CHECK(s->n == PARTICLES && s->n * s->d <= MOST && s->h0 > 0 && s->t_end > 0);
        for (int op = OP_F; op <= OP_G; op++) s->field[op](s, 1, 0.5, s->initial, dy);
        system_free(s);
    }
}
