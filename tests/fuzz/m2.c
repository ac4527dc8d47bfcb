/* m2.c: gold corrections and a hypothesis (studies/metrics/m2_file.c, m2.c): every edit and correction lies where it
 * may, sets are in order, and counts are possible: those of the sources themselves have nothing proposed, those of the
 * file's own lines as hypotheses have no more correct than proposed and gold. */
#include "studies/metrics/m2.h"
#include "tests/fuzz/fuzz.h"

enum { M2_BYTES = 2048 }; /* most bytes of a file that is scored */

static void check_sentence(const M2File *f, const M2Sentence *s)
{
    FUZZ_CHECK(s->sets >= 1 && s->first + s->sets <= f->sets && s->source.n <= M2_WORDS);
    FUZZ_CHECK(s->source.first + s->source.n <= f->words.n);
    for (size_t k = s->first; k < s->first + s->sets; k++) {
        const M2Set *set = &f->set[k];
        FUZZ_CHECK(k == s->first || set[-1].annotator < set->annotator);
        FUZZ_CHECK(set->first + set->edits <= f->edits);
        for (size_t i = set->first; i < set->first + set->edits; i++) {
            const M2Edit *e = &f->edit[i];
            FUZZ_CHECK(e->annotator == set->annotator && e->line <= f->lines.count);
            FUZZ_CHECK(e->start <= e->end && e->end <= s->source.n);
            FUZZ_CHECK(i == set->first || e[-1].start <= e->start);
            FUZZ_CHECK(e->corrections >= 1 && e->first + e->corrections <= f->corrections);
            for (size_t t = e->first; t < e->first + e->corrections; t++)
                FUZZ_CHECK(f->correction[t].first + f->correction[t].n <= f->words.n);
        }
    }
}

/* Counts the words of a line against each set of a sentence. */
static void count(const M2File *f, const M2Sentence *s, const Symbols *words, int unchanged)
{
    for (size_t most = 0; most < 3; most++)
        for (size_t k = s->first; k < s->first + s->sets; k++) {
            M2Counts c;
            int code = m2_count(f, s, &f->set[k], words, most, &c);
            FUZZ_CHECK(code == 0 || code == ERR_MEMORY);
            if (code != 0) continue;
            FUZZ_CHECK(c.correct <= c.proposed && c.correct <= c.gold);
            FUZZ_CHECK(c.gold == f->set[k].edits && c.proposed <= s->source.n + words->n);
            if (unchanged) FUZZ_CHECK(c.proposed == 0);
            double F = m2_f(&c, 0.5), P = m2_precision(&c), R = m2_recall(&c);
            FUZZ_CHECK(F >= 0 && F <= 100 && P >= 0 && P <= 100 && R >= 0 && R <= 100);
        }
}

static void score(const M2File *f)
{
    Symbols words = {0};
    for (size_t i = 0; i < f->sentences; i++) {
        const M2Sentence *s = &f->sentence[i];
        Symbols source = {.x = f->words.x + s->source.first, .n = s->source.n};
        count(f, s, &source, 1);
        if (m2_file_words(f, f->lines.line[(i * 7 + 1) % f->lines.count], &words) == 0)
            count(f, s, &words, 0);
    }
    symbols_free(&words);
}

FUZZ()
{
    M2File f;
    int code = m2_file_read(fuzz_file(data, size), &f);
    FUZZ_CHECK(code == 0 || code == ERR_INPUT || code == ERR_MEMORY);
    if (code == 0) {
        FUZZ_CHECK(f.sentences >= 1 && f.sets >= f.sentences);
        for (size_t i = 0; i < f.sentences; i++) check_sentence(&f, &f.sentence[i]);
        if (size <= M2_BYTES) score(&f);
    }
    m2_file_free(&f);
}
