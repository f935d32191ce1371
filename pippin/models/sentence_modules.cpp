#include "pippin/models/sentence_modules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/file.h"
#include "pippin/io/model_files.h"
#include "pippin/models/common.h"

namespace pippin::models {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSentenceConfig = "config_sentence_transformers.json";

// "Pooling" of "sentence_transformers.models.Pooling".
std::string class_of(std::string_view path) {
  return std::string(path.substr(path.rfind('.') + 1));
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// A module's configuration; messages name its folder too, as several files are called so.
Json config_of(const fs::path& folder) {
  return Json::parse(read_file(folder / "config.json", kPythonJson.max_bytes),
                     (folder.filename() / "config.json").string(), kPythonJson);
}

struct Way {
  std::string_view key, name;
  bool nn::PoolingOptions::*set;
};
constexpr std::array kWays = {
    Way{"pooling_mode_cls_token", "cls", &nn::PoolingOptions::first},
    Way{"pooling_mode_max_tokens", "max", &nn::PoolingOptions::max},
    Way{"pooling_mode_mean_tokens", "mean", &nn::PoolingOptions::mean},
    Way{"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens",
        &nn::PoolingOptions::mean_sqrt},
    Way{"pooling_mode_weightedmean_tokens", "weightedmean", &nn::PoolingOptions::weighted_mean},
    Way{"pooling_mode_lasttoken", "lasttoken", &nn::PoolingOptions::last},
};

void set_by_name(nn::PoolingOptions& pooling, const Json& config, std::string_view name) {
  for (const Way& way : kWays) {
    if (way.name != name) continue;
    pooling.*way.set = true;
    return;
  }
  fail(ErrorCode::Unsupported,
       "{}: '{}' is not supported (known: cls, max, mean, mean_sqrt_len_tokens, weightedmean, "
       "lasttoken)",
       config.where("pooling_mode"), name);
}

void read_pooling(const fs::path& folder, SentenceModules& result) {
  const Json config = config_of(folder);
  nn::PoolingOptions pooling;
  for (const auto& [name, value] : config.members()) {
    const std::string_view key = name;
    constexpr std::string_view kPrefix = "pooling_mode_";
    if (!key.starts_with(kPrefix)) continue;
    const bool on = value.as_bool();
    const auto* const way = std::find_if(kWays.begin(), kWays.end(),
                                         [&](const Way& known) { return known.key == key; });
    if (way != kWays.end()) {
      pooling.*(way->set) = on;
    } else if (on) {
      fail(ErrorCode::Unsupported, "{}: this way of pooling is not known", config.where(key));
    }
  }
  if (const auto mode = config.find("pooling_mode")) {
    if (mode->is_array()) {
      for (const std::string& name : mode->as_strings()) set_by_name(pooling, config, name);
    } else {
      set_by_name(pooling, config, mode->as_string());
    }
  }
  if (nn::count(pooling) == 0) {
    fail(ErrorCode::InvalidFile, "{}: no way of pooling is chosen",
         (folder / "config.json").string());
  }
  result.pooling = pooling;
  result.pool_prompts = config.get_bool_or("include_prompt", true);
}

nn::Activation activation_of(const Json& config) {
  constexpr std::pair<std::string_view, nn::Activation> kKnown[] = {
      {"identity", nn::Activation::Identity}, {"tanh", nn::Activation::Tanh},
      {"relu", nn::Activation::Relu},         {"gelu", nn::Activation::Gelu},
      {"silu", nn::Activation::Silu},         {"sigmoid", nn::Activation::Sigmoid},
  };
  const std::string given = config.get_string_or("activation_function", "Tanh");
  for (const auto& [name, activation] : kKnown) {
    if (name == lower(class_of(given))) return activation;
  }
  fail(ErrorCode::Unsupported,
       "{}: '{}' is not supported (known: Identity, Tanh, ReLU, GELU, "
       "SiLU, Sigmoid)",
       config.where("activation_function"), given);
}

SentenceDense read_dense(const fs::path& folder) {
  const Json config = config_of(folder);
  return {.folder = folder,
          .in = config.get_int_between("in_features", 1, kMaxSize),
          .out = config.get_int_between("out_features", 1, kMaxSize),
          .bias = config.get_bool_or("bias", true),
          .activation = activation_of(config)};
}

// Folders that modules.json names lie below it.
fs::path folder_of(const fs::path& root, const Json& module) {
  const fs::path path = fs::path(module.get_string_or("path", "")).lexically_normal();
  if (path.is_absolute() || (!path.empty() && *path.begin() == "..")) {
    fail(ErrorCode::InvalidFile, "{}: '{}' is no folder of the model", module.where("path"),
         path.string());
  }
  return path.empty() || path == "." ? root : root / path;
}

void read_module(const fs::path& root, const Json& module, SentenceModules& result, bool& pooled) {
  const std::string type = class_of(module.at("type").as_string());
  const fs::path folder = folder_of(root, module);
  if (type == "Transformer") {
    result.transformer = folder;
  } else if (type == "Pooling") {
    if (pooled) fail(ErrorCode::Unsupported, "{}: a second Pooling", module.where("type"));
    read_pooling(folder, result);
    pooled = true;
  } else if (type == "Dropout") {
    // Nothing at inference.
  } else if (!pooled) {
    fail(ErrorCode::Unsupported, "{}: '{}' before a Pooling is not supported", module.where("type"),
         type);
  } else if (type == "Dense") {
    result.modules.emplace_back(read_dense(folder));
  } else if (type == "LayerNorm") {
    const Json config = config_of(folder);
    result.modules.emplace_back(
        SentenceLayerNorm{folder, config.get_int_between("dimension", 1, kMaxSize)});
  } else if (type == "Normalize") {
    result.modules.emplace_back(SentenceNormalize{});
  } else {
    fail(ErrorCode::Unsupported,
         "{}: '{}' is not supported (known: Transformer, Pooling, Dense, LayerNorm, Dropout, "
         "Normalize)",
         module.where("type"), type);
  }
}

// sentence_bert_config.json, which versions have called by the kind of encoder; nothing where
// there is none.
std::optional<Json> read_text_settings(const fs::path& folder) {
  const auto files = files_of_role(folder, FileRole::SentenceTexts);
  const auto found = std::find_if(files.begin(), files.end(), [](const fs::path& path) {
    return path.filename() != kSentenceConfig;
  });
  return found == files.end() ? std::nullopt : std::optional(Json::load(*found, kPythonJson));
}

std::optional<int64_t> max_tokens_of(const fs::path& folder) {
  const auto config = read_text_settings(folder);
  if (!config) return std::nullopt;
  const auto most = config->find_int("max_seq_length");
  if (most && (*most < 1 || *most > kMaxContext)) {
    fail(ErrorCode::InvalidFile, "{}: {} is not between 1 and {}", config->where("max_seq_length"),
         *most, kMaxContext);
  }
  return most;
}

}  // namespace

bool has_sentence_modules(const fs::path& folder) {
  return fs::exists(folder / "modules.json");
}

SentenceModules read_sentence_modules(const fs::path& folder, bool causal) {
  SentenceModules result;
  result.transformer = folder;
  bool pooled = false;
  if (has_sentence_modules(folder)) {
    for (const Json& module : Json::load(folder / "modules.json").elements()) {
      read_module(folder, module, result, pooled);
    }
    if (!pooled) {
      fail(ErrorCode::Unsupported, "{}: no Pooling among the modules",
           (folder / "modules.json").string());
    }
  } else {
    (causal ? result.pooling.last : result.pooling.mean) = true;
  }
  result.max_tokens = max_tokens_of(result.transformer);
  return result;
}

Prompts read_prompts(const fs::path& folder) {
  Prompts prompts;
  const fs::path path = folder / kSentenceConfig;
  if (!fs::exists(path)) return prompts;
  const Json config = Json::load(path, kPythonJson);
  if (const auto all = config.find("prompts")) {
    for (const auto& [name, text] : all->members()) {
      prompts.by_name.emplace(name, text.as_string());
    }
  }
  prompts.default_name = config.find_string("default_prompt_name");
  if (prompts.default_name && !prompts.by_name.contains(*prompts.default_name)) {
    fail(ErrorCode::InvalidFile, "{}: there is no prompt '{}'", config.where("default_prompt_name"),
         *prompts.default_name);
  }
  return prompts;
}

bool lowers_case(const fs::path& folder) {
  const auto config = read_text_settings(folder);
  return config && config->get_bool_or("do_lower_case", false);
}

std::optional<std::string> read_score_activation(const fs::path& folder, const Json& config) {
  const fs::path path = folder / kSentenceConfig;
  std::optional<std::string> given;
  if (fs::exists(path)) given = Json::load(path, kPythonJson).find_string("activation_fn");
  if (const auto own = config.find("sentence_transformers"); !given && own && own->is_object()) {
    given = own->find_string("activation_fn");
  }
  if (!given) given = config.find_string("sbert_ce_default_activation_function");
  if (!given) return std::nullopt;
  return lower(class_of(*given));
}

}  // namespace pippin::models
