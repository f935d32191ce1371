#include "pippin/tokenizers/files/applied_settings.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/tokenizers/files/legacy_files.h"
#include "pippin/tokenizers/tables/hash_tables.h"

namespace pippin::tokenizers {
namespace {

struct Token {
  std::string content;
  int32_t id;
};

// Finds a token's id in the file: first among the added tokens, then in the vocabulary.
std::optional<Token> find_token(const JsonFile& file, const std::string& content) {
  if (const auto added = file.root->find("added_tokens")) {
    for (const Json& token : added->elements()) {
      if (token.get_string("content") != content) continue;
      return Token{content, static_cast<int32_t>(token.get_int_between("id", 0, kMaxTokenId))};
    }
  }
  if (!file.has_vocab) return std::nullopt;
  const int32_t id = TokenTable(file.vocab_tokens, file.vocab_ids)[content];
  return id < 0 ? std::nullopt : std::optional(Token{content, id});
}

bool is_template(const Json& processor) {
  return processor.get_string_or("type", "") == "TemplateProcessing";
}

// Returns the template of a post-processor, which may be part of a sequence.
std::optional<Json> template_of(const Json& root) {
  auto processor = root.find("post_processor");
  if (!processor) return std::nullopt;
  if (is_template(*processor)) return processor;
  if (processor->get_string_or("type", "") != "Sequence") return std::nullopt;
  for (const Json& part : processor->at("processors").elements()) {
    if (is_template(part)) return part;
  }
  return std::nullopt;
}

// Returns the ids of a template piece that is a special token; empty for a text.
std::vector<int64_t> special_of(const Json& whole, const Json& piece) {
  if (!piece.has("SpecialToken")) return {};
  const std::string id = piece.at("SpecialToken").get_string("id");
  return whole.at("special_tokens").at(id).get_ints("ids");
}

bool has_token(const std::optional<Json>& whole, const std::optional<Token>& token, bool front) {
  if (!whole || !token) return false;
  const auto pieces = whole->at("single").elements();
  if (pieces.empty()) return false;
  const auto ids = special_of(*whole, front ? pieces.front() : pieces.back());
  return ids == std::vector<int64_t>{token->id};
}

// Rewrites one list of template pieces, and adds or removes the tokens at the ends of each text.
class Ends {
 public:
  Ends(std::optional<Token> bos, std::optional<Token> eos, bool add_bos, bool add_eos)
      : bos_(std::move(bos)), eos_(std::move(eos)), add_bos_(add_bos), add_eos_(add_eos) {}

  void write_template(const std::optional<Json>& old, JsonWriter& json) const {
    json.begin_object().member("type", "TemplateProcessing");
    for (const char* list : {"single", "pair"}) {
      json.key(list).begin_array();
      if (!old) {
        write_text("A", 0, json);
        if (std::string_view(list) == "pair") write_text("B", 1, json);
      } else if (old->has(list)) {
        for (const Json& piece : old->at(list).elements()) write_piece(*old, piece, json);
      }
      json.end_array();
    }
    json.key("special_tokens").begin_object();
    std::set<std::string, std::less<>> written;
    if (old) {
      for (const auto& [name, token] : old->at("special_tokens").members()) {
        json.member(name, token);
        written.emplace(name);
      }
    }
    for (const auto& token : {add_bos_ ? bos_ : std::nullopt, add_eos_ ? eos_ : std::nullopt}) {
      if (!token || !written.insert(token->content).second) continue;
      json.key(token->content).begin_object().member("id", token->content);
      json.key("ids").begin_array().value(token->id).end_array();
      json.key("tokens").begin_array().value(token->content).end_array().end_object();
    }
    json.end_object().end_object();
  }

 private:
  bool is(const std::optional<Token>& token, const std::vector<int64_t>& ids) const {
    return token && ids == std::vector<int64_t>{token->id};
  }
  // The end tokens are written with each text; other special tokens stay in place.
  void write_piece(const Json& old, const Json& piece, JsonWriter& json) const {
    const auto ids = special_of(old, piece);
    if (is(bos_, ids) || is(eos_, ids)) return;
    if (piece.has("Sequence")) {
      const Json text = piece.at("Sequence");
      write_text(text.get_string("id"), text.get_int_or("type_id", 0), json);
    } else {
      json.value(piece);
    }
  }
  void write_text(const std::string& id, int64_t type, JsonWriter& json) const {
    if (add_bos_) write_special(*bos_, type, json);
    json.begin_object().key("Sequence").begin_object().member("id", id);
    json.member("type_id", type).end_object().end_object();
    if (add_eos_) write_special(*eos_, type, json);
  }
  static void write_special(const Token& token, int64_t type, JsonWriter& json) {
    json.begin_object().key("SpecialToken").begin_object().member("id", token.content);
    json.member("type_id", type).end_object().end_object();
  }

  std::optional<Token> bos_, eos_;
  bool add_bos_, add_eos_;
};

void replace_member(JsonFile& file, std::string_view key, const std::string& value,
                    std::string_view name) {
  JsonWriter root;
  root.begin_object();
  for (const auto& [own, member] : file.root->members()) {
    if (own != key) root.key(own).value(member);
  }
  root.key(key).raw(value).end_object();
  file.root = Json::parse(root.text(), std::string(name));
}

void apply_ends(JsonFile& file, const TokenizerSettings& settings, std::string_view name) {
  if (!settings.add_bos && !settings.add_eos) return;
  const auto token = [&](const std::string& content) {
    return content.empty() ? std::nullopt : find_token(file, content);
  };
  const auto bos = token(settings.bos_token), eos = token(settings.eos_token);
  const auto old = template_of(*file.root);
  const bool has_bos = has_token(old, bos, true), has_eos = has_token(old, eos, false);
  const bool add_bos = settings.add_bos.value_or(has_bos);
  const bool add_eos = settings.add_eos.value_or(has_eos);
  if (add_bos == has_bos && add_eos == has_eos) return;
  for (const auto& [wanted, found, key] :
       {std::tuple(add_bos, bos.has_value(), "bos"), std::tuple(add_eos, eos.has_value(), "eos")}) {
    if (!wanted || found) continue;
    fail(ErrorCode::InvalidFile, "{}: add_{}_token is set, but {}_token is not a token of the file",
         name, key, key);
  }
  const Ends ends(bos, eos, add_bos, add_eos);
  JsonWriter json;
  const auto processor = file.root->find("post_processor");
  const std::string type = processor ? processor->get_string_or("type", "") : "";
  if (type == "BertProcessing" || type == "RobertaProcessing") return;  // has its own end tokens
  if (type != "Sequence") {
    ends.write_template(old, json);
  } else {
    json.begin_object().member("type", "Sequence").key("processors").begin_array();
    for (const Json& part : processor->at("processors").elements()) {
      if (is_template(part)) {
        ends.write_template(old, json);
      } else {
        json.value(part);
      }
    }
    if (!old) ends.write_template(old, json);
    json.end_array().end_object();
  }
  replace_member(file, "post_processor", json.text(), name);
}

// Adds tokens whose ids the file does not list.
void apply_added(JsonFile& file, const std::vector<TokenizerSettings::Added>& tokens,
                 std::string_view name) {
  std::set<int64_t> known;
  std::set<std::string> contents;
  JsonWriter json;
  json.begin_array();
  if (const auto added = file.root->find("added_tokens")) {
    for (const Json& token : added->elements()) {
      known.insert(token.get_int("id"));
      contents.insert(token.get_string("content"));
      json.value(token);
    }
  }
  const TokenTable vocabulary =
      file.has_vocab ? TokenTable(file.vocab_tokens, file.vocab_ids) : TokenTable();
  bool any = false;
  for (const auto& token : tokens) {
    if (known.contains(token.id) || contents.contains(token.content)) continue;
    const int32_t own = file.has_vocab ? vocabulary[token.content] : -1;
    json.begin_object().member("id", own >= 0 ? own : token.id).member("content", token.content);
    json.member("lstrip", token.lstrip).member("rstrip", token.rstrip);
    json.member("single_word", token.single_word).member("normalized", token.normalized);
    json.member("special", token.special).end_object();
    any = true;
  }
  if (any) replace_member(file, "added_tokens", json.end_array().text(), name);
}

}  // namespace

void apply_settings(JsonFile& file, const std::filesystem::path& folder, std::string_view name) {
  const TokenizerSettings settings = read_tokenizer_settings(folder);
  apply_added(file, settings.added, name);
  apply_ends(file, settings, name);
}

}  // namespace pippin::tokenizers
