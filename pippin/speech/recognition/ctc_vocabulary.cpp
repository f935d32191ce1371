#include "pippin/speech/recognition/ctc_vocabulary.h"

#include <limits>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"
#include "pippin/io/json.h"
#include "pippin/tokenizers/unicode/unicode.h"

namespace pippin::speech {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLargestId = std::numeric_limits<int32_t>::max();

Json load_or_empty(const fs::path& path) {
  return fs::exists(path) ? Json::load(path, kPythonJson)
                          : Json::parse("{}", path.filename().string());
}

// The content of a token: a text, or an object of an added token; none for null.
std::optional<std::string> content_of(const Json& token) {
  if (token.is_null()) return std::nullopt;
  return token.is_object() ? token.get_string("content") : std::string(token.as_string());
}

// The settings of transformers' class, with its defaults.
class Settings {
 public:
  explicit Settings(const fs::path& folder)
      : config_(load_or_empty(folder / "tokenizer_config.json")),
        map_(load_or_empty(folder / "special_tokens_map.json")) {
    check_class();
    const std::pair<std::string_view, std::string_view> roles[] = {{"pad_token", "<pad>"},
                                                                   {"unk_token", "<unk>"},
                                                                   {"bos_token", "<s>"},
                                                                   {"eos_token", "</s>"}};
    for (const auto& [role, fallback] : roles) {
      if (auto token = token_of(role, fallback)) special_.insert(std::move(*token));
    }
    for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
      for (const Json* json : {&config_, &map_}) {
        const auto list = json->find(key);
        if (!list || !list->is_array()) continue;
        for (const Json& one : list->elements()) {
          if (auto token = content_of(one)) special_.insert(std::move(*token));
        }
      }
    }
    delimiter_ = token_of("word_delimiter_token", "|");
    space_ = config_.get_string_or("replace_word_delimiter_char", " ");
    lowers_ = config_.get_bool_or("do_lower_case", false);
  }

  std::optional<std::string> language() const { return config_.find_string("target_lang"); }
  std::optional<Json> added() const { return config_.find("added_tokens_decoder"); }
  std::string text_of(std::string_view token, bool is_special = false) const {
    if (delimiter_ && token == *delimiter_) return space_;
    if (is_special || special_.count(std::string(token)) != 0) return {};
    return lowers_ ? tokenizers::lowercase(token) : std::string(token);
  }

 private:
  void check_class() const {
    const std::string name = config_.get_string_or("tokenizer_class", "Wav2Vec2CTCTokenizer");
    if (name == "Wav2Vec2CTCTokenizer" || name == "Wav2Vec2Tokenizer") return;
    fail(ErrorCode::Unsupported, "{}: '{}' is not supported for a vocab.json (supported: {})",
         config_.where("tokenizer_class"), name, "Wav2Vec2CTCTokenizer");
  }
  std::optional<std::string> token_of(std::string_view key, std::string_view fallback) const {
    for (const Json* json : {&config_, &map_}) {
      if (json->contains(key)) return content_of(json->at(key));
    }
    return std::string(fallback);
  }

  Json config_, map_;
  std::set<std::string> special_;
  std::optional<std::string> delimiter_;
  std::string space_;
  bool lowers_ = false;
};

// Tokens and ids: those of a language if each member is a vocabulary.
Json select_vocabulary(const Json& all, const Settings& settings) {
  const auto members = all.members();
  if (members.empty()) all.invalid("expected tokens with their ids");
  if (!members.front().second.is_object()) return all;
  const auto language = settings.language();
  if (!language) {
    fail(ErrorCode::InvalidFile,
         "{}: has {} languages, and tokenizer_config.json does not say which (target_lang)",
         all.where(), members.size());
  }
  if (!all.has(*language)) {
    fail(ErrorCode::InvalidFile, "{}: has no language '{}', the target_lang (it has {} languages)",
         all.where(), *language, members.size());
  }
  return all.at(*language);
}

}  // namespace

bool CtcVocabulary::is_in(const fs::path& folder) {
  return fs::is_regular_file(folder / "vocab.json") && !fs::exists(folder / "merges.txt") &&
         !fs::exists(folder / "tokenizer.json");
}

CtcVocabulary CtcVocabulary::read(const fs::path& folder) {
  const Settings settings(folder);
  CtcVocabulary vocabulary;
  const auto add = [&](std::string_view token, const Json& id) {
    vocabulary.texts_[static_cast<int32_t>(id.as_int(0, kLargestId))] = settings.text_of(token);
  };
  const Json own = select_vocabulary(Json::load(folder / "vocab.json", kPythonJson), settings);
  for (const auto& [token, id] : own.members()) add(token, id);
  const Json more = load_or_empty(folder / "added_tokens.json");
  for (const auto& [token, id] : more.members()) add(token, id);
  if (const auto added = settings.added()) {
    for (const auto& [key, token] : added->members()) {
      int32_t id = 0;
      if (!parse_number(key, id) || id < 0) added->invalid(fmt::format("'{}' is not an id", key));
      vocabulary.texts_[id] =
          settings.text_of(token.get_string("content"), token.get_bool_or("special", false));
    }
  }
  return vocabulary;
}

std::string CtcVocabulary::text(int32_t id) const {
  const auto found = texts_.find(id);
  return found == texts_.end() ? std::string() : found->second;
}

}  // namespace pippin::speech
