/* family.c: the table of families of models that foreign.c reads. A new family is a row here.
 *
 * Source: GPT-2: Radford et al. 2019; its matrices are (in, out). Names and settings are those of the files that
 * `transformers` writes. */
#include "nn/foreign/family.h"

#define TANH "tanh"
static const FamilyWord activations[] = {{"gelu_new", "gelu"},
                                         {"gelu_pytorch_tanh", "gelu"},
                                         {"gelu_fast", "gelu"},
                                         {"gelu", "gelu"},
                                         {"gelu_python", "gelu"},
                                         {"relu", "relu"},
                                         {0}};
static const FamilyWord gelus[] = {{"gelu_new", TANH},
                                   {"gelu_pytorch_tanh", TANH},
                                   {"gelu_fast", TANH},
                                   {"gelu", "erf"},
                                   {"gelu_python", "erf"},
                                   {"relu", TANH},
                                   {0}};
static const FamilyWord untied[] = {{"true", "no"}, {"false", "yes"}, {0}};

/* ---- GPT-2 --------------------------------------------------------------------------------------- */

static const FamilySetting gpt2_settings[] = {
    {"layers", "n_layer"},
    {"width", "n_embd"},
    {"heads", "n_head"},
    {"inner", "n_inner", "4*n_embd"},
    {"sequence", "n_positions", .most = FOREIGN_TOKENS},
    {"batch-tokens", "n_positions", .most = FOREIGN_TOKENS},
    {"activation", "activation_function", "gelu_new", activations},
    {"gelu", "activation_function", "gelu_new", gelus},
    {"norm-eps", "layer_norm_epsilon", "1e-5"},
    {"untied", "tie_word_embeddings", "true", untied},
    {"positions", NULL, "learned"},
    {"plain-input", NULL, "yes"},
    {0}};

static const FamilyDemand gpt2_demands[] = {{"scale_attn_weights", "true"},
                                            {"scale_attn_by_inverse_layer_idx", "false"},
                                            {"add_cross_attention", "false"},
                                            {0}};

static const FamilyTensor gpt2_tensors[] = {
    {"wte.weight", "embed.weight"},
    {"wpe.weight", "position.weight", FAMILY_MORE_ROWS},
    {"h.#.ln_1.weight", "layers.#.attn.1.norm.weight"},
    {"h.#.ln_1.bias", "layers.#.attn.1.norm.bias"},
    {"h.#.attn.c_attn.weight", "layers.#.attn.1.qkv.weight", FAMILY_TRANSPOSED},
    {"h.#.attn.c_attn.bias", "layers.#.attn.1.qkv.bias"},
    {"h.#.attn.c_proj.weight", "layers.#.attn.1.out.weight", FAMILY_TRANSPOSED},
    {"h.#.attn.c_proj.bias", "layers.#.attn.1.out.bias"},
    {"h.#.ln_2.weight", "layers.#.ffn.1.norm.weight"},
    {"h.#.ln_2.bias", "layers.#.ffn.1.norm.bias"},
    {"h.#.mlp.c_fc.weight", "layers.#.ffn.1.up.weight", FAMILY_TRANSPOSED},
    {"h.#.mlp.c_fc.bias", "layers.#.ffn.1.up.bias"},
    {"h.#.mlp.c_proj.weight", "layers.#.ffn.1.down.weight", FAMILY_TRANSPOSED},
    {"h.#.mlp.c_proj.bias", "layers.#.ffn.1.down.bias"},
    {"ln_f.weight", "final_norm.weight"},
    {"ln_f.bias", "final_norm.bias"},
    {"lm_head.weight", "output.weight", FAMILY_MAY_MISS},
    {"*.attn.bias"},
    {"*.attn.masked_bias"},
    {0}};

/* ---- all ----------------------------------------------------------------------------------------- */

const Family families[] = {{"gpt2",
                            "transformer.",
                            "transformer",
                            gpt2_settings,
                            gpt2_demands,
                            gpt2_tensors,
                            {NULL, NULL, NULL, NULL}},
                           {0}};
