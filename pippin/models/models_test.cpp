#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/error_testing.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/checkpoint.h"
#include "pippin/io/json.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/text/text.h"
#include "pippin/models/family/anemll.h"
#include "pippin/models/family/windowed.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/registry.h"

namespace pippin::models {
namespace {

constexpr char kConfig[] = R"({
  "model_type": "llama", "vocab_size": 11, "hidden_size": 8, "intermediate_size": 6,
  "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
  "max_position_embeddings": 16, "tie_word_embeddings": true})";

Tensors tensors() {
  Tensors all = {{"model.embed_tokens.weight", {11, 8}}, {"model.norm.weight", {8}}};
  const std::string layer = "model.layers.0.";
  all[layer + "input_layernorm.weight"] = {8};
  all[layer + "post_attention_layernorm.weight"] = {8};
  all[layer + "self_attn.q_proj.weight"] = {8, 8};
  all[layer + "self_attn.k_proj.weight"] = {4, 8};
  all[layer + "self_attn.v_proj.weight"] = {4, 8};
  all[layer + "self_attn.o_proj.weight"] = {8, 8};
  all[layer + "mlp.gate_proj.weight"] = {6, 8};
  all[layer + "mlp.up_proj.weight"] = {6, 8};
  all[layer + "mlp.down_proj.weight"] = {8, 6};
  return all;
}

// A folder with one value of the configuration replaced; "" removes the key.
class TinyModel {
 public:
  explicit TinyModel(const std::string& key = "", const std::string& value = "",
                     const Tensors& checkpoint = tensors()) {
    const Json config = Json::parse(kConfig, "config");
    std::string text = "{";
    const auto add = [&](std::string_view name, const std::string& content) {
      text += (text.size() > 1 ? ",\"" : "\"") + std::string(name) + "\":" + content;
    };
    for (const auto& [name, member] : config.members()) {
      if (name != key) add(name, member.dump());
    }
    if (!value.empty()) add(key, value);
    write_file(folder_ / "config.json", text + "}");
    write_checkpoint(folder_.path(), checkpoint);
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TempDir folder_;
};

std::string error_of(const TinyModel& model, const BuildOptions& options = {}) {
  return thrown_message([&] { build(model.path(), options); });
}

TEST(Llama, ConfigurationErrorsNameKeyAndNumber) {
  const struct {
    std::string key, value, message;
  } cases[] = {
      {"vocab_size", "0", "vocab_size: 0 is not between 1 and"},
      {"vocab_size", "\"many\"", "vocab_size: expected an integer"},
      {"hidden_size", "-8", "hidden_size: -8 is not between"},
      {"hidden_size", "9000000000000000000", "hidden_size: 9000000000000000000 is not between"},
      {"hidden_size", "9", "hidden_size: 9 is not a multiple of num_attention_heads 2"},
      {"num_hidden_layers", "1000000", "num_hidden_layers: 1000000 is not between 1 and 10000"},
      {"num_key_value_heads", "3",
       "num_attention_heads: 2 is not a multiple of "
       "num_key_value_heads 3"},
      {"head_dim", "5", "head_dim: 5 is odd"},
      {"rms_norm_eps", "0", "rms_norm_eps: 0 is not above 0"},
      {"rope_theta", "-1", "rope_theta: -1 is not above 0"},
      {"hidden_act", "\"mish\"", "hidden_act: 'mish' is not supported"},
      {"rope_scaling", R"({"rope_type": "spiral", "factor": 4})", "'spiral' is not supported"},
      {"rope_scaling", R"({"rope_type": "longrope", "long_factor": [1, 1]})",
       "short_factor: missing"},
      {"rope_scaling", R"({"rope_type": "longrope", "short_factor": [1, 1, 1]})",
       "short_factor: 3 numbers, 2 are needed"},
      {"clip_qkv", "8", "clip_qkv: 8 is not supported for this architecture"},
      {"quantization_config", R"({"bits": 4})",
       "quantization_config.quant_method: '' is not supported"},
      {"rope_scaling", R"({"type": "linear"})", "rope_scaling.factor: missing"},
      {"rope_scaling", R"({"type": "linear", "factor": 0})", "factor: 0 is not above 0"},
      {"rope_scaling", R"({"rope_type": "llama3", "factor": 8})",
       "original_max_position_embeddings: missing"},
      {"model_type", "\"gemma99\"", "model_type 'gemma99' is not supported (known: afmoe"},
      {"model_type", "", "model_type '' is not supported"},
      {"max_position_embeddings", "0", "max_position_embeddings: 0 is not between"},
  };
  for (const auto& item : cases) {
    EXPECT_THAT(error_of(TinyModel(item.key, item.value)), testing::HasSubstr(item.message))
        << item.key << " = " << item.value;
  }
}

// Tied or not, a head has its own bias.
TEST(Ernie, BiasOfTheHead) {
  for (const char* tied : {"true", "false"}) {
    const TempDir folder;
    write_random_model(folder.path(), fmt::format(R"({{
        "model_type": "ernie4_5_moe", "vocab_size": 11, "hidden_size": 8, "intermediate_size": 6,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
        "moe_intermediate_size": 4, "moe_num_experts": 4, "moe_k": 2, "use_bias": true,
        "max_position_embeddings": 16, "tie_word_embeddings": {}}})",
                                                  tied));
    const Checkpoint file = Checkpoint::open(folder.path());
    EXPECT_EQ(file.at("lm_head.bias").shape, std::vector<int64_t>{11});
  }
}

TEST(Gemma3n, ScaleOfTheCorrectionThatNothingUses) {
  const TempDir folder;
  write_random_model(folder.path(), R"({
      "model_type": "gemma3n_text", "vocab_size": 11, "hidden_size": 8, "intermediate_size": 6,
      "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4,
      "num_kv_shared_layers": 0, "hidden_size_per_layer_input": 4, "laurel_rank": 4,
      "vocab_size_per_layer_input": 11, "altup_num_inputs": 2, "altup_correct_scale": false,
      "activation_sparsity_pattern": 0.0, "max_position_embeddings": 16})");
  Tensors tensors;
  const Checkpoint file = Checkpoint::open(folder.path());
  for (const std::string& name : file.names()) tensors[name] = file.at(name).shape;
  const std::string altup = "model.layers.1.altup.";
  EXPECT_FALSE(tensors.contains(altup + "correct_output_scale"));
  tensors[altup + "correct_output_scale"] = {8};
  write_checkpoint(folder.path(), tensors);
  EXPECT_NO_THROW(build(folder.path()));
  tensors[altup + "another_scale"] = {8};
  write_checkpoint(folder.path(), tensors);
  EXPECT_THROW(build(folder.path()), Error);
}

TEST(Llama, CheckpointErrorsNameTensorAndShapes) {
  Tensors broken = tensors();
  broken.erase("model.layers.0.mlp.up_proj.weight");
  EXPECT_THAT(error_of(TinyModel("", "", broken)),
              testing::HasSubstr("tensor 'model.layers.0.mlp.up_proj.weight' of shape [6, 8] is "
                                 "missing"));
  broken = tensors();
  broken["model.layers.0.self_attn.k_proj.weight"] = {8, 8};
  EXPECT_THAT(error_of(TinyModel("", "", broken)),
              testing::HasSubstr("tensor 'model.layers.0.self_attn.k_proj.weight' has shape "
                                 "[8, 8], the configuration needs [4, 8]"));
  broken = tensors();
  broken["model.layers.1.mlp.up_proj.weight"] = {6, 8};
  broken["model.layers.1.mlp.gate_proj.weight"] = {6, 8};
  EXPECT_THAT(error_of(TinyModel("", "", broken)),
              testing::HasSubstr("tensor 'model.layers.1.mlp.gate_proj.weight' of shape [6, 8] "
                                 "belongs to no part of the model (and 1 more)"));
  EXPECT_THAT(error_of(TinyModel("tie_word_embeddings", "false")),
              testing::HasSubstr("tensor 'lm_head.weight' of shape [11, 8] is missing"));
}

TEST(Llama, TiedHeadsAndOldBuffers) {
  Tensors all = tensors();
  all["lm_head.weight"] = {11, 8};
  all["model.layers.0.self_attn.rotary_emb.inv_freq"] = {2};
  const TinyModel tied("", "", all);
  EXPECT_EQ(num_parameters(build(tied.path())), num_parameters(build(TinyModel().path())));
  const TinyModel untied("tie_word_embeddings", "false", all);
  EXPECT_EQ(num_parameters(build(untied.path())), num_parameters(build(tied.path())) + 88);
}

TEST(Llama, Context) {
  const TinyModel model;
  EXPECT_EQ(build(model.path()).functions[0].states[0].shape,
            (std::vector<int64_t>{1, 1, 1, 16, 4}));
  EXPECT_EQ(build(model.path(), {.context = 8}).functions[0].inputs[1].ranges[3].upper, 8);
  EXPECT_THAT(error_of(model, {.context = 17}), testing::HasSubstr("was made for 16"));
  EXPECT_THAT(error_of(model, {.context = -1}), testing::HasSubstr("too short"));
  const TinyModel large("max_position_embeddings", "131072");
  EXPECT_EQ(build(large.path()).functions[0].states[0].shape[3], 2048);
  // A model that runs here gets the context that fits into memory: a key and a value of 4 numbers,
  // and rows of 4 of both tables.
  const auto run_here = [&](uint64_t memory) {
    const auto built = build(
        large.path(), {.context_memory = memory, .compute = BuildOptions::Compute::Float32Direct});
    return std::pair(built.functions[0].states[0].shape[3],
                     built.metadata.user_defined.contains("pippin.own_context"));
  };
  constexpr uint64_t kPosition = 16 * sizeof(float);
  EXPECT_EQ(run_here(131072 * kPosition), std::pair(int64_t{131072}, false));
  EXPECT_EQ(run_here(131071 * kPosition), std::pair(int64_t{65536}, true));
  EXPECT_EQ(run_here(1), std::pair(int64_t{2048}, true));
}

TEST(Llama, FoldersThatAreNoModels) {
  const TempDir empty;
  EXPECT_ERROR(build(empty.path()), ErrorCode::NotFound,
               "no config.json, so this is not a Hugging Face model");
  EXPECT_ERROR(build(empty / "absent"), ErrorCode::NotFound, "absent: no such folder");
}

TEST(Llama, NamesOfTheProgramFollowTheCheckpoint) {
  const TinyModel tiny;
  const mil::Model model = build(tiny.path());
  mil::verify(model.program);
  std::string names;
  for (const auto& operation : model.program.function("main").block().operations()) {
    if (operation->type() == "const" || operation->outputs().empty()) continue;
    names += operation->type() + " " + operation->output()->name + "\n";
  }
  EXPECT_EQ(names, R"(shape causalMask_shape
gather end
shape inputIds_shape
gather query
sub past
expand_dims past_1d
concat dims
expand_dims end_1d
concat dims_1
slice_by_index rope_cos_rows
slice_by_index rope_sin_rows
gather model_embed_tokens
pow model_layers_0_input_layernorm_pow
reduce_mean model_layers_0_input_layernorm_reduce_mean
add model_layers_0_input_layernorm_add
rsqrt model_layers_0_input_layernorm_rsqrt
mul model_layers_0_input_layernorm_mul
mul model_layers_0_input_layernorm
linear model_layers_0_self_attn_q_proj
reshape model_layers_0_self_attn_reshape
transpose model_layers_0_self_attn_transpose
slice_by_index model_layers_0_self_attn_slice_by_index
slice_by_index model_layers_0_self_attn_slice_by_index_1
mul model_layers_0_self_attn_mul
concat model_layers_0_self_attn_concat
mul model_layers_0_self_attn_mul_1
mul model_layers_0_self_attn_mul_2
add model_layers_0_self_attn_add
linear model_layers_0_self_attn_k_proj
reshape model_layers_0_self_attn_reshape_1
transpose model_layers_0_self_attn_transpose_1
slice_by_index model_layers_0_self_attn_slice_by_index_2
slice_by_index model_layers_0_self_attn_slice_by_index_3
mul model_layers_0_self_attn_mul_3
concat model_layers_0_self_attn_concat_1
mul model_layers_0_self_attn_mul_4
mul model_layers_0_self_attn_mul_5
add model_layers_0_self_attn_add_1
linear model_layers_0_self_attn_v_proj
reshape model_layers_0_self_attn_reshape_2
transpose model_layers_0_self_attn_transpose_2
read_state model_layers_0_self_attn_read_state
concat dims_2
concat dims_3
slice_update model_layers_0_self_attn_slice_update
read_state model_layers_0_self_attn_read_state_1
read_state model_layers_0_self_attn_read_state_2
slice_update model_layers_0_self_attn_slice_update_1
read_state model_layers_0_self_attn_read_state_3
slice_by_index model_layers_0_self_attn_keys
slice_by_index model_layers_0_self_attn_values
expand_dims model_layers_0_self_attn_expand_dims
tile model_layers_0_self_attn_tile
reshape model_layers_0_self_attn_reshape_3
expand_dims model_layers_0_self_attn_expand_dims_1
tile model_layers_0_self_attn_tile_1
reshape model_layers_0_self_attn_reshape_4
scaled_dot_product_attention model_layers_0_self_attn_scaled_dot_product_attention
transpose model_layers_0_self_attn_transpose_3
reshape model_layers_0_self_attn_reshape_5
linear model_layers_0_self_attn_o_proj
add model_layers_0_add
pow model_layers_0_post_attention_layernorm_pow
reduce_mean model_layers_0_post_attention_layernorm_reduce_mean
add model_layers_0_post_attention_layernorm_add
rsqrt model_layers_0_post_attention_layernorm_rsqrt
mul model_layers_0_post_attention_layernorm_mul
mul model_layers_0_post_attention_layernorm
linear model_layers_0_mlp_gate_proj
silu model_layers_0_mlp_silu
linear model_layers_0_mlp_up_proj
mul model_layers_0_mlp_mul
linear model_layers_0_mlp_down_proj
add model_layers_0_add_1
pow model_norm_pow
reduce_mean model_norm_reduce_mean
add model_norm_add
rsqrt model_norm_rsqrt
mul model_norm_mul
mul model_norm
linear logits
)");
}

TEST(Llama, NoTensorHasMoreThanFiveAxes) {
  const TinyModel tiny;
  const mil::Model model = build(tiny.path());
  mil::for_each_operation(model.program.function("main").block(), [](const auto& operation) {
    for (const auto& output : operation.outputs()) {
      EXPECT_LE(output->type.dims.size(), 5u) << output->name;
    }
  });
}

// Models that a family cannot hold are rejected before anything is written.
TEST(Families, RefuseBlocksThatTheyHaveNoPlaceFor) {
  const std::string sizes =
      R"("vocab_size": 40, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, )";
  const TempDir convolutions, experts, spaces;
  write_random_model(convolutions.path(),
                     "{" + sizes + R"("model_type": "lfm2", "full_attn_idxs": [1]})");
  write_random_model(experts.path(),
                     "{" + sizes + R"("model_type": "mixtral", "num_local_experts": 4})");
  write_random_model(spaces.path(), "{" + sizes + R"("model_type": "falcon_h1", "mamba_d_ssm": 16,
                         "mamba_n_heads": 4, "mamba_d_state": 8})");
  const auto message = [](auto&& make) -> std::string {
    try {
      make();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unsupported);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message([&] { Windowed(convolutions.path(), {}); }),
            "layer 0 is a short convolution: the windowed family keeps keys and values only");
  EXPECT_EQ(message([&] { Anemll(convolutions.path(), {}); }),
            "'model.layers.0.conv.conv': a causal convolution has no form for this package family");
  EXPECT_EQ(
      message([&] { Windowed(spaces.path(), {}); }),
      "layer 0 is parallel attention and state space: the windowed family keeps keys and values "
      "only");
  EXPECT_EQ(message([&] { Anemll(spaces.path(), {}); }),
            "'model.layers.0.mamba.conv1d': a causal convolution has no form for this package "
            "family");
  EXPECT_EQ(message([&] { Anemll(experts.path(), {}); }),
            "'model.layers.0.block_sparse_moe': experts have no form for this package family");
  EXPECT_EQ(message([&] { Windowed(experts.path(), {}); }),
            "'model.layers.0.block_sparse_moe': experts have no form for this package family");
}

// A configuration that contradicts itself or its tensors.
TEST(StateSpaces, WrongSizesAreNamed) {
  const std::string sizes = R"("vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 1, )";
  const auto refused = [&](const std::string& config, ErrorCode code, const char* what) {
    const TempDir dir;
    try {
      write_random_model(dir.path(), "{" + sizes + config + "}");
      ADD_FAILURE() << "no error: " << config;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_THAT(error.what(), testing::HasSubstr(what));
    }
  };
  refused(R"("model_type": "mamba2", "num_heads": 3, "head_dim": 8)", ErrorCode::InvalidFile,
          "num_heads: 3 is not a multiple of n_groups 8");
  refused(R"("model_type": "mamba2", "num_heads": 3, "head_dim": 8, "n_groups": 1)",
          ErrorCode::InvalidFile, "num_heads: 3 heads of 8 are not expand * hidden_size = 32");
  refused(R"("model_type": "mamba2", "num_heads": 4, "head_dim": 8, "n_groups": 2,
             "time_step_limit": [2, 1])",
          ErrorCode::InvalidFile, "time_step_limit: 2 to 1 is not a range of steps");
  refused(R"("model_type": "mamba", "conv_kernel": 1)", ErrorCode::Unsupported,
          "conv_kernel: a convolution of one tap is not supported");
  refused(R"("model_type": "zamba2", "num_attention_heads": 4)", ErrorCode::InvalidFile,
          "layers_block_type: missing");
  refused(R"("model_type": "recurrent_gemma", "num_attention_heads": 4,
             "block_types": ["recurrent", "mamba"], "num_hidden_layers": 2)",
          ErrorCode::Unsupported, "block_types: 'mamba' is not supported");
  // The file has the sizes of another configuration; Python's Infinity as a limit means no limit.
  const std::string mamba2 = R"("model_type": "mamba2", "num_heads": 4, "head_dim": 8,
      "n_groups": 2, "state_size": )";
  const TempDir dir;
  write_random_model(dir.path(),
                     "{" + sizes + mamba2 + R"(4, "time_step_limit": [0.0, Infinity]})");
  write_file(dir / "config.json",
             "{" + sizes + mamba2 + R"(4, "time_step_limit": [0.0, {"__float__": "Infinity"}]})");
  EXPECT_NO_THROW(build(dir.path()));
  write_file(dir / "config.json", "{" + sizes + mamba2 + "6}");
  EXPECT_ERROR(build(dir.path()), ErrorCode::InvalidFile,
               "tensor 'backbone.layers.0.mixer.in_proj.weight' has shape [84, 16], the "
               "configuration needs [92, 16]");
}

// A decay of NaN would stay in the state forever.
TEST(StateSpaces, DecaysThatAreNoNumbersAreNamed) {
  for (const float bad : {NAN, INFINITY, 100.0f}) {
    const TempDir dir;
    write_random_model(dir.path(), R"({"model_type": "mamba2", "vocab_size": 40, "hidden_size": 16,
        "num_hidden_layers": 1, "num_heads": 4, "head_dim": 8, "n_groups": 2, "state_size": 4})");
    // The first tensor of the file that has four elements and this name is patched in place.
    const auto path = dir / "model.safetensors";
    std::string file = read_file(path, size_t{1} << 24);
    const std::string name = "\"backbone.layers.0.mixer.A_log\"", key = "\"data_offsets\":[";
    const size_t entry = file.find(key, file.find(name)) + key.size();
    uint64_t header = 0;
    std::memcpy(&header, file.data(), sizeof(header));
    const size_t place = sizeof(header) + header + std::stoull(file.substr(entry)) + sizeof(float);
    std::memcpy(file.data() + place, &bad, sizeof(bad));
    write_file(path, file);
    EXPECT_ERROR(build(dir.path()), ErrorCode::InvalidFile,
                 fmt::format("tensor 'backbone.layers.0.mixer.A_log' has {} as element 1 of 4",
                             static_cast<double>(bad)));
  }
}

// A run of several tokens would have to feed some twice.
TEST(CausalLm, ThatCarriesStatesTakesSingleTokens) {
  const TempDir dir;
  write_random_model(dir.path(), R"({"model_type": "lfm2", "vocab_size": 40, "hidden_size": 16,
      "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2, "full_attn_idxs": [0]})");
  const mil::Model model = build(dir.path(), {.query_lengths = {1, 8}});
  EXPECT_EQ(model.metadata.user_defined.at("pippin.carried_states"), "convCache");
  ASSERT_EQ(model.functions.front().states.size(), 3u);
  EXPECT_EQ(model.functions.front().states[0].shape, (std::vector<int64_t>{1, 1, 2, 2048, 4}));
  EXPECT_EQ(model.functions.front().states[2].name, "convCache");
  EXPECT_EQ(model.functions.front().states[2].shape, (std::vector<int64_t>{1, 1, 2, 16}));
  try {
    build(dir.path(), {.query_lengths = {8}});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_THAT(error.what(), testing::HasSubstr("carries 'convCache'"));
  }
}

}  // namespace
}  // namespace pippin::models
