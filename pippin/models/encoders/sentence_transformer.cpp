#include "pippin/models/encoders/sentence_transformer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/io/model_files.h"
#include "pippin/models/config/common.h"

namespace pippin::models {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSentenceConfig = "config_sentence_transformers.json";

// "Pooling" for "sentence_transformers.models.Pooling".
std::string class_of(std::string_view path) {
  return std::string(path.substr(path.rfind('.') + 1));
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// A module's configuration; messages name its folder too, because several files have this name.
Json config_of(const fs::path& folder) {
  return Json::parse(read_file(folder / "config.json", kPythonJson.max_bytes),
                     (folder.filename() / "config.json").string(), kPythonJson);
}

struct Way {
  std::string_view key, name;
  nn::Pooling way;
};
// In the order of older configurations, which set each by a separate key.
constexpr std::array kWays = {
    Way{"pooling_mode_cls_token", "cls", nn::Pooling::First},
    Way{"pooling_mode_max_tokens", "max", nn::Pooling::Max},
    Way{"pooling_mode_mean_tokens", "mean", nn::Pooling::Mean},
    Way{"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", nn::Pooling::MeanSqrt},
    Way{"pooling_mode_weightedmean_tokens", "weightedmean", nn::Pooling::WeightedMean},
    Way{"pooling_mode_lasttoken", "lasttoken", nn::Pooling::Last},
};

nn::Pooling way_called(const Json& config, std::string_view name) {
  const auto* const way = std::find_if(kWays.begin(), kWays.end(),
                                       [&](const Way& known) { return known.name == name; });
  if (way != kWays.end()) return way->way;
  fail(ErrorCode::Unsupported,
       "{}: '{}' is not supported (known: cls, max, mean, mean_sqrt_len_tokens, weightedmean, "
       "lasttoken)",
       config.where("pooling_mode"), name);
}

// pooling_mode: a name or a list, in the order of the parts of an embedding.
nn::PoolingOptions named_ways(const Json& config, const Json& mode) {
  if (!mode.is_array()) return {way_called(config, mode.as_string())};
  nn::PoolingOptions pooling;
  for (const std::string& name : mode.as_strings()) pooling.push_back(way_called(config, name));
  return pooling;
}

// If pooling_mode is given, older keys next to it do not count; if nothing is, the mean.
nn::PoolingOptions ways_of(const Json& config) {
  if (const auto mode = config.find("pooling_mode")) return named_ways(config, *mode);
  nn::PoolingOptions pooling;
  for (const Way& way : kWays) {
    if (config.get_bool_or(way.key, false)) pooling.push_back(way.way);
  }
  for (const auto& [key, value] : config.members()) {
    constexpr std::string_view kPrefix = "pooling_mode_";
    const bool known = std::any_of(kWays.begin(), kWays.end(),
                                   [&key = key](const Way& way) { return way.key == key; });
    if (known || !key.starts_with(kPrefix) || !value.as_bool()) continue;
    fail(ErrorCode::Unsupported, "{}: this way of pooling is not known", config.where(key));
  }
  if (pooling.empty()) pooling.push_back(nn::Pooling::Mean);
  return pooling;
}

void read_pooling(const fs::path& folder, SentenceTransformer& result) {
  const Json config = config_of(folder);
  result.pooling = ways_of(config);
  if (result.pooling.empty()) {
    fail(ErrorCode::InvalidFile, "{}: no way of pooling is chosen", config.where("pooling_mode"));
  }
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

constexpr std::string_view kEmbedding = "sentence_embedding", kScores = "scores";

// Whether a Dense gives the scores of a cross-encoder, which end its modules.
bool gives_scores(const Json& config) {
  const std::string input = config.get_string_or("module_input_name", kEmbedding);
  const std::string output = config.get_string_or("module_output_name", input);
  for (const auto& [key, name] :
       {std::pair("module_input_name", input), std::pair("module_output_name", output)}) {
    if (name == kEmbedding || (name == kScores && name == output && input == kEmbedding)) continue;
    fail(ErrorCode::Unsupported, "{}: '{}' is not supported (known: sentence_embedding, scores)",
         config.where(key), name);
  }
  return output == kScores;
}

SentenceDense read_dense(const fs::path& folder) {
  const Json config = config_of(folder);
  return {.folder = folder,
          .in = config.get_int_between("in_features", 1, kMaxSize),
          .out = config.get_int_between("out_features", 1, kMaxSize),
          .bias = config.get_bool_or("bias", true),
          .activation = activation_of(config),
          .residual = config.get_bool_or("use_residual", false)};
}

LogitScore read_logit_score(const fs::path& folder) {
  const Json config = config_of(folder);
  LogitScore score{config.get_int_between("true_token_id", 0, kMaxSize), std::nullopt};
  if (config.has("false_token_id")) {
    score.no = config.get_int_between("false_token_id", 0, kMaxSize);
  }
  const std::string input = config.get_string_or("module_input_name", "causal_logits");
  if (input != "causal_logits") {
    fail(ErrorCode::Unsupported, "{}: '{}' is not supported (known: causal_logits)",
         config.where("module_input_name"), input);
  }
  return score;
}

// Folders that modules.json names are below it.
fs::path folder_of(const fs::path& root, const Json& module) {
  const fs::path path = fs::path(module.get_string_or("path", "")).lexically_normal();
  if (path.is_absolute() || (!path.empty() && *path.begin() == "..")) {
    fail(ErrorCode::InvalidFile, "{}: '{}' is not a folder of the model", module.where("path"),
         path.string());
  }
  return path.empty() || path == "." ? root : root / path;
}

// Reads modules.json from its first module to its last.
class ModuleReader {
 public:
  ModuleReader(const fs::path& root, SentenceTransformer& result) : root_(root), result_(result) {}

  void read(const Json& module) {
    using Kind = SentenceTransformer::Kind;
    const std::string type = class_of(module.at("type").as_string());
    const fs::path folder = folder_of(root_, module);
    if (ended_) refuse(module, type, "after the scores");
    if (type == "Transformer" || type == "StaticEmbedding") {
      if (first_) refuse(module, type, "after another");
      first_ = true;
      result_.transformer = folder;
      if (type == "StaticEmbedding") result_.kind = Kind::Static;
      pooled_ = type == "StaticEmbedding";
    } else if (type == "Pooling") {
      if (pooled_) fail(ErrorCode::Unsupported, "{}: a second Pooling", module.where("type"));
      read_pooling(folder, result_);
      pooled_ = true;
    } else if (type == "Dropout") {
      // No effect at inference.
    } else if (type == "LogitScore" && !pooled_) {
      result_.kind = Kind::Logits;
      result_.logits = read_logit_score(folder);
      pooled_ = ended_ = true;
    } else if (!pooled_) {
      refuse(module, type, "before a Pooling");
    } else if (type == "Dense") {
      result_.modules.emplace_back(read_dense(folder));
      if (!gives_scores(config_of(folder))) return;
      result_.kind = Kind::Scores;
      ended_ = true;
    } else if (type == "LayerNorm") {
      const Json config = config_of(folder);
      result_.modules.emplace_back(
          SentenceLayerNorm{folder, config.get_int_between("dimension", 1, kMaxSize)});
    } else if (type == "Normalize") {
      result_.modules.emplace_back(SentenceNormalize{});
    } else {
      fail(ErrorCode::Unsupported,
           "{}: '{}' is not supported (known: Transformer, StaticEmbedding, Pooling, Dense, "
           "LayerNorm, Dropout, Normalize, LogitScore)",
           module.where("type"), type);
    }
  }
  bool pooled() const { return pooled_; }

 private:
  [[noreturn]] static void refuse(const Json& module, const std::string& type,
                                  std::string_view where) {
    fail(ErrorCode::Unsupported, "{}: '{}' {} is not supported", module.where("type"), type, where);
  }

  const fs::path& root_;
  SentenceTransformer& result_;
  bool first_ = false, pooled_ = false, ended_ = false;
};

// sentence_bert_config.json, which versions have named after the kind of encoder; nothing if
// absent.
std::optional<Json> read_text_settings(const fs::path& folder) {
  const auto files = files_of_role(folder, FileRole::SentenceTexts);
  const auto found = std::find_if(files.begin(), files.end(), [](const fs::path& path) {
    return path.filename() != kSentenceConfig;
  });
  return found == files.end() ? std::nullopt : std::optional(Json::load(*found, kPythonJson));
}

// The contents of config_sentence_transformers.json; an empty object if absent.
Json sentence_config(const fs::path& folder) {
  const fs::path path = folder / kSentenceConfig;
  if (!fs::exists(path)) return Json::parse("{}", kSentenceConfig);
  return Json::load(path, kPythonJson);
}

// "sequence-classification" and the like, in sentence-transformers 5.4 and later.
std::string transformer_task(const fs::path& folder) {
  const auto config = read_text_settings(folder);
  return config ? config->get_string_or("transformer_task", "") : "";
}

}  // namespace

bool is_sentence_transformer(const fs::path& folder) {
  return fs::exists(folder / "modules.json");
}

bool is_static_embedding(const fs::path& folder) {
  if (!fs::is_directory(folder)) return false;
  if (is_sentence_transformer(folder)) {
    const auto modules = Json::load(folder / "modules.json", kPythonJson).elements();
    return !modules.empty() &&
           class_of(modules.front().at("type").as_string()) == "StaticEmbedding";
  }
  const fs::path config = folder / "config.json";
  return fs::is_regular_file(config) &&
         Json::load(config, kPythonJson).get_string_or("model_type", "") == "model2vec";
}

// Tokenizers use 1e30 for no limit.
std::optional<int64_t> read_max_tokens(const fs::path& folder) {
  if (const auto config = read_text_settings(folder)) {
    const auto most = config->find_int("max_seq_length");
    if (most && (*most < 1 || *most > kMaxContext)) {
      fail(ErrorCode::InvalidFile, "{}: {} is not between 1 and {}",
           config->where("max_seq_length"), *most, kMaxContext);
    }
    if (most) return most;
  }
  const fs::path path = folder / "tokenizer_config.json";
  if (!fs::exists(path)) return std::nullopt;
  const auto most = Json::load(path, kPythonJson).find("model_max_length");
  if (!most || !most->is_integer(1, kMaxContext)) return std::nullopt;
  return most->as_int();
}

SentenceTransformer read_sentence_transformer(const fs::path& folder, bool causal) {
  using Kind = SentenceTransformer::Kind;
  SentenceTransformer result;
  result.transformer = folder;
  const Json config = sentence_config(folder);
  const std::string type = config.get_string_or("model_type", "");
  if (is_sentence_transformer(folder)) {
    ModuleReader reader(folder, result);
    for (const Json& module : Json::load(folder / "modules.json", kPythonJson).elements()) {
      reader.read(module);
    }
    const std::string task = transformer_task(result.transformer);
    const bool classifies =
        task == "sequence-classification" || (task.empty() && type == "CrossEncoder");
    if (!reader.pooled() && classifies) result.kind = Kind::Classifier;
    if (!reader.pooled() && !classifies) {
      fail(ErrorCode::Unsupported, "{}: no Pooling among the modules",
           (folder / "modules.json").string());
    }
  } else if (is_static_embedding(folder)) {
    result.kind = Kind::Static;
    if (Json::load(folder / "config.json", kPythonJson).get_bool_or("normalize", false)) {
      result.modules.emplace_back(SentenceNormalize{});
    }
  } else {
    result.pooling = {causal ? nn::Pooling::Last : nn::Pooling::Mean};
  }
  constexpr std::string_view kKnown[] = {"", "SentenceTransformer", "CrossEncoder"};
  if (std::find(std::begin(kKnown), std::end(kKnown), type) == std::end(kKnown)) {
    fail(ErrorCode::Unsupported,
         "{}: '{}' is not supported (known: SentenceTransformer, "
         "CrossEncoder)",
         config.where("model_type"), type);
  }
  if (type == "CrossEncoder" && !result.scores() && is_sentence_transformer(folder)) {
    fail(ErrorCode::Unsupported, "{}: a cross-encoder needs a module that gives its scores",
         (folder / "modules.json").string());
  }
  if (config.has("truncate_dim")) {
    result.dimensions = config.get_int_between("truncate_dim", 1, kMaxSize);
  }
  result.max_tokens = read_max_tokens(result.transformer);
  return result;
}

std::optional<PairMessages> read_pair_messages(const fs::path& folder) {
  const auto config = read_text_settings(folder);
  if (!config || config->get_string_or("transformer_task", "") != "text-generation") {
    return std::nullopt;
  }
  const auto modalities = config->find("modality_config");
  const auto message = modalities ? modalities->find("message") : std::nullopt;
  if (!message) return std::nullopt;
  PairMessages result;
  if (message->is_object()) {
    result.parts = message->get_string_or("format", "flat") == "structured";
  }
  const auto processing = config->find("processing_kwargs");
  const auto given = processing ? processing->find("chat_template") : std::nullopt;
  if (!given) return result;
  result.generation = given->get_bool_or("add_generation_prompt", false);
  result.context = given->dump();
  return result;
}

Prompts read_prompts(const fs::path& folder) {
  Prompts prompts;
  const Json config = sentence_config(folder);
  if (const auto all = config.find("prompts")) {
    for (const auto& [name, text] : all->members()) {
      prompts.by_name.emplace(name, text.as_string());
    }
  }
  prompts.default_name = config.find_string("default_prompt_name");
  if (prompts.default_name && !prompts.by_name.contains(*prompts.default_name)) {
    fail(ErrorCode::InvalidFile, "{}: unknown prompt '{}'", config.where("default_prompt_name"),
         *prompts.default_name);
  }
  return prompts;
}

bool lowers_case(const fs::path& folder) {
  const auto config = read_text_settings(folder);
  return config && config->get_bool_or("do_lower_case", false);
}

std::optional<std::string> read_score_activation(const fs::path& folder, const Json& config) {
  std::optional<std::string> given = sentence_config(folder).find_string("activation_fn");
  if (const auto own = config.find("sentence_transformers"); !given && own && own->is_object()) {
    given = own->find_string("activation_fn");
  }
  if (!given) given = config.find_string("sbert_ce_default_activation_function");
  if (!given) return std::nullopt;
  return lower(class_of(*given));
}

}  // namespace pippin::models
