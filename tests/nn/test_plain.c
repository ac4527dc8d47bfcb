/* test_plain.c: the engine against the whole model in one file (nn/plain.h): losses, logits, gradients and steps of Adam of
 * every tiny plan, setting and task. tests/bridge/test_plain_schemes.c does so for every scheme. */
#include "tests/lib/test.h"

#include "tests/lib/models.h"
#include "tests/lib/plain_model.h"

static ModelConfig settings(int k)
{
    ModelConfig today = tiny_today(), latest = today;
    today.dropout = latest.dropout = 0;
    latest.head_width = 6, latest.head_norm = 1, latest.no_bias = NO_BIAS;
    switch (k) {
    case 0: return TINY_WITH(c.dropout = 0);
    case 1: return TINY_WITH(c.dropout = 0, c.untied = 1, c.act = ACT_RELU, c.no_final_norm = 1);
    case 2: return TINY_WITH(c.dropout = 0, c.act = ACT_ERF, c.smoothing = .3, c.first_relu = 1);
    case 3:
        return TINY_WITH(c.dropout = 0, c.act = ACT_GEGLU, c.positions = POSITIONS_LEARNED,
                         c.plain_input = 1);
    case 4: return TINY_WITH(c.dropout = 0, c.positions = 0, c.norm = NORM_RMS);
    case 5: return today;
    case 6: return latest;
    case 7:
        return TINY_WITH(c.dropout = 0, c.head_width = 3, c.head_norm = 1, c.heads = 3,
                         c.no_bias = NO_BIAS_OUT | NO_BIAS_FFN);
    case 9:
        return TINY_WITH(c.dropout = 0, c.positions = POSITIONS_ROTARY, c.rotary_part = 2,
                         c.rotary_local = 9, c.windows = 2, c.window[0] = 3, c.output_bias = 1);
    case 8: return TINY_WITH(c.dropout = 0, c.no_bias = NO_BIAS_QKV);
    default: return (ModelConfig){0};
    }
}

TEST(every_plan_and_setting)
{
    for (const TinyPlan *p = tiny_all; p->name; p++)
        for (int k = 0; settings(k).width; k++) {
            Plan *plan = p->build();
            ModelConfig c = settings(k);
            if (plan->sides > 1)
                c.head_width = 0, c.head_norm = 0, c.windows = 0, c.output_bias = 0;
            if (plan->sides > 1 && c.width % c.heads) c.heads = 2;
            OWN_MODEL *m = shaken("cpu-f64", c, plan, 1);
            Batch x = tiny_batch_of(m);
            plain_agrees(m, &x, p->name, 1);
        }
}

TEST(every_task_of_an_encoder)
{
    for (const TinyHead *h = tiny_heads; h->masked || h->classes; h++)
        for (int k = 0; settings(k).width; k++) {
            ModelConfig c = tiny_head_config(settings(k), h);
            if ((c.untied && !c.masked) || c.windows) continue;
            OWN_MODEL *m = shaken("cpu-f64", c, tiny_encoder(tiny_residual()), 1);
            Batch x = tiny_asked(&c);
            plain_agrees(m, &x, "encoder", 1);
        }
}

/* Control: the comparison sees that attention looks at the next words, and a setting that differs. */
TEST(mistakes_are_seen)
{
    double right, wrong;
    OWN_MODEL *m = shaken("cpu-f64", settings(0), tiny_residual(), 1);
    SCOPED(plain_free) Plain p = {0};
    Batch x = tiny_batch();
    assert_int_equal(plain_new(m, &p), 0);
    assert_int_equal(plain_loss(&p, &x, 0, NULL, &right), 0);
    Plan open = *p.plan;
    ModelConfig other = *p.config;
    open.bidirectional = 1;
    p.plan = &open;
    assert_int_equal(plain_loss(&p, &x, 0, NULL, &wrong), 0);
    assert_true(fabs(right - wrong) > 1e-4);
    p.plan = model_plan(m);
    other.clip = 1;
    p.config = &other;
    assert_int_equal(plain_loss(&p, &x, 0, NULL, &wrong), 0);
    assert_true(fabs(right - wrong) > 1e-4);
}

TEST(what_is_left_out_is_refused)
{
    SCOPED(plain_free) Plain p;
    OWN_MODEL *m =
        shaken("cpu-f64", tiny_ends_config(&tiny_ends[0]), tiny_ends_plan(&tiny_ends[0]), 0);
    assert_int_equal(plain_new(m, &p), ERR_INPUT);
    assert_non_null(strstr(error_text(), "adaptive softmax"));
}

TEST_MAIN(one_thread, NULL)
