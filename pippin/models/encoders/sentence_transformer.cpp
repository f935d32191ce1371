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
#include "pippin/models/encoders/sentence_pooling.h"

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

constexpr std::string_view kEmbedding = "sentence_embedding", kScores = "scores",
                           kTokens = "token_embeddings";

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
  const Json config = module_config(folder);
  return {.folder = folder,
          .in = config.get_int_between("in_features", 1, kMaxSize),
          .out = config.get_int_between("out_features", 1, kMaxSize),
          .bias = config.get_bool_or("bias", true),
          .activation = activation_of(config),
          .residual = config.get_bool_or("use_residual", false)};
}

LogitScore read_logit_score(const fs::path& folder) {
  const Json config = module_config(folder);
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
  using Kind = SentenceTransformer::Kind;

  // `late`: the modules are those of a model that gives a vector for each token.
  ModuleReader(const fs::path& root, bool late, SentenceTransformer& result)
      : root_(root), result_(result), late_(late) {}

  void read(const Json& module) {
    const std::string type = class_of(module.at("type").as_string());
    const fs::path folder = folder_of(root_, module);
    if (ended_) refuse(module, type, "after the scores");
    if (type == "Transformer" || type == "MLMTransformer" || type == "StaticEmbedding") {
      if (first_) refuse(module, type, "after another");
      first_ = true;
      result_.transformer = folder;
      if (type == "StaticEmbedding") result_.kind = Kind::Static;
      pooled_ = type == "StaticEmbedding";
    } else if (type == "Pooling") {
      if (pooled_) fail(ErrorCode::Unsupported, "{}: a second Pooling", module.where("type"));
      const SentencePooling pooling = read_pooling(folder);
      result_.pooling = pooling.ways;
      result_.pool_prompts = pooling.pool_prompts;
      pooled_ = true;
    } else if (type == "SpladePooling" && !pooled_) {
      result_.kind = Kind::Sparse;
      result_.splade = read_splade_pooling(folder);
      pooled_ = ended_ = true;
    } else if (late_ && !pooled_ && read_of_tokens(type, folder, module)) {
      result_.kind = Kind::Tokens;
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
      if (!gives_scores(module_config(folder))) return;
      result_.kind = Kind::Scores;
      ended_ = true;
    } else if (type == "LayerNorm") {
      const Json config = module_config(folder);
      result_.modules.emplace_back(
          SentenceLayerNorm{folder, config.get_int_between("dimension", 1, kMaxSize)});
    } else if (type == "Normalize") {
      result_.modules.emplace_back(SentenceNormalize{});
    } else {
      fail(ErrorCode::Unsupported,
           "{}: '{}' is not supported (known: Transformer, MLMTransformer, StaticEmbedding, "
           "Pooling, SpladePooling, Dense, LayerNorm, Dropout, Normalize, MultiVectorMask, "
           "LogitScore)",
           module.where("type"), type);
    }
  }
  bool pooled() const { return pooled_ || result_.kind == Kind::Tokens; }

 private:
  // A module that changes each token's vector; false for others.
  bool read_of_tokens(const std::string& type, const fs::path& folder, const Json& module) {
    if (type == "MultiVectorMask") {
      result_.late->add_mask(module_config(folder));
      return true;
    }
    if (type != "Dense" && type != "Normalize") return false;
    const fs::path file = folder / "config.json";
    // Pylate's modules have no name of an input, those of sentence-transformers do.
    const std::string input =
        fs::exists(file) ? module_config(folder).get_string_or("module_input_name", kTokens)
                         : std::string(kTokens);
    if (input != kTokens) refuse(module, type, "of '" + input + "'");
    if (type == "Dense") {
      result_.modules.emplace_back(read_dense(folder));
    } else {
      result_.modules.emplace_back(SentenceNormalize{});
    }
    return true;
  }
  [[noreturn]] static void refuse(const Json& module, const std::string& type,
                                  std::string_view where) {
    fail(ErrorCode::Unsupported, "{}: '{}' {} is not supported", module.where("type"), type, where);
  }

  const fs::path& root_;
  SentenceTransformer& result_;
  bool late_;
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

// Completes the settings after all modules: pylate's vectors always have length 1, and newer models
// have the preparation of texts in the encoder's folder.
void finish_late(const fs::path& folder, const Json& config, SentenceTransformer& result) {
  if (result.kind != SentenceTransformer::Kind::Tokens) {
    fail(ErrorCode::Unsupported,
         "{}: a model with a vector for each token needs a Dense, Normalize or MultiVectorMask",
         (folder / "modules.json").string());
  }
  if (LateInteraction::is_pylate(config)) result.modules.emplace_back(SentenceNormalize{});
  if (const auto settings = read_text_settings(result.transformer)) {
    result.late->add_settings(*settings);
  }
  result.late->find_token(result.transformer);
}

}  // namespace

namespace {

// The folder of the module CLIPModel, if modules.json has only this one, or norms after it.
std::optional<fs::path> find_pair(const fs::path& folder) {
  const fs::path file = folder / "modules.json";
  if (!fs::is_regular_file(file)) return std::nullopt;
  const auto modules = Json::load(file, kPythonJson).elements();
  for (size_t i = 0; i < modules.size(); ++i) {
    const std::string type = class_of(modules[i].at("type").as_string());
    if (type != (i == 0 ? "CLIPModel" : "Normalize")) return std::nullopt;
  }
  if (modules.empty()) return std::nullopt;
  return folder_of(folder, modules.front());
}

}  // namespace

bool is_sentence_transformer(const fs::path& folder) {
  return fs::exists(folder / "modules.json") && !find_pair(folder);
}

fs::path pair_folder(const fs::path& folder) {
  return find_pair(folder).value_or(folder);
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
  const bool late = LateInteraction::is_declared(config);
  if (late) result.late.emplace(LateInteraction::read(config));
  if (is_sentence_transformer(folder)) {
    ModuleReader reader(folder, late, result);
    for (const Json& module : Json::load(folder / "modules.json", kPythonJson).elements()) {
      reader.read(module);
    }
    if (late) finish_late(folder, config, result);
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
  constexpr std::string_view kKnown[] = {
      "", "SentenceTransformer", "CrossEncoder", "SparseEncoder", "ColBERT", "MultiVectorEncoder"};
  if (std::find(std::begin(kKnown), std::end(kKnown), type) == std::end(kKnown)) {
    fail(ErrorCode::Unsupported,
         "{}: '{}' is not supported (known: SentenceTransformer, CrossEncoder, SparseEncoder, "
         "ColBERT, MultiVectorEncoder)",
         config.where("model_type"), type);
  }
  if (type == "SparseEncoder" && result.kind != Kind::Sparse) {
    fail(ErrorCode::Unsupported, "{}: a sparse encoder without a SpladePooling is not supported",
         (folder / "modules.json").string());
  }
  if (result.kind == Kind::Sparse && config.has("max_active_dims")) {
    result.active = config.get_int_between("max_active_dims", 1, kMaxSize);
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

std::string read_similarity(const fs::path& folder) {
  const Json config = sentence_config(folder);
  const std::string given = config.get_string_or("similarity_fn_name", "");
  std::string name = lower(given);
  constexpr std::string_view kKnown[] = {"", "dot", "cosine", "maxsim", "meanmaxsim"};
  if (std::find(std::begin(kKnown), std::end(kKnown), name) != std::end(kKnown)) return name;
  fail(ErrorCode::Unsupported, "{}: '{}' is not supported (known: dot, cosine, MaxSim, MeanMaxSim)",
       config.where("similarity_fn_name"), given);
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
