// Checkpoints of transformers 4 with the configuration that transformers 5 saves for them, which
// has other keys for the same settings: equal logits. Also: settings of additional layers in such
// files.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/log.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/io/json.h"
#include "pippin/io/npz.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/stateful/model.h"
#include "tests/golden_testing.h"

namespace pippin {
namespace {

using models::BuildOptions;
using testing_models::Golden;

using Members = std::map<std::string, std::string>;  // the text of each value

Members members_of(const Json& object) {
  Members members;
  for (const auto& [key, value] : object.members()) members[std::string(key)] = value.dump();
  return members;
}

std::string text_of(const Members& members) {
  std::string text;
  for (const auto& [key, value] : members)
    text += (text.empty() ? "{\"" : ", \"") + key + "\": " + value;
  return text.empty() ? "{}" : text + "}";
}

std::string in_quotes(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "[" : ", ") + in_quotes(name);
  return text + "]";
}

void rename(Members& members, const std::string& from, const std::string& to) {
  const auto found = members.find(from);
  if (found == members.end()) return;
  members[to] = found->second;
  members.erase(from);
}

// The rope's keys as rope_parameters, with an object for each kind of layers if it has two ropes.
void move_rope(const Json& config, Members& members) {
  rename(members, "rotary_emb_base", "rope_theta");
  rename(members, "rotary_pct", "partial_rotary_factor");
  const auto scaling = config.find("rope_scaling");
  if (!members.contains("rope_theta")) return;
  Members rope = scaling ? members_of(*scaling) : Members();
  std::string kind = "default";
  if (scaling) {
    kind = scaling->get_string_or("rope_type", scaling->get_string_or("type", kind));
    if (kind == "su" || scaling->contains("short_factor")) kind = "longrope";
    if (scaling->contains("type")) rope["type"] = in_quotes(kind);
  }
  rope["rope_type"] = in_quotes(kind);
  rope["rope_theta"] = members["rope_theta"];
  for (const char* key : {"partial_rotary_factor", "original_max_position_embeddings"}) {
    const auto outer = members.find(key);
    if (outer != members.end()) rope.insert(*outer);
  }
  if (kind == "llama3" || kind == "yarn" || kind == "longrope") {
    rope.insert({"original_max_position_embeddings", members.at("max_position_embeddings")});
  } else {
    rope.erase("original_max_position_embeddings");
  }
  members["rope_parameters"] = text_of(rope);
  if (const auto local = members.find("rope_local_base_freq"); local != members.end()) {
    const Members sliding = {{"rope_type", "\"default\""}, {"rope_theta", local->second}};
    members["rope_parameters"] =
        text_of({{"full_attention", text_of(rope)}, {"sliding_attention", text_of(sliding)}});
  }
  for (const char* key :
       {"rope_theta", "rope_scaling", "partial_rotary_factor", "rope_local_base_freq"}) {
    members.erase(key);
  }
}

// One name for each layer.
std::vector<std::string> names_by(int64_t layers, const char* rule, const char* others,
                                  const auto& follows) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < layers; ++i) names.emplace_back(follows(i) ? rule : others);
  return names;
}

void name_layers(const Json& config, Members& members) {
  const std::string type = config.get_string("model_type");
  const int64_t layers = config.get_int_or("num_hidden_layers", 0);
  const std::set<std::string> hybrids = {"bamba", "granitemoehybrid", "jamba", "zamba", "zamba2"};
  if (type == "bamba") {
    const auto attends = config.at("attn_layer_indices").as_ints();
    members["layers_block_type"] =
        list_of(names_by(layers, "full_attention", "linear_attention", [&](int64_t i) {
          return std::find(attends.begin(), attends.end(), i) != attends.end();
        }));
    members.erase("attn_layer_indices");
  } else if (type == "jamba") {
    const int64_t period = config.get_int_or("attn_layer_period", 8);
    const int64_t offset = config.get_int_or("attn_layer_offset", 4);
    members["layers_block_type"] =
        list_of(names_by(layers, "full_attention", "linear_attention",
                         [&](int64_t i) { return i % period == offset; }));
  } else if (type == "lfm2" && config.has("full_attn_idxs")) {
    const auto attends = config.at("full_attn_idxs").as_ints();
    members["layer_types"] = list_of(names_by(layers, "full_attention", "conv", [&](int64_t i) {
      return std::find(attends.begin(), attends.end(), i) != attends.end();
    }));
    members.erase("full_attn_idxs");
  } else if (hybrids.contains(type)) {
    for (const char* key : {"layer_types", "layers_block_type"}) {
      if (!config.has(key)) continue;
      std::vector<std::string> names = config.get_strings(key);
      for (std::string& name : names) {
        name = name == "mamba" ? "linear_attention" : name == "attention" ? "full_attention" : name;
      }
      members[key] = list_of(names);
    }
  } else if ((type == "gemma2" || type == "gemma3_text" || type == "cohere2") &&
             !config.has("layer_types")) {
    const int64_t usual = type == "gemma2" ? 2 : type == "cohere2" ? 4 : 6;
    const int64_t step = config.get_int_or("sliding_window_pattern", usual);
    members["layer_types"] = list_of(names_by(layers, "full_attention", "sliding_attention",
                                              [&](int64_t i) { return (i + 1) % step == 0; }));
    rename(members, "sliding_window_pattern", "_sliding_window_pattern");
  }
}

std::string as_saved_by_5(const Json& config) {
  Members members = members_of(config);
  rename(members, "torch_dtype", "dtype");
  members["transformers_version"] = in_quotes("5.16.0");
  name_layers(config, members);
  move_rope(config, members);
  if (const auto text = config.find("text_config")) members["text_config"] = as_saved_by_5(*text);
  return text_of(members);
}

std::vector<float> logits_of(const std::filesystem::path& folder, const Golden& golden) {
  const int64_t context = std::min<int64_t>(128, models::describe(folder).decoder.context);
  const mil::Model model =
      models::build(folder, {.context = context, .compute = BuildOptions::Compute::Float32Direct});
  ThreadPool pool(1);
  const auto sequence = runtime::make_stateful_model(model, pool, {})->new_sequence();
  const auto size = std::min(golden.prompt.size(), static_cast<size_t>(context));
  return sequence->all_logits(std::span(golden.prompt).first(size));
}

// Links to all files but these.
void link_except(const std::filesystem::path& from, const TempDir& to,
                 const std::set<std::string>& others) {
  for (const auto& entry : std::filesystem::directory_iterator(from)) {
    const std::string name = entry.path().filename().string();
    if (!others.contains(name)) std::filesystem::create_symlink(entry.path(), to / name);
  }
}

bool is_decoder(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / "golden.npz")) return false;
  if (!std::filesystem::exists(folder / "config.json")) return false;
  const NpzFile golden = NpzFile::open(folder / "golden.npz");
  return golden.contains("gen_ids") && !golden.contains("decoder_input_ids");
}

void expect_same(const std::filesystem::path& folder) {
  SCOPED_TRACE(folder.filename().string());
  const TempDir saved;
  link_except(folder, saved, {"config.json"});
  const Json config = Json::load(folder / "config.json", kPythonJson);
  write_file(saved / "config.json", as_saved_by_5(config));
  const Golden golden(folder);
  try {
    EXPECT_TRUE(logits_of(saved.path(), golden) == logits_of(folder, golden));
  } catch (const Error& error) {
    ADD_FAILURE() << error.what() << "\n" << as_saved_by_5(config);
  }
}

TEST(SavedConfigurations, OfDecodersHaveTheSameLogits) {
  PIPPIN_SHARED_ENTRIES_OR_SKIP(folders, "architectures");
  for (const auto& folder : folders) {
    if (is_decoder(folder)) expect_same(folder);
  }
}

TEST(SavedConfigurations, OfExpertsAndHybridsHaveTheSameLogits) {
  PIPPIN_SHARED_ENTRIES_OR_SKIP(folders, "architectures2");
  for (const auto& folder : folders) {
    if (is_decoder(folder)) expect_same(folder);
  }
}

// A checkpoint of one tensor, after those of a golden.
void add_tensor(const std::filesystem::path& folder, const std::string& name) {
  SafetensorsWriter writer(folder / "model-further.safetensors", {{name, Dtype::F32, {1}}});
  const float value = 1;
  writer.append(std::as_bytes(std::span(&value, 1)));
  writer.finish();
}

std::string said_of(const std::filesystem::path& folder) {
  std::string said;
  const LogScope log(LogLevel::Info,
                     [&](LogLevel, std::string_view line) { said += std::string(line) + "\n"; });
  models::build(folder, {.context = 64});
  return said;
}

// Multi-token prediction layers: announced but missing, and present but ignored.
TEST(SavedConfigurations, FurtherLayersAreNamedOrLeftAlone) {
  const struct {
    std::string folder, key, tensor;
  } models[] = {
      {"models2026/text/qwen3_5_moe_text", "mtp_num_hidden_layers", "mtp.fc.weight"},
      {"models2026/text/nemotron_h_latent", "num_nextn_predict_layers", "mtp.layers.0.weight"},
      {"models2026/text/minimax_m2", "num_mtp_modules", "model.mtp.0.weight"},
      {"models2026/text/hy_v3", "num_nextn_predict_layers", "model.layers.3.eh_proj.weight"},
      {"models2026/text/deepseek_v4", "num_nextn_predict_layers", "mtp.0.e_proj.weight"},
      {"models2026/text/minimax_m3_text", "num_mtp_modules", "model.mtp.0.weight"},
      {"architectures2/kimi_k2", "num_nextn_predict_layers", "model.layers.3.eh_proj.weight"},
  };
  int found = 0;
  for (const auto& one : models) {
    SCOPED_TRACE(one.folder);
    const auto folder = shared_data(one.folder);
    if (!folder) continue;
    ++found;
    const TempDir with;
    link_except(*folder, with, {"config.json"});
    Members members = members_of(Json::load(*folder / "config.json", kPythonJson));
    members[one.key] = "1";
    write_file(with / "config.json", text_of(members));
    EXPECT_NE(said_of(with.path()).find(one.key + " is 1, and no tensor begins with"),
              std::string::npos);
    std::filesystem::rename(with / "model.safetensors", with / "model-first.safetensors");
    add_tensor(with.path(), one.tensor);
    EXPECT_EQ(said_of(with.path()).find("drafts"), std::string::npos);
  }
  if (found == 0) GTEST_SKIP() << shared_data_absent("models2026");
}

// Logits of a golden's checkpoint with some values of its configuration replaced; "" removes a key.
std::vector<float> changed_logits(const std::filesystem::path& folder, const Members& changes) {
  const TempDir changed;
  link_except(folder, changed, {"config.json"});
  Members members = members_of(Json::load(folder / "config.json", kPythonJson));
  for (const auto& [key, value] : changes) {
    members.erase(key);
    if (!value.empty()) members[key] = value;
  }
  write_file(changed / "config.json", text_of(members));
  return logits_of(changed.path(), Golden(folder));
}

// Lists that also have entries of the prediction modules.
TEST(SavedConfigurations, ListsOfLayersMayBeLonger) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/text/deepseek_v4");
  const std::string kinds =
      R"("sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention",
         "compressed_sparse_attention")";
  const std::string further = R"(["hash_moe", "moe", "moe", "moe", "moe", "moe"])";
  const auto as_published = logits_of(folder, Golden(folder));
  EXPECT_TRUE(changed_logits(folder, {{"layer_types", "[" + kinds + R"(, "sliding_attention"])"},
                                      {"mlp_layer_types", further},
                                      {"num_nextn_predict_layers", "2"}}) == as_published);
  EXPECT_TRUE(changed_logits(folder, {{"layer_types", ""},
                                      {"compress_ratios", "[0, 4, 128, 4, 0]"},
                                      {"mlp_layer_types", ""},
                                      {"num_hash_layers", "1"}}) == as_published);
  EXPECT_ERROR(changed_logits(folder, {{"layer_types", ""}, {"compress_ratios", "[0, 4, 128]"}}),
               ErrorCode::InvalidFile, "compress_ratios: 3 for 4 layers");
  EXPECT_ERROR(changed_logits(folder, {{"mlp_layer_types", R"(["hash_moe", "moe", "moe"])"}}),
               ErrorCode::InvalidFile, "mlp_layer_types: 3 for 4 layers");
}

// Step 3.5's published keys, whose lists have values of the prediction layer too, and its limits.
TEST(SavedConfigurations, StepMayHaveItsPublishedKeys) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/text/step3p7_text");
  const auto as_saved = logits_of(folder, Golden(folder));
  const auto logits_with = [&](const Members& changes) {
    Members text = members_of(Json::load(folder / "config.json", kPythonJson).at("text_config"));
    for (const std::string_view key :
         {"rope_parameters", "mlp_layer_types", "num_sliding_attention_heads", "share_expert_dim",
          "n_routed_experts", "num_experts_per_tok", "num_key_value_heads"}) {
      text.erase(std::string(key));
    }
    for (const auto& [key, value] : changes) text[key] = value;
    return changed_logits(folder, {{"text_config", text_of(text)}});
  };
  Members published = {
      {"layer_types", R"(["full_attention", "full_attention", "sliding_attention"])"},
      {"rope_theta", "[20.0, 10000.0, 5.0]"},
      {"partial_rotary_factors", "[0.5, 1.0, 0.5]"},
      {"num_nextn_predict_layers", "1"},
      {"moe_layers_enum", R"("1,2")"},
      {"attention_other_setting", R"({"num_attention_heads": 3})"},
      {"swiglu_limits", "[0.0, 1e6, 2.0]"},
      {"share_expert_dims", "8"},
      {"moe_num_experts", "4"},
      {"moe_top_k", "2"},
      {"num_attention_groups", "1"}};
  EXPECT_TRUE(logits_with(published) == as_saved);
  // The last token's first logits, as computed with NumPy.
  published["swiglu_limits"] = "[0, 0.05, 0]";
  published["swiglu_limits_shared"] = "[0.02, 0.03, null]";
  const auto limited = logits_with(published);
  const std::vector<float> expected = {-1.38744988f, -0.49414671f, -0.04380891f, -0.1048463f};
  const size_t last = limited.size() - Golden(folder).vocabulary;
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(limited[last + i], expected[i], 1e-5) << i;
  }
  published["swiglu_limits"] = "[1]";
  EXPECT_ERROR(logits_with(published), ErrorCode::InvalidFile, "swiglu_limits: 1 for 2 layers");
}

// The first `columns` of each row of `width`.
std::vector<float> first_columns(std::span<const float> rows, size_t width, size_t columns) {
  std::vector<float> result;
  for (size_t begin = 0; begin < rows.size(); begin += width) {
    const auto row = rows.subspan(begin, columns);
    result.insert(result.end(), row.begin(), row.end());
  }
  return result;
}

// A head that is padded has no logits of the rows beyond the vocabulary.
TEST(SavedConfigurations, PaddedHeadsGiveTheVocabulary) {
  PIPPIN_SHARED_OR_SKIP(folder, "models2026/text/inkling");
  const auto all = logits_of(folder, Golden(folder));
  const size_t width = Golden(folder).vocabulary;
  for (const size_t rows : {width - 1, width - 27}) {
    EXPECT_TRUE(changed_logits(folder, {{"unpadded_vocab_size", std::to_string(rows)}}) ==
                first_columns(all, width, rows));
  }
  // A size that is not smaller has no effect, and the head is never the embedding.
  EXPECT_TRUE(changed_logits(folder, {{"unpadded_vocab_size", std::to_string(width + 9)},
                                      {"tie_word_embeddings", "true"}}) == all);
}

// Types of an image model with a language model; the latter has a golden.
const std::set<std::string_view> kWrappers = {"aria",          "cohere_compass", "emu3",
                                              "gemma3n",       "gemma4_unified", "idefics2",
                                              "llama4",        "llava_qwen2",    "inkling_mm_model",
                                              "minimax_m3_vl", "mllama",         "qwen3_omni_moe"};

void collect_types(const Json& config, std::set<std::string>& types) {
  if (const auto type = config.find_string("model_type")) types.insert(*type);
  for (const auto& [key, value] : config.members()) {
    if (value.is_object()) collect_types(value, types);
  }
}

// A new architecture needs outputs of another implementation.
TEST(SavedConfigurations, EveryArchitectureHasAGolden) {
  std::set<std::string> types;
  for (const char* const place :
       {"architectures", "architectures2", "models2026/text", "models2026/vlm"}) {
    PIPPIN_SHARED_ENTRIES_OR_SKIP(folders, place);
    for (const auto& folder : folders) {
      if (!std::filesystem::exists(folder / "golden.npz") ||
          !std::filesystem::exists(folder / "config.json")) {
        continue;
      }
      collect_types(Json::load(folder / "config.json", kPythonJson), types);
    }
  }
  if (wants_more_entries()) GTEST_SKIP() << shared_data_absent("architectures");
  for (const std::string_view type : models::known_model_types()) {
    const bool has = types.contains(std::string(type));
    EXPECT_TRUE(has || kWrappers.contains(type)) << type << " has no golden";
    EXPECT_FALSE(has && kWrappers.contains(type)) << type << " has a golden";
  }
}

}  // namespace
}  // namespace pippin
