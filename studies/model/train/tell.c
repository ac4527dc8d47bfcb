/* tell.c: tells how a training goes and what came of it, and what each rank did. */
#include "studies/model/train/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/clock.h"
#include "studies/base/plot/plot.h"
#include "studies/model/train/result.h"
#include "studies/base/command.h"

enum { EXACT = 48, WORDS = 64 };

static const Unit *unit(const Training *r)
{
    return network_unit(&r->corpus.vocab);
}

/* ---- while it runs ------------------------------------------------------------------------------- */

/* Prints the new lines of log.csv. */
void tell_log(Training *r)
{
    char line[512], path[OUTPUT_PATH];
    if (!options_flag(r->options, "csv")) return;
    if (!r->log && output_path(path, r->dir, "log.csv") == 0) r->log = fopen(path, "r");
    if (!r->log) return;
    clearerr(r->log);
    while (fgets(line, sizeof line, r->log)) fputs(line, stdout);
    fflush(stdout);
}

static int is_masked(const Training *r)
{
    return model_config(r->model)->masked;
}

/* Writes the share of exact pairs behind a comma; nothing for a text. */
static void exact_words(double share, char words[EXACT])
{
    *words = '\0';
    if (isnan(share)) return;
    snprintf(words, EXACT, ", %.1f %% exact", 100 * share);
}

/* Returns the name of the exp of a mean loss. */
static const char *perplexity_name(const Training *r)
{
    return is_masked(r) ? "pseudo-perplexity" : "perplexity";
}

/* Writes the perplexity per word of a split whose tokens are pieces, or the bits a byte where they are a tokenizer's, to
 * follow that per token; else nothing. */
static void per_word(const Training *r, int split, double ppl, char words[WORDS])
{
    const Corpus *c = &r->corpus;
    const Text *t = &c->text[split];
    *words = '\0';
    if (r->stacks.encoder || is_masked(r) || isnan(ppl)) return;
    size_t n = text_predicted(t, c->vocab.eos, options_choice(r->options, "context"));
    if (c->vocab.level == LEVEL_PIECE)
        snprintf(words, WORDS, " (%.2f a word)", text_word_ppl(t, n, ppl));
    if (c->vocab.tokens) snprintf(words, WORDS, " (%.4f bits a byte)", text_bits(t, n, ppl));
}

/* Draws the curves so far, where that is due after a validation: 10 seconds after the last time, and in at most a
 * twentieth of the time. What fails here fails again at the end, where it is told. */
static void draw_on_the_way(Training *r)
{
    r->validated = 1;
    if (clock_now() - r->drawn >= fmax(10, 20 * r->drawing)) tell_plots(r);
}

void tell_report(void *arg, const TrainReport *t)
{
    Training *r = arg;
    char left[32], exact[EXACT], score[32] = "", step[64] = "", word[WORDS], penalty[32] = "";
    size_t seed = options_size(r->options, "seed");
    lease_keep(&r->claim);
    progress_time(t->seconds_left, left);
    exact_words(t->valid_exact, exact);
    per_word(r, SPLIT_VALID, t->valid_ppl, word);
    if (!isnan(t->valid_score)) snprintf(score, sizeof score, ", BLEU %.2f", t->valid_score);
    if (!isnan(t->penalty)) snprintf(penalty, sizeof penalty, ", penalty %.4g", t->penalty);
    if (t->within)
        snprintf(step, sizeof step, ", step %llu of %llu", (unsigned long long)t->step,
                 (unsigned long long)t->steps);
    if (t->valid_ppl > 0)
        progress_note(
            "%s, seed %zu: epoch %ld of %ld%s, training loss %.4f%s, validation %s %.2f%s%s%s%s",
            r->name, seed, t->epoch, t->epochs, step, t->train_loss, penalty, perplexity_name(r),
            t->valid_ppl, r->corpus.vocab.tokens ? word : "", exact, score,
            t->best ? "" : " (not the best)");
    else
        progress_show(
            "%s, seed %zu: epoch %ld of %ld, step %llu of %llu, %s left, loss %.4f%s, %.0f %ss/s",
            r->name, seed, t->epoch, t->epochs, (unsigned long long)t->step,
            (unsigned long long)t->steps, left, t->train_loss, penalty, t->tokens_per_s,
            unit(r)->token);
    tell_log(r);
    if (t->valid_ppl > 0) draw_on_the_way(r);
}

/* Prints the memory that the run will take, before it begins. */
static void tell_memory(const Training *r)
{
    const Model *m = r->model;
    char words[512];
    size_t n = 0;
    int small = model_bytes(m) < 10000000;
    const char *name = small ? "kB" : "MB";
    double per = small ? 1e-3 : 1e-6;
    for (int k = 0; k < MEMORY_KINDS; k++)
        n += (size_t)snprintf(words + n, sizeof words - n, "%s %s %.1f", k ? "," : "",
                              model_memory_name(k), per * (double)model_memory(m, k));
    progress_note("memory of the model: %.1f %s at its peak:%s %s", per * (double)model_bytes(m),
                  name, words, name);
}

/* Prints a changed length. A length may change, so it is no reason to refuse, but a damaged
 * config.ini could change it unseen. */
static void tell_length(const Training *r, const char *key, const char *option)
{
    char path[OUTPUT_PATH], *was;
    size_t now = options_size(r->options, option);
    if (output_path(path, r->dir, "state.safetensors") != 0 || store_meta(path, key, &was) != 0)
        return;
    if (strtoull(was, NULL, 10) != now)
        progress_note("%s: it was a run of --%s %s, and goes on with %zu", r->dir, option, was,
                      now);
    memory_free(was);
}

/* Says that a multistep scheme never has its full history, which makes it another scheme. */
static void tell_history(const Training *r)
{
    const Table *t = r->stacks.layers;
    int back = t->past_y > t->past_k ? t->past_y : t->past_k;
    size_t layers = options_size(r->options, "layers");
    if (back == 0 || layers > (size_t)back) return;
    progress_note(
        "%s reads %d step%s back, and there %s %zu layer%s: each is one of its first steps, "
        "without the full history (the first of an Adams-Bashforth method is Euler's)",
        t->name, back, back == 1 ? "" : "s", layers == 1 ? "is" : "are", layers,
        layers == 1 ? "" : "s");
}

/* Warns that the rate never reaches its peak, so no step uses the rate that was asked for. */
static void tell_warmup(const Training *r)
{
    size_t warmup = options_size(r->options, "warmup");
    if (r->result.steps < warmup)
        notice_warn("--warmup %zu: the whole training has %llu steps, so the rate never gets to "
                    "its peak",
                    warmup, (unsigned long long)r->result.steps);
}

int parts_words(const Corpus *c, char words[PARTS_WORDS])
{
    static const char *const use[SPLITS] = {"training", "validation", "test"};
    if (!c->single) return 0;
    int n = snprintf(words, PARTS_WORDS, "%.200s:", c->text[SPLIT_TRAIN].file);
    for (int i = 0; i < SPLITS; i++) {
        const Text *t = &c->text[i];
        if (t->lines == 0) continue; /* not read */
        n += snprintf(words + n, PARTS_WORDS - (size_t)n, "%s lines %zu to %zu for %s",
                      i ? "," : "", t->before + 1, t->before + t->lines, use[i]);
    }
    return 1;
}

void tell_begin(void *arg)
{
    Training *r = arg;
    char words[PARTS_WORDS];
    r->drawn = clock_now();
    tell_history(r);
    tell_warmup(r);
    texts_warn(&r->corpus);
    if (parts_words(&r->corpus, words)) progress_note("%s", words);
    if (r->corpus.left_out)
        progress_note("%zu of %zu training pairs have more than --sequence %zu tokens on a side: "
                      "left out",
                      r->corpus.left_out, r->corpus.left_out + r->corpus.text[SPLIT_TRAIN].lines,
                      options_size(r->options, "sequence"));
    if (r->goes_on) {
        tell_length(r, "epochs", "epochs");
        tell_length(r, "max_steps", "max-steps");
    }
    tell_memory(r);
}

int tell_there(Training *r)
{
    char path[OUTPUT_PATH];
    SCOPED(frame_close) Frame c = {0};
    TRY(output_path(path, r->dir, "result.csv"));
    TRY(frame_read(&c, path));
    TRY(runs_result(&c, 0));
    r->result.valid_ppl = frame_real(&c, 0, "valid_ppl");
    progress_note("%s, seed %zu: is there already, in %s: %s %.2f on validation", r->name,
                  options_size(r->options, "seed"), r->dir, perplexity_name(r),
                  r->result.valid_ppl);
    tell_log(r);
    return tell_use(r);
}

/* ---- when it is done ------------------------------------------------------------------------------ */

int tell_result(const Training *r)
{
    const TrainResult *is = &r->result;
    SCOPED(frame_close) Frame f = {0};
    SCOPED(sheet_drop) Sheet *t = NULL;
    TRY(frame_new(&f, run_columns));
    TRY(frame_row(&f));
    frame_set(&f, 0, "scheme", r->name);
    frame_put(&f, 0, "layers", (double)options_size(r->options, "layers"));
    frame_put(&f, 0, "params", (double)model_size(r->model));
    frame_put(&f, 0, "seed", (double)options_size(r->options, "seed"));
    frame_put(&f, 0, "best_epoch", (double)is->best_epoch);
    frame_put(&f, 0, "valid_ppl", is->valid_ppl);
    frame_put(&f, 0, "test_ppl", is->test_ppl);
    frame_put(&f, 0, "tokens_per_s", is->tokens_per_s);
    frame_put(&f, 0, "peak_bytes", (double)is->peak_bytes);
    frame_put(&f, 0, "valid_exact", is->valid_exact);
    frame_put(&f, 0, "test_exact", is->test_exact);
    frame_put(&f, 0, "valid_bits", is->valid_bits);
    frame_put(&f, 0, "test_bits", is->test_bits);
    frame_set(&f, 0, "objective", is_masked(r) ? "masked" : NULL);
    TRY(frame_sheet(&f, run_columns, NULL, f.rows, &t));
    return output_sheet(t, SHEET_CSV, r->dir, "result.csv");
}

static size_t log_rows(const Training *r)
{
    SCOPED(frame_close) Frame c = {0};
    char path[OUTPUT_PATH];
    int is = output_path(path, r->dir, "log.csv") == 0 && frame_read(&c, path) == 0;
    return is ? c.rows : 0;
}

static int draw_loss(const Training *r, const char *what)
{
    char title[700], nats[32];
    double unigram;
    Plot *p;
    TRY(corpus_unigram(&r->corpus, SPLIT_VALID, &unigram));
    snprintf(title, sizeof title, "Loss: %s", what);
    snprintf(nats, sizeof nats, "nats a %s", unit(r)->token);
    PlotFrame frame = {"loss", title, "step", nats, 0};
    TRY(plot_new(r->dir, &frame, &p));
    int step = sheet_column(log_columns, "step");
    plot_setting(p, "set xrange [0:*]");
    plot_item(p, "log.csv", "using %d:%d", step, sheet_column(log_columns, "train_loss"));
    plot_lines(p, log_rows(r));
    plot_more(p, "title %s noenhanced",
              options_real(r->options, "label-smoothing") > 0 ? "training (smoothed labels)"
                                                              : "training");
    plot_style(p, 0);
    plot_item(p, "log.csv", "using %d:(log($%d)) title 'validation' noenhanced", step,
              sheet_column(log_columns, "valid_ppl"));
    plot_style(p, 1);
    snprintf(nats, sizeof nats, "%s frequencies", unit(r)->word);
    plot_level(p, log(unigram), nats);
    if (!isnan(r->corpus.entropy_rate)) plot_level(p, r->corpus.entropy_rate, "entropy rate");
    return plot_finish(p);
}

int tell_plots(Training *r)
{
    if (options_flag(r->options, "brief")) return 0;
    double begun = clock_now();
    char what[600];
    size_t layers = options_size(r->options, "layers");
    snprintf(what, sizeof what, "%s, %zu layer%s, %s", r->name, layers, layers == 1 ? "" : "s",
             plot_folder(r->corpus.name));
    TRY(draw_loss(r, what));
    r->drawn = clock_now();
    r->drawing = r->drawn - begun;
    return 0;
}

/* Names the weights that the perplexities belong to. */
static void name_model(const TrainResult *t, char *words, size_t room)
{
    if (t->averaged == 1)
        snprintf(words, room, "end of epoch %ld", t->best_epoch);
    else if (t->averaged)
        snprintf(words, room, "mean of the ends of epochs %ld to %ld",
                 t->best_epoch - t->averaged + 1, t->best_epoch);
    else
        snprintf(words, room, "best epoch %ld", t->best_epoch);
}

/* Writes "2 + 4": the layers of encoder and decoder, in the order of the name. */
static void layers_words(const Training *r, char words[48])
{
    size_t layers = options_size(r->options, "layers"), above = 0;
    if (r->stacks.encoder) above = options_size(r->options, "encoder-layers");
    if (above && above != layers)
        snprintf(words, 48, "%zu + %zu", above, layers);
    else
        snprintf(words, 48, "%zu", layers);
}

/* Returns 1 where the training diverged; 0 too where that cannot be told, as memory is short. */
static int has_diverged(const Training *r)
{
    SCOPED(model_drop) Model *fresh = NULL;
    if (!isfinite(r->result.valid_ppl)) return 1;
    if (network_model(r->options, r->stacks, &r->corpus.vocab, r->backend, &fresh) != 0) return 0;
    return runs_worse(fresh, r->options, &r->corpus, r->result.valid_ppl);
}

int tell_use(const Training *r)
{
    double unigram;
    TRY(corpus_unigram(&r->corpus, SPLIT_VALID, &unigram));
    if (is_masked(r) || r->result.valid_ppl < unigram) return 0;
    if (has_diverged(r))
        return error_set(ERR_CHECK,
                         "perplexity %.2f on validation is worse than before the first step: the "
                         "training diverged; a lower --rate or a longer --warmup may help",
                         r->result.valid_ppl);
    notice_warn("perplexity %.2f on validation is no better than %s frequencies alone, %.2f",
                r->result.valid_ppl, unit(r)->word, unigram);
    return 0;
}

void tell_end(const Training *r, double seconds)
{
    char time[32], model[96], test[160] = "the test text unread", of[64] = "", exact[2][EXACT],
                              layers[48], word[2][WORDS];
    const char *first = options_text(r->options, "eval-tokens");
    name_model(&r->result, model, sizeof model);
    progress_time(seconds, time);
    if (first) snprintf(of, sizeof of, "the first %.20s %ss of ", first, unit(r)->token);
    exact_words(r->result.valid_exact, exact[0]);
    exact_words(r->result.test_exact, exact[1]);
    per_word(r, SPLIT_VALID, r->result.valid_ppl, word[0]);
    per_word(r, SPLIT_TEST, r->result.test_ppl, word[1]);
    if (!isnan(r->result.test_ppl))
        snprintf(test, sizeof test, "%.2f%s on test%s", r->result.test_ppl, word[1], exact[1]);
    layers_words(r, layers);
    progress_note("%s, %s layer(s), seed %zu: %s, %s %.2f%s on %svalidation%s, %s; %zu "
                  "parameters, %.0f %ss/s, peak %.0f MB, %s; in %s",
                  r->name, layers, options_size(r->options, "seed"), model, perplexity_name(r),
                  r->result.valid_ppl, word[0], of, exact[0], test, model_size(r->model),
                  r->result.tokens_per_s, unit(r)->token, 1e-6 * (double)r->result.peak_bytes, time,
                  r->dir);
}

/* ---- a network before it is trained -------------------------------------------------------------- */

void tell_plan(const Model *m)
{
    const Param *p;
    const Plan *plan = model_plan(m);
    size_t count = model_params(m, &p), layers = 0;
    plan_print(plan, stdout);
    printf("evaluations: %zu of attention, %zu of cross-attention, %zu of feed-forward networks\n",
           plan_evals(plan, SLOT_ATTENTION), plan_evals(plan, SLOT_CROSS),
           plan_evals(plan, SLOT_FEEDFORWARD));
    for (size_t i = 0; i < count; i++) layers += strstr(p[i].name, "layers.") ? p[i].size : 0;
    printf("parameters: %zu, of which the layers have %zu", model_size(m), layers);
    for (size_t i = 0; i < count; i++)
        if (!strstr(p[i].name, "layers.")) printf(", %s %zu", p[i].name, p[i].size);
    printf("\nmemory for training: %.1f MB\n", 1e-6 * (double)model_bytes(m));
}

/* ---- ranks --------------------------------------------------------------------------------------- */

enum { FIELDS = sizeof(Share) / sizeof(double) };

int shares_gather(Ranks *r, const TrainResult *result, Share **out)
{
    Share *all = *out = memory_new((size_t)r->size, sizeof *all);
    TRY(ranks_agree(r, all ? 0 : ERR_MEMORY));
    all[r->rank] = (Share){(double)result->here.steps, result->here.seconds, result->here.waited,
                           (double)r->bytes};
    r->sum(r, &all->steps, (size_t)r->size * FIELDS);
    return 0;
}

static double per_step(double x, const Share *s)
{
    return s->steps > 0 ? x / s->steps : 0;
}

static void tell_shares(const Ranks *r, const Share *share)
{
    double least = 1, most = 0;
    for (int k = 0; k < r->size; k++) {
        double part = share[k].seconds > 0 ? share[k].waited / share[k].seconds : 0;
        least = part < least ? part : least;
        most = part > most ? part : most;
    }
    progress_note(
        "%d ranks: %.3f MB of gradients summed a step, %.2f ms a step, of which the ranks spent "
        "%.0f to %.0f %% in sums with the others",
        r->size, 1e-6 * per_step(share->bytes, share), 1e3 * per_step(share->seconds, share),
        100 * least, 100 * most);
}

typedef struct {
    int rank;
    size_t steps;
    double bytes_per_step, wait_ms_per_step, ms_per_step;
} ShareRow;

const Column share_columns[] = {
    COLUMN(ShareRow, rank, .words = "number of the process, from 0"),
    COLUMN(ShareRow, steps, .words = "steps that this command trained"),
    COLUMN(ShareRow, bytes_per_step, .form = SHEET_FIXED,
           .words = "bytes given to sums with the others"),
    COLUMN(ShareRow, wait_ms_per_step, .form = SHEET_FIXED, .digits = 4,
           .words = "milliseconds in those sums"),
    COLUMN(ShareRow, ms_per_step, .form = SHEET_FIXED, .digits = 4, .words = "milliseconds in all"),
    {0}};

int shares_write(const Ranks *r, const Share *share, const char *dir)
{
    SCOPED(sheet_drop) Sheet *t = NULL;
    TRY(sheet_new(share_columns, &t));
    for (int k = 0; k < r->size; k++) {
        const Share *s = &share[k];
        sheet_row(t, &(ShareRow){.rank = k,
                                 .steps = (size_t)s->steps,
                                 .bytes_per_step = per_step(s->bytes, s),
                                 .wait_ms_per_step = 1e3 * per_step(s->waited, s),
                                 .ms_per_step = 1e3 * per_step(s->seconds, s)});
    }
    tell_shares(r, share);
    return output_sheet(t, SHEET_CSV, dir, "ranks.csv");
}
