#include "pippin/models/encoders/late_interaction.h"

#include <algorithm>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/models/config/common.h"

namespace pippin::models {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kQueryTokens = 32, kDocumentTokens = 180;  // pylate's defaults
constexpr std::string_view kPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
constexpr const char* kPylateKeys[] = {"query_prefix",       "document_prefix",
                                       "query_length",       "document_length",
                                       "do_query_expansion", "attend_to_expansion_tokens",
                                       "skiplist_words"};

std::optional<int64_t> length_of(const Json& object, const char* key) {
  if (!object.has(key)) return std::nullopt;
  return object.get_int_between(key, 2, kMaxContext);
}

std::vector<std::string> punctuation() {
  std::vector<std::string> words;
  words.reserve(kPunctuation.size());
  for (const char word : kPunctuation) words.emplace_back(1, word);
  return words;
}

std::vector<std::string> words_of(const Json& config, const char* key) {
  const auto words = config.find(key);
  return words ? words->as_strings() : std::vector<std::string>{};
}

// A special token: a text, or an object that has one.
std::string special_token(const Json& config, const char* key) {
  const auto token = config.find(key);
  if (!token) return "";
  return token->is_object() ? token->get_string_or("content", "") : std::string(token->as_string());
}

std::optional<LateInteraction::Expansion> expansion_of(const Json& given) {
  const std::string strategy = given.get_string_or("strategy", "");
  if (strategy != "fixed" && strategy != "min") {
    fail(ErrorCode::Unsupported, "{}: '{}' is not supported (known: fixed, min)",
         given.where("strategy"), strategy);
  }
  return LateInteraction::Expansion{.length = given.get_int_between("length", 1, kMaxContext),
                                    .cuts = strategy == "fixed",
                                    .attended = given.get_bool_or("attend", false),
                                    .token = given.get_string_or("token", "")};
}

void write_side(JsonWriter& json, const char* name, const LateInteraction::Side& side) {
  json.key(name).begin_object().member("prefix", side.prefix).member("skips", side.skips);
  if (side.length) json.member("length", *side.length);
  json.end_object();
}

LateInteraction::Side side_of(const Json& json, const char* name) {
  const Json side = json.at(name);
  return {side.get_string("prefix"), length_of(side, "length"), side.get_bool_or("skips", false)};
}

}  // namespace

bool LateInteraction::is_pylate(const Json& config) {
  const std::string type = config.get_string_or("model_type", "");
  if (type == "MultiVectorEncoder") return false;
  return type == "ColBERT" || std::any_of(std::begin(kPylateKeys), std::end(kPylateKeys),
                                          [&](const char* key) { return config.contains(key); });
}

bool LateInteraction::is_declared(const Json& config) {
  return config.get_string_or("model_type", "") == "MultiVectorEncoder" || is_pylate(config);
}

LateInteraction LateInteraction::read(const Json& config) {
  LateInteraction late;
  if (!is_pylate(config)) return late;
  late.query.prefix = config.get_string_or("query_prefix", "[Q] ");
  late.document.prefix = config.get_string_or("document_prefix", "[D] ");
  late.query.length = length_of(config, "query_length").value_or(kQueryTokens);
  late.document.length = length_of(config, "document_length").value_or(kDocumentTokens);
  late.document.skips = true;
  late.skipped = config.has("skiplist_words") ? words_of(config, "skiplist_words") : punctuation();
  if (config.get_bool_or("do_query_expansion", true)) {
    late.expansion = Expansion{.length = *late.query.length,
                               .attended = config.get_bool_or("attend_to_expansion_tokens", false),
                               .token = ""};
  }
  return late;
}

void LateInteraction::add_settings(const Json& settings) {
  if (const auto length = length_of(settings, "query_length")) query.length = length;
  if (const auto length = length_of(settings, "document_length")) document.length = length;
  if (const auto given = settings.find("query_expansion")) {
    expansion = expansion_of(*given);
    if (expansion->cuts) query.length = expansion->length;
  }
}

void LateInteraction::add_mask(const Json& config) {
  if (const auto kept = config.find("keep_only_token_ids"); kept && kept->size() > 0) {
    fail(ErrorCode::Unsupported, "{}: vectors of pictures are not supported",
         config.where("keep_only_token_ids"));
  }
  skipped = words_of(config, "skiplist_words");
  const std::vector<std::string> tasks = config.has("skiplist_tasks")
                                             ? words_of(config, "skiplist_tasks")
                                             : std::vector<std::string>{"document"};
  const auto has = [&](const char* task) {
    return std::find(tasks.begin(), tasks.end(), task) != tasks.end();
  };
  query.skips = has("query");
  document.skips = has("document");
}

void LateInteraction::find_token(const fs::path& folder) {
  if (!expansion || !expansion->token.empty()) return;
  for (const char* key : {"mask_token", "eos_token"}) {
    for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
      if (!fs::exists(folder / name) || !expansion->token.empty()) continue;
      expansion->token = special_token(Json::load(folder / name, kPythonJson), key);
    }
  }
  if (!expansion->token.empty()) return;
  fail(ErrorCode::InvalidFile, "{}: tokenizer_config.json has no mask_token to pad queries with",
       folder.string());
}

std::string LateInteraction::json() const {
  JsonWriter json;
  json.begin_object();
  write_side(json, "query", query);
  write_side(json, "document", document);
  if (expansion) {
    json.key("expansion").begin_object().member("length", expansion->length);
    json.member("cuts", expansion->cuts).member("attended", expansion->attended);
    json.member("token", expansion->token).end_object();
  }
  json.key("skipped").begin_array();
  for (const std::string& word : skipped) json.value(word);
  json.end_array();
  return json.end_object().text();
}

LateInteraction LateInteraction::from_json(std::string_view text) {
  const Json json = Json::parse(text, "pippin.late_interaction");
  LateInteraction late{.query = side_of(json, "query"),
                       .document = side_of(json, "document"),
                       .expansion = std::nullopt,
                       .skipped = words_of(json, "skipped")};
  if (const auto given = json.find("expansion")) {
    late.expansion = Expansion{.length = given->get_int_between("length", 1, kMaxContext),
                               .cuts = given->get_bool_or("cuts", true),
                               .attended = given->get_bool_or("attended", false),
                               .token = given->get_string("token")};
  }
  return late;
}

}  // namespace pippin::models
