/* labelled.c: labelled text (studies/lab/finetune/labelled.c): the first byte is a letter that chooses the task (A: a file
 * of classes, B: of values, C and on: GLUE's), a small letter for tokenised text; then comes the file. Sentences are
 * whole and not empty; classes are sorted, each occurs and is found again with the file as its own training text;
 * accepted examples mean the same when they are written as a user's file; parts are disjoint and complete. */
#include <unistr.h>

#include "studies/lab/finetune/labelled.h"
#include "tests/fuzz/fuzz.h"

static const LabelledTask *task_of(uint8_t letter)
{
    size_t tasks = 0;
    while (labelled_tasks[tasks].name) tasks++;
    size_t k = ((size_t)(letter & 31) + tasks + 1) % (tasks + 2);
    return k == 0 ? &labelled_classes : k == 1 ? &labelled_values : &labelled_tasks[k - 2];
}

static void check_sentence(const char *text)
{
    size_t n = strlen(text);
    FUZZ_CHECK(n > 0 && !strpbrk(text, "\t\n") && strspn(text, " \r\f\v") < n);
    FUZZ_CHECK(!u8_check((const uint8_t *)text, n));
}

static void check_examples(const Labelled *l)
{
    FUZZ_CHECK(l->count > 0 && (l->label != NULL) != (l->value != NULL));
    for (size_t i = 0; i < l->count; i++) {
        check_sentence(l->first[i]);
        if (l->second) check_sentence(l->second[i]);
        if (l->label) FUZZ_CHECK(l->label[i] >= 0 && (size_t)l->label[i] < l->classes);
        if (l->value) FUZZ_CHECK(l->value[i] - l->value[i] == 0);
    }
}

/* Checks classes that come from the text. */
static void check_classes(const Labelled *l)
{
    int rising = 1, integers = 1;
    FUZZ_CHECK(l->classes > 1);
    for (size_t k = 0; k < l->classes; k++) {
        size_t i = 0;
        while (i < l->count && (size_t)l->label[i] != k) i++;
        FUZZ_CHECK(i < l->count && *l->name[k]);
        if (k > 0) rising &= strcmp(l->name[k - 1], l->name[k]) < 0;
        if (k > 0) integers &= atoll(l->name[k - 1]) <= atoll(l->name[k]);
    }
    FUZZ_CHECK(rising || integers);
}

static void check_same(const Labelled *a, const Labelled *b)
{
    FUZZ_CHECK(a->count == b->count && a->classes == b->classes && !a->second == !b->second);
    for (size_t i = 0; i < a->count; i++) {
        FUZZ_CHECK(strcmp(a->first[i], b->first[i]) == 0);
        if (a->second) FUZZ_CHECK(strcmp(a->second[i], b->second[i]) == 0);
        if (a->label) FUZZ_CHECK(a->label[i] == b->label[i]);
        if (a->value) FUZZ_CHECK(a->value[i] == b->value[i]);
    }
    for (size_t k = 0; k < a->classes; k++) FUZZ_CHECK(strcmp(a->name[k], b->name[k]) == 0);
}

/* Writes a user's file and reads it again. The first sentence is the last column but one: a carriage return at a line's
 * end would belong to it. */
static void check_written(const Labelled *l)
{
    char *text = NULL;
    size_t bytes;
    Labelled again;
    FILE *f = open_memstream(&text, &bytes);
    FUZZ_CHECK(f != NULL);
    fprintf(f, "label\t%ssentence\tend\n", l->second ? "sentence2\t" : "");
    for (size_t i = 0; i < l->count; i++) {
        if (l->label) fprintf(f, "%s\t", l->name[l->label[i]]);
        if (l->value) fprintf(f, "%.17g\t", l->value[i]);
        if (l->second) fprintf(f, "%s\t", l->second[i]);
        fprintf(f, "%s\t.\n", l->first[i]);
    }
    fclose(f);
    int code = labelled_read(l->value ? &labelled_values : &labelled_classes,
                             fuzz_file((const uint8_t *)text, bytes), 0, l, &again);
    free(text);
    FUZZ_CHECK(code == 0 || code == ERR_MEMORY);
    if (code != 0) return;
    check_same(l, &again);
    labelled_free(&again);
}

/* Checks that both parts together go through the whole in its order. */
static void check_parts(const Labelled *l)
{
    Labelled rest, chosen;
    int code = labelled_split(l, .3, 1, &rest, &chosen);
    FUZZ_CHECK(code == 0 || code == ERR_MEMORY || l->count == 1);
    if (code != 0) return;
    size_t a = 0, b = 0;
    for (size_t i = 0; i < l->count; i++) {
        int in_rest = a < rest.count && rest.first[a] == l->first[i];
        int in_chosen = b < chosen.count && chosen.first[b] == l->first[i];
        FUZZ_CHECK(in_rest != in_chosen);
        a += (size_t)in_rest;
        b += (size_t)in_chosen;
    }
    FUZZ_CHECK(a == rest.count && b == chosen.count);
    labelled_free(&rest);
    labelled_free(&chosen);
}

static void check_baselines(const LabelledTask *t, const Labelled *l)
{
    for (size_t m = 0; m < t->metrics; m++) {
        double x;
        int code = labelled_baseline(l, l, t->metric[m], &x);
        FUZZ_CHECK(code == ERR_MEMORY || (code == 0 && x >= 0 && x <= 1));
    }
}

FUZZ()
{
    Labelled l, again;
    if (size == 0) return;
    const LabelledTask *t = task_of(data[0]);
    int tokenised = (data[0] & 32) != 0 ? LABELLED_CUT | LABELLED_LOWER : 0;
    const char *file = fuzz_file(data + 1, size - 1);
    if (labelled_read(t, file, tokenised, NULL, &l) == 0) {
        check_examples(&l);
        if (t == &labelled_classes) check_classes(&l);
        int code = labelled_read(t, file, tokenised, &l, &again);
        FUZZ_CHECK(code == 0 || code == ERR_MEMORY);
        if (code == 0) check_same(&l, &again);
        if (code == 0) labelled_free(&again);
        check_written(&l);
        check_parts(&l);
        check_baselines(t, &l);
        labelled_free(&l);
    }
}
