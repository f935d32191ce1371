#include "pippin/tokenizers/files/legacy_files.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/text.h"
#include "pippin/tokenizers/stages.h"
#include "pippin/tokenizers/tables/hash_tables.h"
#include "pippin/tokenizers/word_patterns.h"

namespace pippin::tokenizers {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxSettingsBytes = size_t{1} << 26;
constexpr size_t kMaxMergedBytes = 512;  // merges try every way to split a token
constexpr size_t kMaxMerges = size_t{1} << 24;

// Tokens without ids are numbered in this order.
std::vector<std::string> sorted_keys(const Json& object) {
  std::vector<std::string> keys = object.keys();
  std::sort(keys.begin(), keys.end());
  return keys;
}

// A token is a string, or an object that contains it.
std::string token_of(const Json& root, std::string_view key) {
  const auto token = root.find(key);
  if (!token) return "";
  return token->is_object() ? token->get_string("content") : std::string(token->as_string());
}

void read_config(const fs::path& path, TokenizerSettings& settings) {
  const Json root = Json::parse(read_file(path, kMaxSettingsBytes), path.string(), kPythonJson);
  settings.tokenizer_class = root.find_string("tokenizer_class").value_or("");
  constexpr std::string_view kFast = "Fast";
  if (settings.tokenizer_class.ends_with(kFast)) {
    settings.tokenizer_class.resize(settings.tokenizer_class.size() - kFast.size());
  }
  settings.add_bos = root.find_bool("add_bos_token");
  settings.add_eos = root.find_bool("add_eos_token");
  settings.add_prefix_space = root.find_bool("add_prefix_space");
  settings.legacy = root.find_bool("legacy");
  settings.bos_token = token_of(root, "bos_token");
  settings.eos_token = token_of(root, "eos_token");
  const auto tokens = root.find("added_tokens_decoder");
  if (!tokens) return;
  for (const auto& key : sorted_keys(*tokens)) {
    const Json token = tokens->at(key);
    int32_t id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc{} || end != key.data() + key.size() || id < 0 || id > kMaxTokenId) {
      token.invalid("this is not a token id");
    }
    settings.added.push_back(
        {id, token.get_string("content"), token.get_bool_or("lstrip", false),
         token.get_bool_or("rstrip", false), token.get_bool_or("single_word", false),
         token.get_bool_or("normalized", false), token.get_bool_or("special", false)});
  }
}

void read_added_tokens(const fs::path& path, TokenizerSettings& settings) {
  const Json root = Json::parse(read_file(path, kMaxSettingsBytes), path.string(), kPythonJson);
  for (const auto& content : sorted_keys(root)) {
    const auto id = static_cast<int32_t>(integer(root.at(content), 0, kMaxTokenId));
    const auto known = std::find_if(settings.added.begin(), settings.added.end(),
                                    [&](const auto& token) { return token.content == content; });
    if (known == settings.added.end()) {
      settings.added.push_back({id, content, false, false, false, false, false});
    }
  }
}

void read_merges(std::string_view text, JsonFile& file, std::string_view name) {
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = text.find('\n');
    std::string_view merge = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (merge.ends_with('\r')) merge.remove_suffix(1);
    if (merge.empty() || merge.starts_with("#version")) continue;
    const size_t space = merge.find(' ');
    if (space == std::string_view::npos || merge.find(' ', space + 1) != std::string_view::npos) {
      fail(ErrorCode::InvalidFile, "{}: line {} of merges.txt is not two tokens", name, line);
    }
    file.merge_parts.add(merge.substr(0, space));
    file.merge_parts.add(merge.substr(space + 1));
  }
}

}  // namespace

std::string byte_level_words(std::string_view pattern) {
  JsonWriter regex;
  regex.begin_object().member("Regex", pattern).end_object();
  return R"({"type": "Sequence", "pretokenizers": [{"type": "Split", "behavior": "Isolated",)"
         R"( "invert": false, "pattern": )" +
         regex.text() +
         R"(}, {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})";
}

TokenizerSettings read_tokenizer_settings(const fs::path& folder) {
  TokenizerSettings settings;
  const fs::path config = folder / "tokenizer_config.json", added = folder / "added_tokens.json";
  if (fs::exists(config)) read_config(config, settings);
  if (fs::exists(added)) read_added_tokens(added, settings);
  const fs::path map = folder / "special_tokens_map.json";
  if (fs::exists(map) && (settings.bos_token.empty() || settings.eos_token.empty())) {
    const Json root = Json::parse(read_file(map, kMaxSettingsBytes), map.string(), kPythonJson);
    if (settings.bos_token.empty()) settings.bos_token = token_of(root, "bos_token");
    if (settings.eos_token.empty()) settings.eos_token = token_of(root, "eos_token");
  }
  return settings;
}

JsonFile read_vocab_and_merges(std::string_view vocab, std::string_view merges,
                               const TokenizerSettings& settings, std::string_view name) {
  JsonFile file = read_json_file(fmt::format(R"({{"model": {{"vocab": {}}}}})", vocab), name);
  if (!file.has_vocab) fail(ErrorCode::InvalidFile, "{}: not an object of tokens", name);
  file.has_merges = true;
  read_merges(merges, file, name);
  JsonWriter root;
  root.begin_object().key("model").raw(R"({"type": "BPE"})");
  root.key("decoder").raw(R"({"type": "ByteLevel"})");
  if (settings.tokenizer_class.starts_with("Qwen2")) {
    root.key("normalizer").raw(R"({"type": "NFC"})");
    root.key("pre_tokenizer").raw(byte_level_words(kQwenWords));
  } else {
    root.key("pre_tokenizer").begin_object().member("type", "ByteLevel");
    root.member("add_prefix_space", settings.add_prefix_space.value_or(false)).end_object();
  }
  std::vector<TokenizerSettings::Added> added = settings.added;
  if (added.empty()) {  // the default of GPT-2's class
    constexpr std::string_view kEndOfText = "<|endoftext|>";
    const int32_t id = TokenTable(file.vocab_tokens, file.vocab_ids)[kEndOfText];
    if (id >= 0) added.push_back({id, std::string(kEndOfText), false, false, false, false, true});
  }
  finish_file(file, root, added, name);
  return file;
}

void finish_file(JsonFile& file, JsonWriter& root,
                 const std::vector<TokenizerSettings::Added>& tokens, std::string_view name) {
  if (file.has_vocab) {  // a token that the model knows keeps its id
    const TokenTable known(file.vocab_tokens, file.vocab_ids);
    StringPool fresh;
    std::vector<int32_t> fresh_ids;
    for (const auto& token : tokens) {
      if (known[token.content] >= 0) continue;
      fresh.add(token.content);
      fresh_ids.push_back(token.id);
    }
    for (size_t i = 0; i < fresh.size(); ++i) file.vocab_tokens.add(fresh[i]);
    file.vocab_ids.insert(file.vocab_ids.end(), fresh_ids.begin(), fresh_ids.end());
  }
  root.key("added_tokens").begin_array();
  for (const auto& token : tokens) {
    root.begin_object().member("id", token.id).member("content", token.content);
    root.member("lstrip", token.lstrip).member("rstrip", token.rstrip);
    root.member("single_word", token.single_word).member("normalized", token.normalized);
    root.member("special", token.special).end_object();
  }
  root.end_array().end_object();
  file.root = Json::parse(root.text(), std::string(name));
}

void make_merges(JsonFile& file, const std::vector<uint32_t>& ranks, std::string_view name) {
  const StringPool& tokens = file.vocab_tokens;
  const TokenTable table(tokens, file.vocab_ids);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (ranks[i] == kNoRank) continue;
    const std::string_view token = tokens[i];
    if (token.size() > kMaxMergedBytes) {
      fail(ErrorCode::LimitExceeded, "{}: token {} has {} bytes, at most {} are merged", name, i,
           token.size(), kMaxMergedBytes);
    }
    size_t cut = 0;
    decode_utf8(token, cut);
    while (cut < token.size()) {
      const int32_t left = table[token.substr(0, cut)], right = table[token.substr(cut)];
      if (left >= 0 && right >= 0) {
        file.ranked_merges.push_back({left, right, file.vocab_ids[i], ranks[i]});
      }
      decode_utf8(token, cut);
    }
    if (file.ranked_merges.size() > kMaxMerges) {
      fail(ErrorCode::LimitExceeded, "{}: the tokens can be made in more than {} ways", name,
           kMaxMerges);
    }
  }
}

}  // namespace pippin::tokenizers
