/* family.c: the table of families of models that foreign_config.c and foreign_tensors.c read and `trotter export` writes. A new family is a row here.
 *
 * Source: GPT-2: Radford et al. 2019; its matrices are (in, out). Names and settings are those of the files that
 * `transformers` writes. */
#include "nn/foreign/family.h"

#include <stdio.h>
#include <string.h>

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

/* clang-format off */
#define ALL_DEMANDS                                                                                 \
    {"quantization_config", ""}, {"pruned_heads", ""}, {"add_cross_attention", "false"},            \
    {"is_encoder_decoder", "false"}
/* clang-format on */
static const FamilyDemand gpt2_demands[] = {{"scale_attn_weights", "true", .null = 1},
                                            {"scale_attn_by_inverse_layer_idx", "false"},
                                            ALL_DEMANDS,
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

/* ---- Llama: Touvron et al. 2023; also Mistral and Qwen 2, which differ in biases, and Qwen 3 ------------------- */

static const FamilyWord gated[] = {
    {"silu", "swiglu"},    {"swish", "swiglu"},    {"gelu_pytorch_tanh", "geglu"},
    {"gelu_new", "geglu"}, {"gelu_fast", "geglu"}, {0}};
static const FamilyWord scalings[] = {
    {"default", ""},
    {"dynamic", ""}, /* within foreign_inside.h's `plain` */
    {"linear", "factor"},
    {"llama3", "factor,low_freq_factor,high_freq_factor,original_max_position_embeddings"},
    {"yarn", "factor,beta_slow,beta_fast,original_max_position_embeddings,attention_factor"},
    {0}};

/* What the families share. The type of rotary_scaling is called `type` until transformers 4.42. */
/* clang-format off */
#define SHAPE_SETTINGS(LENGTH)                                                                      \
    {"layers", "num_hidden_layers"},                                                               \
    {"width", "hidden_size"},                                                                      \
    {"heads", "num_attention_heads"},                                                              \
    {"inner", "intermediate_size"},                                                                \
    {"sequence", "max_position_embeddings", LENGTH, .most = FOREIGN_TOKENS},                       \
    {"batch-tokens", "max_position_embeddings", LENGTH, .most = FOREIGN_TOKENS}
#define ROTARY_SETTINGS SHAPE_SETTINGS("1024"), {"positions", NULL, "rotary"}
#define ROPE_SETTINGS(BASE, SCALINGS)                                                               \
    {"rotary-base", "rope_theta", BASE},                                                           \
    {"rotary-scaling", "rope_type", "default", SCALINGS, .keys = 1},                               \
    {"rotary-scaling", "type", "default", SCALINGS, .keys = 1}
#define LLAMA_SETTINGS(EPS, SCALINGS)                                                               \
    ROTARY_SETTINGS,                                                                                \
    {"kv-heads", "num_key_value_heads", "=num_attention_heads"},                                   \
    {"activation", "hidden_act", "silu", gated},                                                   \
    {"norm-kind", NULL, "rms"},                                                                    \
    {"norm-eps", "rms_norm_eps", EPS},                                                             \
    {"untied", "tie_word_embeddings", "false", untied},                                            \
    ROPE_SETTINGS("10000", SCALINGS),                                                              \
    {"plain-input", NULL, "yes"}
#define OTHER_DEMANDS                                                                               \
    {"rope_interleaved", "false"}, {"use_mrope", "false"}, ALL_DEMANDS
#define LLAMA_DEMANDS {"partial_rotary_factor", "1"}, OTHER_DEMANDS
/* clang-format on */
static const FamilySetting llama_settings[] = {
    LLAMA_SETTINGS("1e-6", scalings), {"head-width", "head_dim", ""}, {0}};
static const FamilyDemand llama_demands[] = {LLAMA_DEMANDS, {"layer_types", "full_attention"}, {0}};
static const FamilyDemand mistral_demands[] = {LLAMA_DEMANDS, {0}};
/* Qwen 3: Yang et al. 2025 (arXiv:2505.09388). Its heads have 128 numbers where nothing is said. */
static const FamilySetting qwen3_settings[] = {LLAMA_SETTINGS("1e-6", scalings),
                                               {"head-width", "head_dim", "128"},
                                               {"head-norm", NULL, "yes"},
                                               {0}};

static const FamilyTensor llama_tensors[] = {
    {"embed_tokens.weight", "embed.weight"},
    {"layers.#.input_layernorm.weight", "layers.#.attn.1.norm.weight"},
    {"layers.#.self_attn.q_proj.weight", "layers.#.attn.1.qkv.weight"},
    {"layers.#.self_attn.k_proj.weight", "layers.#.attn.1.qkv.weight"},
    {"layers.#.self_attn.v_proj.weight", "layers.#.attn.1.qkv.weight"},
    {"layers.#.self_attn.q_proj.bias", "layers.#.attn.1.qkv.bias", FAMILY_QKV_BIAS},
    {"layers.#.self_attn.k_proj.bias", "layers.#.attn.1.qkv.bias", FAMILY_QKV_BIAS},
    {"layers.#.self_attn.v_proj.bias", "layers.#.attn.1.qkv.bias", FAMILY_QKV_BIAS},
    {"layers.#.self_attn.q_norm.weight", "layers.#.attn.1.q_norm.weight", FAMILY_MAY_MISS},
    {"layers.#.self_attn.k_norm.weight", "layers.#.attn.1.k_norm.weight", FAMILY_MAY_MISS},
    {"layers.#.self_attn.o_proj.weight", "layers.#.attn.1.out.weight"},
    {"layers.#.self_attn.o_proj.bias", "layers.#.attn.1.out.bias", FAMILY_OUT_BIAS},
    {"layers.#.post_attention_layernorm.weight", "layers.#.ffn.1.norm.weight"},
    {"layers.#.mlp.gate_proj.weight", "layers.#.ffn.1.gate_up.weight"},
    {"layers.#.mlp.up_proj.weight", "layers.#.ffn.1.gate_up.weight"},
    {"layers.#.mlp.gate_proj.bias", "layers.#.ffn.1.gate_up.bias", FAMILY_MLP_BIAS},
    {"layers.#.mlp.up_proj.bias", "layers.#.ffn.1.gate_up.bias", FAMILY_MLP_BIAS},
    {"layers.#.mlp.down_proj.weight", "layers.#.ffn.1.down.weight"},
    {"layers.#.mlp.down_proj.bias", "layers.#.ffn.1.down.bias", FAMILY_MLP_BIAS},
    {"norm.weight", "final_norm.weight"},
    {"lm_head.weight", "output.weight", FAMILY_MAY_MISS},
    {"*.rotary_emb.inv_freq"},
    {0}};

/* ---- Phi-3: Abdin et al. 2024 (arXiv:2404.14219): a Llama with joint matrices ----------------------------------- */

/* Its "yarn" is a longrope. */
static const FamilyWord unscaled[] = {{"default", ""}, {0}};
static const FamilySetting phi3_settings[] = {LLAMA_SETTINGS("1e-5", unscaled), {0}};
static const FamilyDemand phi3_demands[] = {OTHER_DEMANDS,
                                            {"layer_types", "full_attention"},
                                            {"original_max_position_embeddings", NULL},
                                            {0}};

static const FamilyTensor phi3_tensors[] = {
    {"embed_tokens.weight", "embed.weight"},
    {"layers.#.input_layernorm.weight", "layers.#.attn.1.norm.weight"},
    {"layers.#.self_attn.qkv_proj.weight", "layers.#.attn.1.qkv.weight", FAMILY_PART},
    {"layers.#.self_attn.o_proj.weight", "layers.#.attn.1.out.weight"},
    {"layers.#.post_attention_layernorm.weight", "layers.#.ffn.1.norm.weight"},
    {"layers.#.mlp.gate_up_proj.weight", "layers.#.ffn.1.gate_up.weight"},
    {"layers.#.mlp.down_proj.weight", "layers.#.ffn.1.down.weight"},
    {"norm.weight", "final_norm.weight"},
    {"lm_head.weight", "output.weight", FAMILY_MAY_MISS},
    {0}};

/* ---- Phi-1, Phi-2: Gunasekar et al. 2023 (arXiv:2306.11644): attention and feed-forward network side by side, of one norm,
 * which is two equal ones here --------------------------------------------------------------------- */

static const FamilySetting phi_settings[] = {
    ROTARY_SETTINGS,
    {"kv-heads", "num_key_value_heads", "=num_attention_heads"},
    {"activation", "hidden_act", "gelu_new", activations},
    {"gelu", "hidden_act", "gelu_new", gelus},
    {"norm-eps", "layer_norm_eps", "1e-5"},
    {"untied", "tie_word_embeddings", "false", untied},
    ROPE_SETTINGS("10000", scalings),
    {"output-bias", NULL, "yes"},
    {"plain-input", NULL, "yes"},
    {0}};
static const FamilyDemand phi_demands[] = {
    OTHER_DEMANDS, {"layer_types", "full_attention"}, {"qk_layernorm", "false"}, {0}};

static const FamilyTensor phi_tensors[] = {
    {"embed_tokens.weight", "embed.weight"},
    {"layers.#.input_layernorm.weight", "layers.#.attn.1.norm.weight"},
    {"layers.#.input_layernorm.bias", "layers.#.attn.1.norm.bias"},
    {"layers.#.attn.1.norm.weight", "layers.#.ffn.1.norm.weight", FAMILY_COPIED},
    {"layers.#.attn.1.norm.bias", "layers.#.ffn.1.norm.bias", FAMILY_COPIED},
    {"layers.#.self_attn.q_proj.weight", "layers.#.attn.1.qkv.weight", FAMILY_PART},
    {"layers.#.self_attn.k_proj.weight", "layers.#.attn.1.qkv.weight", FAMILY_PART},
    {"layers.#.self_attn.v_proj.weight", "layers.#.attn.1.qkv.weight", FAMILY_PART},
    {"layers.#.self_attn.q_proj.bias", "layers.#.attn.1.qkv.bias", FAMILY_PART},
    {"layers.#.self_attn.k_proj.bias", "layers.#.attn.1.qkv.bias", FAMILY_PART},
    {"layers.#.self_attn.v_proj.bias", "layers.#.attn.1.qkv.bias", FAMILY_PART},
    {"layers.#.self_attn.dense.weight", "layers.#.attn.1.out.weight"},
    {"layers.#.self_attn.dense.bias", "layers.#.attn.1.out.bias"},
    {"layers.#.mlp.fc1.weight", "layers.#.ffn.1.up.weight", FAMILY_BEHIND_COPY},
    {"layers.#.mlp.fc1.bias", "layers.#.ffn.1.up.bias", FAMILY_BEHIND_COPY},
    {"layers.#.mlp.fc2.weight", "layers.#.ffn.1.down.weight"},
    {"layers.#.mlp.fc2.bias", "layers.#.ffn.1.down.bias"},
    {"final_layernorm.weight", "final_norm.weight"},
    {"final_layernorm.bias", "final_norm.bias"},
    {"lm_head.weight", "output.weight", FAMILY_MAY_MISS},
    {"lm_head.bias", "output.bias"},
    {"*.rotary_emb.inv_freq"},
    {0}};

/* ---- Gemma: Mesnard et al. 2024 (arXiv:2403.08295), 2: Riviere et al. 2024 (arXiv:2408.00118), 3: Kamath et al. 2025
 * (arXiv:2503.19786): rows of words times sqrt(D), gains 1 + w; from 2 on norms behind sublayers ------------------- */

static const FamilyWord gated_tanh[] = {
    {"gelu_pytorch_tanh", "geglu"}, {"gelu_new", "geglu"}, {"gelu_fast", "geglu"}, {0}};
/* clang-format off */
#define GEMMA_SETTINGS(BASE)                                                                        \
    ROTARY_SETTINGS,                                                                                \
    {"kv-heads", "num_key_value_heads"},                                                           \
    {"activation", "hidden_activation", "gelu_pytorch_tanh", gated_tanh},                          \
    {"norm-kind", NULL, "rms"},                                                                    \
    {"norm-eps", "rms_norm_eps", "1e-6"},                                                          \
    {"untied", "tie_word_embeddings", "true", untied},                                             \
    {"head-width", "head_dim", "256"},                                                             \
    ROPE_SETTINGS(BASE, scalings)
#define GEMMA_DEMANDS LLAMA_DEMANDS, {"use_bidirectional_attention", "false"}
/* clang-format on */
/* Versions of transformers differ in which of two keys they read. */
static const FamilySetting gemma_settings[] = {
    GEMMA_SETTINGS("10000"), {"activation", "hidden_act", "gelu_pytorch_tanh", gated_tanh}, {0}};
static const FamilySetting gemma2_settings[] = {
    GEMMA_SETTINGS("10000"), {"output-norm", NULL, "yes"}, {0}};
static const FamilySetting gemma3_settings[] = {GEMMA_SETTINGS("1000000"),
                                                {"rotary-local", "rope_local_base_freq", "10000"},
                                                {"output-norm", NULL, "yes"},
                                                {"head-norm", NULL, "yes"},
                                                {0}};
static const FamilyDemand gemma_demands[] = {GEMMA_DEMANDS, {"layer_types", "full_attention"}, {0}};
/* Without the keys Gemma 2 has caps of 50 and 30. */
static const FamilyDemand gemma2_demands[] = {GEMMA_DEMANDS,
                                              {"attn_logit_softcapping", "", .absent = 1},
                                              {"final_logit_softcapping", "", .absent = 1},
                                              {0}};
static const FamilyDemand gemma3_demands[] = {
    GEMMA_DEMANDS, {"attn_logit_softcapping", ""}, {"final_logit_softcapping", ""}, {0}};

/* clang-format off */
#define GEMMA_TENSORS(AFTER, BEFORE, QUERY)                                                         \
    {"embed_tokens.weight", "embed.weight"},                                                       \
    {"layers.#.input_layernorm.weight", "layers.#.attn.1.norm.weight", FAMILY_ONE},                \
    {"layers.#.self_attn.q_proj.weight", "layers.#.attn.1.qkv.weight", QUERY},                     \
    {"layers.#.self_attn.k_proj.weight", "layers.#.attn.1.qkv.weight", QUERY},                     \
    {"layers.#.self_attn.v_proj.weight", "layers.#.attn.1.qkv.weight", QUERY},                     \
    {"layers.#.self_attn.q_proj.bias", "layers.#.attn.1.qkv.bias", FAMILY_QKV_BIAS | QUERY},       \
    {"layers.#.self_attn.k_proj.bias", "layers.#.attn.1.qkv.bias", FAMILY_QKV_BIAS | QUERY},       \
    {"layers.#.self_attn.v_proj.bias", "layers.#.attn.1.qkv.bias", FAMILY_QKV_BIAS | QUERY},       \
    {"layers.#.self_attn.o_proj.weight", "layers.#.attn.1.out.weight"},                            \
    {"layers.#.self_attn.o_proj.bias", "layers.#.attn.1.out.bias", FAMILY_OUT_BIAS},               \
    {"layers.#.post_attention_layernorm.weight", AFTER, FAMILY_ONE},                               \
    BEFORE                                                                                         \
    {"layers.#.mlp.gate_proj.weight", "layers.#.ffn.1.gate_up.weight"},                            \
    {"layers.#.mlp.up_proj.weight", "layers.#.ffn.1.gate_up.weight"},                              \
    {"layers.#.mlp.down_proj.weight", "layers.#.ffn.1.down.weight"},                               \
    {"norm.weight", "final_norm.weight", FAMILY_ONE},                                              \
    {"lm_head.weight", "output.weight", FAMILY_MAY_MISS},                                          \
    {"*.rotary_emb.inv_freq"}
#define GEMMA_BEHIND                                                                                \
    {"layers.#.pre_feedforward_layernorm.weight", "layers.#.ffn.1.norm.weight", FAMILY_ONE},       \
    {"layers.#.post_feedforward_layernorm.weight", "layers.#.norm.2.weight", FAMILY_ONE},
/* clang-format on */
static const FamilyTensor gemma_tensors[] = {GEMMA_TENSORS("layers.#.ffn.1.norm.weight", , 0), {0}};
static const FamilyTensor gemma2_tensors[] = {
    GEMMA_TENSORS("layers.#.norm.1.weight", GEMMA_BEHIND, FAMILY_QUERY), {0}};
static const FamilyTensor gemma3_tensors[] = {
    GEMMA_TENSORS("layers.#.norm.1.weight", GEMMA_BEHIND, 0),
    {"layers.#.self_attn.q_norm.weight", "layers.#.attn.1.q_norm.weight",
     FAMILY_ONE | FAMILY_QUERY},
    {"layers.#.self_attn.k_norm.weight", "layers.#.attn.1.k_norm.weight", FAMILY_ONE},
    {0}};

/* ---- BERT: Devlin et al. 2019, an encoder asked masked words ---------------------------------------- */

/* No relu: the layer before the words has the same activation, and ours is a GELU. */
static const FamilyWord gelu_words[] = {{"gelu_new", "gelu"},    {"gelu_pytorch_tanh", "gelu"},
                                        {"gelu_fast", "gelu"},   {"gelu", "gelu"},
                                        {"gelu_python", "gelu"}, {0}};

static const FamilySetting bert_settings[] = {SHAPE_SETTINGS("512"),
                                              {"activation", "hidden_act", "gelu", gelu_words},
                                              {"gelu", "hidden_act", "gelu", gelus},
                                              {"norm-eps", "layer_norm_eps", "1e-12"},
                                              {"untied", "tie_word_embeddings", "true", untied},
                                              {"norm", NULL, "post"},
                                              {"input-norm", NULL, "yes"},
                                              {"objective", NULL, "masked"},
                                              {"context", NULL, "sentence"},
                                              {"positions", NULL, "learned"},
                                              {"plain-input", NULL, "yes"},
                                              {0}};

static const FamilyDemand bert_demands[] = {
    {"position_embedding_type", "absolute", .null = 1}, {"is_decoder", "false"}, ALL_DEMANDS, {0}};

static const FamilyTensor bert_tensors[] = {
    {"embeddings.word_embeddings.weight", "embed.weight"},
    {"embeddings.position_embeddings.weight", "position.weight", FAMILY_MORE_ROWS},
    {"embeddings.token_type_embeddings.weight", "position.weight", FAMILY_ADDED},
    {"embeddings.LayerNorm.weight", "input.norm.weight"},
    {"embeddings.LayerNorm.bias", "input.norm.bias"},
    {"encoder.layer.#.attention.self.query.weight", "layers.#.attn.1.qkv.weight"},
    {"encoder.layer.#.attention.self.key.weight", "layers.#.attn.1.qkv.weight"},
    {"encoder.layer.#.attention.self.value.weight", "layers.#.attn.1.qkv.weight"},
    {"encoder.layer.#.attention.self.query.bias", "layers.#.attn.1.qkv.bias"},
    {"encoder.layer.#.attention.self.key.bias", "layers.#.attn.1.qkv.bias"},
    {"encoder.layer.#.attention.self.value.bias", "layers.#.attn.1.qkv.bias"},
    {"encoder.layer.#.attention.output.dense.weight", "layers.#.attn.1.out.weight"},
    {"encoder.layer.#.attention.output.dense.bias", "layers.#.attn.1.out.bias"},
    {"encoder.layer.#.attention.output.LayerNorm.weight", "layers.#.attn.1.norm.weight"},
    {"encoder.layer.#.attention.output.LayerNorm.bias", "layers.#.attn.1.norm.bias"},
    {"encoder.layer.#.intermediate.dense.weight", "layers.#.ffn.1.up.weight"},
    {"encoder.layer.#.intermediate.dense.bias", "layers.#.ffn.1.up.bias"},
    {"encoder.layer.#.output.dense.weight", "layers.#.ffn.1.down.weight"},
    {"encoder.layer.#.output.dense.bias", "layers.#.ffn.1.down.bias"},
    {"encoder.layer.#.output.LayerNorm.weight", "layers.#.ffn.1.norm.weight"},
    {"encoder.layer.#.output.LayerNorm.bias", "layers.#.ffn.1.norm.bias"},
    {"cls.predictions.transform.dense.weight", "head.dense.weight", FAMILY_HEAD},
    {"cls.predictions.transform.dense.bias", "head.dense.bias", FAMILY_HEAD},
    {"cls.predictions.transform.LayerNorm.weight", "head.norm.weight", FAMILY_HEAD},
    {"cls.predictions.transform.LayerNorm.bias", "head.norm.bias", FAMILY_HEAD},
    {"cls.predictions.bias", "output.bias", FAMILY_HEAD},
    {"cls.predictions.decoder.weight", "output.weight", FAMILY_MAY_MISS},
    {"cls.predictions.decoder.bias"},
    {"*.position_ids"},
    {"pooler.dense.weight", "pool.weight", FAMILY_HEAD | FAMILY_MAY_MISS},
    {"pooler.dense.bias", "pool.bias", FAMILY_HEAD | FAMILY_MAY_MISS},
    {"*seq_relationship.weight"},
    {"*seq_relationship.bias"},
    {0}};

/* ---- all ----------------------------------------------------------------------------------------- */

const Family families[] = {
    {"gpt2", "GPT2LMHeadModel", "transformer.", "transformer", gpt2_settings, gpt2_demands,
     gpt2_tensors},
    {"llama", "LlamaForCausalLM", "model.", "transformer", llama_settings, llama_demands,
     llama_tensors, .mark = {0, "<unk>"}, .bias = {"attention_bias", "attention_bias", "mlp_bias"}},
    {"mistral", "MistralForCausalLM", "model.", "transformer", llama_settings, mistral_demands,
     llama_tensors, .mark = {0, "<unk>"}, .bias = {"false", "false", "false"}, .window = "",
     .window_otherwise = 4096},
    {"bert", "BertForMaskedLM", "bert.", "transformer", bert_settings, bert_demands, bert_tensors,
     .mark = {"[SEP]", "[UNK]", "[CLS]", "[MASK]"}},
    {"qwen2", "Qwen2ForCausalLM", "model.", "transformer", llama_settings, mistral_demands,
     llama_tensors, .bias = {"true", "false", "false"}, .window = USE_WINDOW,
     .window_otherwise = 4096},
    {"qwen3", "Qwen3ForCausalLM", "model.", "transformer", qwen3_settings, mistral_demands,
     llama_tensors, .bias = {"attention_bias", "attention_bias", "false"}, .window = USE_WINDOW,
     .window_otherwise = 4096},
    {"phi3", "Phi3ForCausalLM", "model.", "transformer", phi3_settings, phi3_demands, phi3_tensors,
     .mark = {0, "<unk>"}, .bias = {"false", "false", "false"}, .window = "", .part = 1},
    {"phi", "PhiForCausalLM", "model.", "euler", phi_settings, phi_demands, phi_tensors,
     .part = .5},
    {"gemma", "GemmaForCausalLM", "model.", "transformer", gemma_settings, gemma_demands,
     gemma_tensors, .mark = {0, "<unk>"}, .bias = {"attention_bias", "attention_bias", "false"}},
    {"gemma2", "Gemma2ForCausalLM", "model.", "transformer", gemma2_settings, gemma2_demands,
     gemma2_tensors, .mark = {0, "<unk>"}, .bias = {"attention_bias", "attention_bias", "false"},
     .window = "", .window_every = 2, .window_otherwise = 4096, .query = "query_pre_attn_scalar"},
    {"gemma3_text", "Gemma3ForCausalLM", "model.", "transformer", gemma3_settings, gemma3_demands,
     gemma3_tensors, .mark = {0, "<unk>"}, .bias = {"attention_bias", "attention_bias", "false"},
     .window = "sliding_window_pattern", .window_every = 6, .window_otherwise = 4096,
     .query = "query_pre_attn_scalar"},
    {0}};

const char *const family_ignored[] = {
    "architectures", "auto_map", "dtype", "torch_dtype", "transformers_version", "use_cache",
    "use_bfloat16", "torchscript", "tokenizer_class", "prefix", "finetuning_task",
    "task_specific_params", "problem_type", "id2label", "label2id", "num_labels", "license",
    "is_llama_config", "transformers.js_config", "n_special", "predict_special_tokens",
    "tf_legacy_loss", "xla_device",
    /* tokens: the first three are read by foreign_config.c and foreign.c */
    "vocab_size", "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "cls_token_id",
    "unk_token_id", "mask_token_id", "decoder_start_token_id", "forced_bos_token_id",
    "forced_eos_token_id", "begin_suppress_tokens", "suppress_tokens", "bad_words_ids",
    /* training */
    "initializer_range", "initializer_factor", "attn_pdrop", "embd_pdrop", "resid_pdrop",
    "summary_first_dropout", "attention_dropout", "hidden_dropout", "resid_dropout", "embd_dropout",
    "hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout",
    "gradient_checkpointing", "max_length", "min_length",
    /* how transformers computes the same */
    "reorder_and_upcast_attn", "pretraining_tp", "chunk_size_feed_forward", "attn_implementation",
    "return_dict", "output_attentions", "output_hidden_states", "output_past", "n_ctx",
    /* other heads, and what a decoder alone has no use for */
    "summary_activation", "summary_proj_to_labels", "summary_type", "summary_use_proj",
    "cross_attention_hidden_size", "is_decoder", "type_vocab_size", "pooler_fc_size",
    "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type",
    "directionality", "tie_encoder_decoder",
    /* how generate draws, which our options say */
    "do_sample", "early_stopping", "num_beams", "num_beam_groups", "diversity_penalty",
    "temperature", "top_k", "top_p", "typical_p", "repetition_penalty", "length_penalty",
    "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "num_return_sequences", "output_scores",
    "return_dict_in_generate", "remove_invalid_values", "exponential_decay_length_penalty",
    /* read by foreign_config.c, where the family has a window */
    "sliding_window", "max_window_layers", "use_sliding_window", "rope_scaling", "rope_parameters",
    /* read where the family has them (Family.bias) */
    "attention_bias", "mlp_bias", "layer_types", "partial_rotary_factor", "query_pre_attn_scalar",
    "sliding_window_pattern", "cache_implementation", NULL};

const FamilyWord family_kinds[] = {{"vocab_size", FAMILY_WHOLE},
                                   {"sliding_window", FAMILY_WHOLE},
                                   {"max_window_layers", FAMILY_WHOLE},
                                   {"use_sliding_window", FAMILY_TRUTH},
                                   {"rope_scaling", FAMILY_OBJECT},
                                   {"rope_parameters", FAMILY_OBJECT},
                                   {"factor", FAMILY_NUMBER},
                                   {"low_freq_factor", FAMILY_NUMBER},
                                   {"high_freq_factor", FAMILY_NUMBER},
                                   {"original_max_position_embeddings", FAMILY_NUMBER},
                                   {"beta_slow", FAMILY_NUMBER},
                                   {"beta_fast", FAMILY_NUMBER},
                                   {"attention_factor", FAMILY_NUMBER},
                                   {"attention_bias", FAMILY_TRUTH},
                                   {"mlp_bias", FAMILY_TRUTH},
                                   {"partial_rotary_factor", FAMILY_NUMBER},
                                   {"query_pre_attn_scalar", FAMILY_NUMBER},
                                   {"sliding_window_pattern", FAMILY_WHOLE},
                                   {0}};

const char *family_bias(const Family *f, int kind)
{
    return f->bias[kind] ? f->bias[kind] : "true";
}

size_t family_place(size_t j, size_t R, size_t E)
{
    size_t half = E / 2, stays = half - R / 2;
    if (j < R) return j < R / 2 ? j : half + j - R / 2;
    return j - R < stays ? R / 2 + j - R : half + R / 2 + (j - R - stays);
}

void family_name(const char *prefix, const char *pattern, size_t layer, char out[FAMILY_NAME])
{
    size_t n = strcspn(pattern, "#");
    if (pattern[n])
        snprintf(out, FAMILY_NAME, "%s%.*s%zu%s", prefix, (int)n, pattern, layer, pattern + n + 1);
    else
        snprintf(out, FAMILY_NAME, "%s%s", prefix, pattern);
}
