// Configurations of the goldens with a kind of layer that is not known, with too few kinds, with
// groups that do not divide experts and with more chosen experts than there are: one line with key
// and value.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/error_testing.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "pippin/models/registry.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKinds[] = {"layer_types", "layers_block_type", "block_types",
                                  "mlp_layer_types", "indexer_types"};
// Models that do not use the key as it stands: an encoder, one without windows, greedy choice,
// no experts, all experts chosen.
const std::set<std::pair<std::string, std::string>> kUnused = {
    {"gemma3_embed", "layer_types"}, {"gemma_tanh_bf16", "layer_types"},
    {"deepseek_v2_lite", "n_group"}, {"granitemoehybrid_dense", "num_experts_per_tok"},
    {"doge", "num_experts_per_tok"}, {"kimi_k25_text", "n_group"}};
// Lists that are repeated to the number of layers, or give it.
bool gives_count(const std::string& model, const std::string& key) {
  return key == "block_types" || (model == "nemotron_h_latent" && key == "layers_block_type");
}

// Lists that may be longer than the model: its class cuts them.
bool may_be_longer(const std::string& model, const std::string& key) {
  return model == "deepseek_v4" || (model == "glm_moe_dsa" && key == "indexer_types");
}

using Members = std::map<std::string, std::string>;

std::string text_of(const Members& members) {
  JsonWriter json;
  json.begin_object();
  for (const auto& [key, value] : members) json.key(key).raw(value);
  return json.end_object().text();
}

Members members_of(const Json& config) {
  Members members;
  for (const auto& [key, value] : config.members()) members[std::string(key)] = value.dump();
  return members;
}

std::string list_of(const std::vector<std::string>& values) {
  JsonWriter json;
  json.begin_array();
  for (const std::string& value : values) json.value(value);
  return json.end_array().text();
}

// The error of a configuration with another value of a member, inside `text_config` if it is there.
std::string message_of(const Json& config, const std::string& key, const std::string& value) {
  Members all = members_of(config);
  const auto text = config.find("text_config");
  if (text && text->contains(key)) {
    Members own = members_of(*text);
    own[key] = value;
    all["text_config"] = text_of(own);
  } else {
    all[key] = value;
  }
  const TempDir folder;
  write_file(folder / "config.json", text_of(all));
  return thrown_message([&] { models::describe(folder.path()); });
}

void expect_line(const std::string& message, const std::vector<std::string>& parts) {
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "no " << part << " in: " << message;
  }
}

// The configurations of language models among the goldens.
void for_each_config(const auto& expect) {
  int count = 0;
  for (const char* const place : {"architectures", "architectures2", "models2026/text"}) {
    PIPPIN_SHARED_ENTRIES_OR_SKIP(folders, place);
    for (const fs::path& folder : folders) {
      if (!fs::exists(folder / "config.json")) continue;
      const Json config = Json::load(folder / "config.json", kPythonJson);
      const auto types = models::known_model_types();
      const std::string type = config.get_string_or("model_type", "");
      if (std::find(types.begin(), types.end(), type) == types.end()) continue;
      SCOPED_TRACE(folder.filename().string());
      expect(folder.filename().string(), config, config.find("text_config").value_or(config));
      ++count;
    }
  }
  EXPECT_GT(count, 100);
}

TEST(BadLayers, UnknownKindsAndWrongCountsAreNamed) {
  for_each_config([](const std::string& model, const Json& config, const Json& text) {
    for (const std::string key : kKinds) {
      if (!text.contains(key) || text.at(key).is_null() || kUnused.contains({model, key})) continue;
      std::vector<std::string> kinds = text.get_strings(key);
      const std::string last = kinds.back();
      kinds.back() = "no_such_kind";
      expect_line(message_of(config, key, list_of(kinds)), {"config.json", key, "no_such_kind"});
      if (gives_count(model, key)) continue;
      kinds.back() = last;
      if (may_be_longer(model, key)) {
        kinds.pop_back();
      } else {
        kinds.push_back(last);
      }
      expect_line(message_of(config, key, list_of(kinds)),
                  {"config.json", key, std::to_string(kinds.size())});
    }
  });
}

TEST(BadLayers, ExpertsThatDoNotDivideAreNamed) {
  for_each_config([](const std::string& model, const Json& config, const Json& text) {
    for (const std::string key : {"num_experts_per_tok", "moe_topk", "n_group"}) {
      if (!text.contains(key) || !text.at(key).is_number() || kUnused.contains({model, key}))
        continue;
      expect_line(message_of(config, key, "4099"), {"config.json", key, "4099"});
    }
    for (const char* const count : {"n_routed_experts", "num_experts", "num_local_experts"}) {
      const bool groups = text.contains("n_group") && text.get_int("n_group") > 1;
      if (!groups || !text.contains(count) || kUnused.contains({model, "n_group"})) continue;
      const int64_t experts = text.get_int(count);
      const std::string wrong = std::to_string(experts - 1);
      expect_line(message_of(config, "n_group", wrong), {"config.json", "n_group", wrong});
    }
  });
}

}  // namespace
}  // namespace pippin
