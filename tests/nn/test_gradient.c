/* test_gradient.c: the gradient of every parameter tensor of every tiny plan against differences of the loss
 * (tests/lib/gradients.h). A fifth derivative may be up to 1e8 where a sublayer feeds a sublayer. ReLU has kinks, so its
 * steps are tiny: h = 1e-7, rounding 1e-8. */
#include "tests/lib/test.h"

#include "tests/lib/gradients.h"
#include "tests/lib/models.h"

/* Steps and tolerances of differences: of smooth networks, of those with large derivatives, of smooth pairs, and of
 * networks with kinks. */
static const Steps smooth = {1e-4, 1e-6}, steep = {2e-5, 1e-6}, exact = {1e-4, 1e-7},
                   kinks = {1e-7, 1e-5};

static void check(Plan *plan, const char *name, ModelConfig config, Steps s)
{
    OWN_MODEL *m = shaken("cpu-f64", config, plan, 1);
    const Param *list;
    assert_int_equal(gradients_agree(m, s, name), model_params(m, &list));
}

static void check_list(const TinyPlan *p, ModelConfig config, Steps s)
{
    for (; p->name; p++) check(p->build(), p->name, config, s);
}

/* Pairs have two cross-attentions with keys made once. */
static void check_smooth(ModelConfig config)
{
    check_list(tiny_plans, config, smooth);
    check_list(tiny_pairs, config, exact);
}

TEST(smooth_networks)
{
    check_smooth(tiny_config());
    check_smooth(TINY_WITH(c.no_final_norm = 1));
    check_list(tiny_all, TINY_WITH(c.untied = 1, c.positions = 0, c.dropout = 0), smooth);
}

/* Makes x = LN(r0), then LN(x + F(x)): a norm behind the input. */
static Plan *input_norm(void)
{
    Plan *p = plan_new(1);
    p->post = 1;
    int n = plan_slot(p, (PlanSlot){.kind = SLOT_NORM, .side = SIDE_TARGET, .set = 2});
    int f = plan_slot(p, (PlanSlot){.kind = SLOT_ATTENTION, .side = SIDE_TARGET, .set = 1});
    int x = plan_norm(p, n, 0), k = plan_eval(p, f, x, 0);
    int y = plan_lin(p, 2, (PlanTerm[]){{.c = 1, .x = x}, {.c = 1, .x = k}});
    p->output = plan_norm(p, f, y);
    return p;
}

/* Blocks of today's networks, alone and together. */
TEST(blocks_of_today)
{
    static const TinyPlan *const lists[] = {tiny_plans, tiny_pairs};
    const ModelConfig config[] = {
        tiny_today(),
        TINY_WITH(c.positions = POSITIONS_LEARNED, c.plain_input = 1, c.act = ACT_ERF),
        TINY_WITH(c.act = ACT_GEGLU, c.recompute = 1)};
    for (size_t i = 0; i < sizeof config / sizeof *config; i++)
        for (int k = 0; k < 2; k++) check_list(lists[k], config[i], steep);
    Plan *one = tiny_residual();
    check_list(tiny_plans, tiny_latest(one), steep);
    plan_free(one);
    check(input_norm(), "input norm", config[1], steep);
    check(tiny_encoder(tiny_residual()), "encoder", tiny_head_config(config[0], &tiny_heads[1]),
          smooth);
    check(tiny_encoder(tiny_residual()), "encoder", tiny_head_config(config[1], &tiny_heads[1]),
          smooth);
}

TEST(networks_with_relu)
{
    check_list(tiny_all, TINY_WITH(c.act = ACT_RELU), kinks);
    check_list(tiny_all, TINY_WITH(c.first_relu = 1), kinks);
}

TEST(smoothed_labels)
{
    ModelConfig config = TINY_WITH(c.smoothing = 0.2);
    check(tiny_residual(), "residual", config, smooth);
    check(tiny_pairs->build(), "pair", config, exact);
}

/* The batch has words of the head and of both tails as inputs and as targets. */
TEST(adaptive_softmax)
{
    ModelConfig config = TINY_WITH(c.tails = 2, c.cut[0] = 3, c.cut[1] = 6, c.factor = 2);
    check(tiny_residual(), "tied", config, smooth);
    config.untied = 1;
    check(tiny_residual(), "untied", config, smooth);
    config.untied = 0;
    config.recompute = 1;
    config.positions = 0;
    check(tiny_plans[1].build(), "recomputed", config, smooth);
}

/* Every plan as an encoder alone has the right gradient, with every task; masked words also with smoothing, an untied
 * output, and activations made again. */
TEST(encoders_alone)
{
    for (const TinyHead *h = tiny_heads; h->masked || h->classes; h++)
        for (const TinyPlan *p = tiny_plans; p->name; p++) {
            char name[80];
            snprintf(name, sizeof name, "%s, %s, %zu classes", p->name, h->masked ? "masked" : "",
                     h->classes);
            check(tiny_encoder(p->build()), name, tiny_head_config(tiny_config(), h), smooth);
        }
    ModelConfig config =
        tiny_head_config(TINY_WITH(c.smoothing = 0.2, c.untied = 1), &tiny_heads[1]);
    check(tiny_encoder(tiny_residual()), "untied", config, smooth);
    config.recompute = 1;
    config.positions = 0;
    check(tiny_encoder(tiny_residual()), "recomputed", config, smooth);
}

TEST_MAIN(one_thread, NULL)
