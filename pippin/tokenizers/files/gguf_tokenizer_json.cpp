// Writes the tokenizer.json equivalents of GGUF tokenizers.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/base64.h"
#include "pippin/base/text.h"
#include "pippin/io/json.h"
#include "pippin/tokenizers/files/gguf_tokenizer.h"
#include "pippin/tokenizers/files/gguf_words.h"

namespace pippin::tokenizers {
namespace {

using Kind = GgufTokenizer::Kind;

constexpr std::string_view kWordBegins = "\u2581";
constexpr std::string_view kContinues = "##";

void write_words(const GgufWords& words, bool lower, JsonWriter& json) {
  if (lower) json.key("normalizer").raw(R"({"type": "Lowercase"})");
  if (words.plain_text && !words.spaces) {
    json.key("normalizer").begin_object().member("type", "Replace");
    json.key("pattern").begin_object().member("String", " ").end_object();
    json.member("content", kWordBegins).end_object();
  }
  if (words.composed) json.key("normalizer").raw(R"({"type": "NFC"})");
  json.key("pre_tokenizer").begin_object().member("type", "Sequence");
  json.key("pretokenizers").begin_array();
  if (words.digits) json.raw(R"({"type": "Digits", "individual_digits": true})");
  for (const std::string_view pattern : words.patterns) {
    json.begin_object().member("type", "Split").key("pattern").begin_object();
    json.member("Regex", pattern).end_object();
    json.member("behavior", "Isolated").member("invert", false).end_object();
  }
  if (!words.plain_text) {
    json.raw(R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})");
  }
  json.end_array().end_object();
}

void write_added(const GgufTokenizer& tokenizer, JsonWriter& json) {
  json.key("added_tokens").begin_array();
  const auto is_named = [&](size_t i) {
    const auto ids = {tokenizer.bos, tokenizer.eos, tokenizer.unknown, tokenizer.pad};
    return std::find(ids.begin(), ids.end(), std::optional(static_cast<int64_t>(i))) != ids.end();
  };
  for (size_t i = 0; i < tokenizer.tokens.size(); ++i) {
    const Kind kind = tokenizer.kind(i);
    const bool special = kind == Kind::Control || kind == Kind::Unknown || is_named(i);
    if (!special && kind != Kind::UserDefined) continue;
    json.begin_object().member("id", i).member("content", tokenizer.tokens[i]);
    json.member("lstrip", false).member("rstrip", false).member("single_word", false);
    json.member("normalized", false).member("special", special).end_object();
  }
  json.end_array();
}

// `usual`: the default for whether a text begins with the first token.
void write_ends(const GgufTokenizer& tokenizer, bool usual, JsonWriter& json) {
  const bool bos = tokenizer.add_bos.value_or(usual) && tokenizer.bos;
  const bool eos = tokenizer.add_eos.value_or(false) && tokenizer.eos;
  if (!bos && !eos) return;
  const auto special = [&](const char* name, int type) {
    json.begin_object().key("SpecialToken").begin_object().member("id", name);
    json.member("type_id", type).end_object().end_object();
  };
  const auto text = [&](const char* name, int type) {
    json.begin_object().key("Sequence").begin_object().member("id", name);
    json.member("type_id", type).end_object().end_object();
  };
  json.key("post_processor").begin_object().member("type", "TemplateProcessing");
  json.key("single").begin_array();
  if (bos) special("bos", 0);
  text("A", 0);
  if (eos) special("eos", 0);
  json.end_array();
  if (eos) {
    const int second = tokenizer.two_types ? 1 : 0;
    json.key("pair").begin_array();
    if (bos) special("bos", 0);
    text("A", 0);
    special("eos", 0);
    if (tokenizer.separator) special("sep", 0);
    text("B", second);
    special("eos", second);
    json.end_array();
  }
  json.key("special_tokens").begin_object();
  const auto id_of = [&](const char* name, int64_t id) {
    json.key(name).begin_object().member("id", name).key("ids").begin_array().value(id);
    json.end_array().key("tokens").begin_array();
    json.value(tokenizer.tokens[static_cast<size_t>(id)]).end_array().end_object();
  };
  if (bos) id_of("bos", *tokenizer.bos);
  if (eos) id_of("eos", *tokenizer.eos);
  if (eos && tokenizer.separator) id_of("sep", *tokenizer.separator);
  json.end_object().end_object();
}

// Replaces invalid UTF-8 with U+FFFD, as JsonWriter does.
std::string repaired(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size();) append_utf8(result, decode_utf8(text, i));
  return result;
}

void add_tokens(const GgufTokenizer& tokenizer, StringPool& pool) {
  size_t bytes = 0;
  for (const std::string_view token : tokenizer.tokens) bytes += token.size();
  pool.reserve(tokenizer.tokens.size(), bytes);
  for (const std::string_view token : tokenizer.tokens) {
    if (is_valid_utf8(token)) {
      pool.add(token);
    } else {
      pool.add(repaired(token));
    }
  }
}

void write_vocabulary(const GgufTokenizer& tokenizer, JsonWriter& json, JsonFile* apart) {
  json.key("vocab");
  if (apart != nullptr) {
    json.value(nullptr);
    apart->has_vocab = true;
    add_tokens(tokenizer, apart->vocab_tokens);
    apart->vocab_ids.resize(tokenizer.tokens.size());
    std::iota(apart->vocab_ids.begin(), apart->vocab_ids.end(), 0);
    return;
  }
  json.begin_object();
  for (size_t i = 0; i < tokenizer.tokens.size(); ++i) json.member(tokenizer.tokens[i], i);
  json.end_object();
}

void write_merges(const GgufMetadata& metadata, JsonWriter& json, JsonFile* apart) {
  const std::string key = gguf_tokenizer_key("merges");
  const auto merges = metadata.texts(key);
  json.key("merges");
  if (apart == nullptr) {
    json.begin_array();
    for (const std::string_view merge : merges) json.value(merge);
    json.end_array();
    return;
  }
  json.value(nullptr);
  apart->has_merges = true;
  apart->merge_parts.reserve(2 * merges.size(),
                             merges.empty() ? 0 : metadata.find(key)->data.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    const bool added = is_valid_utf8(merges[i]) ? apart->add_merge(merges[i])
                                                : apart->add_merge(repaired(merges[i]));
    if (!added) metadata.invalid(key, fmt::format("merge {} is not two tokens", i));
  }
}

void write_scores(const GgufTokenizer& tokenizer, JsonWriter& json, JsonFile* apart) {
  json.key("vocab");
  if (apart != nullptr) {
    json.value(nullptr);
    apart->has_scores = true;
    add_tokens(tokenizer, apart->vocab_tokens);
    apart->vocab_scores = tokenizer.scores;
    return;
  }
  json.begin_array();
  for (size_t i = 0; i < tokenizer.tokens.size(); ++i) {
    json.begin_array().value(tokenizer.tokens[i]).value(tokenizer.scores[i]).end_array();
  }
  json.end_array();
}

// If the vocabulary has no capital letters, texts are lowercased.
bool has_capitals(const GgufTokenizer& tokenizer) {
  for (size_t i = 0; i < tokenizer.tokens.size(); ++i) {
    const std::string_view token = tokenizer.tokens[i];
    const bool bracketed = token.starts_with('[') && token.ends_with(']');
    if (tokenizer.kind(i) != Kind::Normal || bracketed) continue;
    if (std::any_of(token.begin(), token.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string gguf_tokenizer_key(std::string_view name) {
  return fmt::format("tokenizer.ggml.{}", name);
}

Kind GgufTokenizer::kind(size_t i) const {
  const bool known = i < kinds.size() && kinds[i] >= 1 && kinds[i] <= 6;
  return known ? static_cast<Kind>(static_cast<int>(kinds[i])) : Kind::Normal;
}

std::vector<std::string> bert_words(const GgufTokenizer& tokenizer) {
  std::vector<std::string> words;
  words.reserve(tokenizer.tokens.size());
  for (size_t i = 0; i < tokenizer.tokens.size(); ++i) {
    const std::string_view token = tokenizer.tokens[i];
    // Special tokens stay unchanged; they are known by their kind or, in older files, by their
    // form.
    const Kind kind = tokenizer.kind(i);
    const bool special = kind == Kind::Control || kind == Kind::Unknown ||
                         (token.starts_with('[') && token.ends_with(']') && token.size() > 2);
    if (token.starts_with(kWordBegins)) {
      words.emplace_back(token.substr(kWordBegins.size()));
    } else {
      words.push_back(special ? std::string(token) : fmt::format("{}{}", kContinues, token));
    }
  }
  return words;
}

std::string byte_level_json(const GgufMetadata& metadata, const GgufTokenizer& tokenizer,
                            JsonFile* apart) {
  const std::string model = metadata.text(gguf_tokenizer_key("model")).value_or("");
  const std::string pre =
      metadata.text(gguf_tokenizer_key("pre")).value_or(model == kGemma4 ? "gemma4" : "default");
  const auto words = gguf_words(pre);
  if (!words) {
    metadata.unsupported(gguf_tokenizer_key("pre"),
                         fmt::format("'{}' is not known", pre.substr(0, 60)));
  }
  JsonWriter json;
  json.begin_object().member("version", "1.0");
  write_added(tokenizer, json);
  const auto lower = metadata.flag(gguf_tokenizer_key("normalizer.lowercase"));
  write_words(*words, words->spaces && lower.value_or(false), json);
  write_ends(tokenizer, words->begins, json);
  json.key("decoder");
  if (words->plain_text) {
    json.begin_object().member("type", "Sequence").key("decoders").begin_array();
    if (!words->spaces) {
      json.begin_object().member("type", "Replace").key("pattern").begin_object();
      json.member("String", kWordBegins).end_object().member("content", " ").end_object();
    }
    json.raw(R"({"type": "ByteFallback"})").raw(R"({"type": "Fuse"})").end_array().end_object();
  } else {
    json.raw(R"({"type": "ByteLevel"})");
  }
  json.key("model").begin_object().member("type", "BPE");
  json.member("byte_fallback", words->plain_text);
  json.member("ignore_merges", words->whole_words);
  write_vocabulary(tokenizer, json, apart);
  write_merges(metadata, json, apart);
  json.end_object().end_object();
  return json.text();
}

std::string word_piece_json(const GgufMetadata& metadata, const GgufTokenizer& tokenizer,
                            JsonFile* apart) {
  if (!tokenizer.unknown) metadata.invalid(gguf_tokenizer_key("unknown_token_id"), "missing");
  const bool lower =
      metadata.flag(gguf_tokenizer_key("normalizer.lowercase")).value_or(!has_capitals(tokenizer));
  const auto accents = metadata.flag(gguf_tokenizer_key("normalizer.strip_accents"));
  JsonWriter json;
  json.begin_object().member("version", "1.0");
  write_added(tokenizer, json);
  json.key("normalizer").begin_object().member("type", "BertNormalizer");
  json.member("clean_text", true).member("handle_chinese_chars", true);
  json.member("strip_accents", accents.value_or(lower)).member("lowercase", lower).end_object();
  json.key("pre_tokenizer").raw(R"({"type": "BertPreTokenizer"})");
  write_ends(tokenizer, false, json);
  json.key("decoder").begin_object().member("type", "WordPiece");
  json.member("prefix", kContinues).member("cleanup", true).end_object();
  json.key("model").begin_object().member("type", "WordPiece");
  json.member("unk_token", tokenizer.tokens[static_cast<size_t>(*tokenizer.unknown)]);
  json.member("continuing_subword_prefix", kContinues).member("max_input_chars_per_word", 100);
  write_vocabulary(tokenizer, json, apart);
  json.end_object().end_object();
  return json.text();
}

std::string unigram_json(const GgufMetadata& metadata, const GgufTokenizer& tokenizer,
                         JsonFile* apart) {
  if (tokenizer.scores.empty()) metadata.invalid(gguf_tokenizer_key("scores"), "missing");
  for (size_t i = 0; i < tokenizer.scores.size(); ++i) {
    if (std::isfinite(tokenizer.scores[i])) continue;
    metadata.invalid(gguf_tokenizer_key("scores"),
                     fmt::format("{} of token {}", tokenizer.scores[i], i));
  }
  const std::string charsmap = metadata.bytes(gguf_tokenizer_key("precompiled_charsmap"));
  const bool one_space =
      metadata.flag(gguf_tokenizer_key("remove_extra_whitespaces")).value_or(false);
  bool has_bytes = false;
  for (size_t i = 0; i < tokenizer.tokens.size(); ++i) {
    has_bytes = has_bytes || tokenizer.kind(i) == Kind::Byte;
  }
  JsonWriter json;
  json.begin_object().member("version", "1.0");
  write_added(tokenizer, json);
  json.key("normalizer").begin_object().member("type", "Sequence");
  json.key("normalizers").begin_array();
  if (!charsmap.empty()) {
    json.begin_object().member("type", "Precompiled").key("precompiled_charsmap");
    json.value(encode_base64(std::as_bytes(std::span(charsmap)))).end_object();
  }
  if (one_space) {
    json.raw(R"({"type": "Strip", "strip_left": true, "strip_right": true})");
    json.raw(R"({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})");
  }
  json.end_array().end_object();
  const auto spaces = [&](const char* key) {
    if (key != nullptr) json.key(key);
    json.begin_object().member("type", "Metaspace").member("replacement", kWordBegins);
    json.member("prepend_scheme", tokenizer.add_prefix.value_or(true) ? "always" : "never");
    json.end_object();
  };
  spaces("pre_tokenizer");
  write_ends(tokenizer, false, json);
  json.key("decoder").begin_object().member("type", "Sequence").key("decoders").begin_array();
  if (has_bytes) json.raw(R"({"type": "ByteFallback"})");
  spaces(nullptr);
  json.end_array().end_object();
  json.key("model").begin_object().member("type", "Unigram");
  if (tokenizer.unknown) json.member("unk_id", *tokenizer.unknown);
  json.member("byte_fallback", has_bytes);
  write_scores(tokenizer, json, apart);
  json.end_object().end_object();
  return json.text();
}

}  // namespace pippin::tokenizers
