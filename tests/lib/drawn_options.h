/* drawn_options.h: options drawn at random for a training of a small model on a small text. Some lines are refused. */
#ifndef TROTTER_TESTS_DRAWN_OPTIONS_H
#define TROTTER_TESTS_DRAWN_OPTIONS_H

#include "tests/lib/draws.h"

/* Each is drawn with one of its values, once in so many lines. */
typedef struct {
    size_t once;
    const char *name, *values;
} DrawnOption;

static const DrawnOption drawn_options[] = {
    {1, "scheme", "transformer|heun|macaron|ab2|leapfrog|rk2-gate|rk4-layer|fgfg2"},
    {1, "layers", "1|2|3"},
    {1, "epochs", "2|3"},
    {2, "seed", "2|3"},
    {2, "dropout", "0|0.3"},
    {3, "objective", "masked"},
    {3, "context", "sentence"},
    {4, "level", "char"},
    {4, "bpe", "4|4 --bpe-dropout 0.2"},
    {4, "vocabulary", "9"},
    {3, "positions", "none|relative|both|learned|rotary"},
    {3, "activation", "gelu|swiglu|geglu"},
    {4, "first-relu", ""},
    {3, "untied", ""},
    {4, "no-final-norm", ""},
    {4, "match", "none"},
    {6, "norm", "post"},
    {6, "adaptive", "4"},
    {3, "kv-heads", "1"},
    {3, "norm-kind", "rms"},
    {4, "head-width", "4|6"},
    {4, "head-norm", ""},
    {4, "biases", "none|qkv|attention"},
    {4, "windows", "3|0,5"},
    {3, "masks", "step"},
    {2, "eval-every", "2|3|5"},
    {4, "patience", "1"},
    {3, "schedule", "cosine|linear --end-rate 1e-4|constant"},
    {3, "accumulate", "2|3"},
    {4, "average", "2"},
    {4, "keep", "1|2"},
    {4, "attention-dropout", "0.2"},
    {4, "activation-dropout", "0.2"},
    {3, "label-smoothing", "0.1"},
    {3, "clip", "0.5"},
    {3, "weight-decay", "0.1"},
    {4, "beta2", "0.9"},
    {3, "recompute", ""},
    {4, "eval-tokens", "40"},
    {4, "untested", ""},
    {0},
};

/* Adds options of a list, which ends with a 0, to a line. */
static inline void draw_options(const DrawnOption *of, char *line, size_t room)
{
    for (size_t n = strlen(line); of->once; of++) {
        if (draw(of->once) > 0) continue;
        const char *value = of->values;
        size_t choices = 1;
        for (const char *c = value; *c; c++) choices += *c == '|';
        for (size_t k = draw(choices); k > 0; k--) value = strchr(value, '|') + 1;
        n += (size_t)snprintf(line + n, room - n, " --%s %.*s", of->name, (int)strcspn(value, "|"),
                              value);
        assert_true(n < room);
    }
}

#endif
