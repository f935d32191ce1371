// The tokenizer of a GGUF as the files that Hugging Face's libraries write: SentencePiece's
// tokenizer.model, or tokenizer.json of byte-level BPE.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/app/gguf_model.h"
#include "pippin/base/error.h"
#include "pippin/io/gguf_metadata.h"
#include "pippin/io/json.h"
#include "pippin/tokenizers/word_patterns.h"

namespace pippin::app {
namespace {

constexpr std::string_view kPrefix = "tokenizer.ggml.";

enum class Kind { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };

// The wire format of protobuf, as much of it as tokenizer.model has.
class Message {
 public:
  void integer(unsigned field, uint64_t value) {
    varint(field << 3);
    varint(value);
  }
  void float32(unsigned field, float value) {
    varint(field << 3 | 5);
    const auto bits = std::bit_cast<std::array<char, 4>>(value);
    bytes_.append(bits.data(), bits.size());
  }
  void text(unsigned field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_ += static_cast<char>((value & 127) | 128);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

struct GgufTokenizer {
  std::span<const std::string> tokens;
  std::vector<double> scores, kinds;
  std::optional<int64_t> bos, eos, unknown, pad;
  std::optional<bool> add_bos, add_eos, add_prefix;

  Kind kind(size_t i) const {
    return i < kinds.size() ? static_cast<Kind>(static_cast<int>(kinds[i])) : Kind::Normal;
  }
};

std::string key(std::string_view name) {
  return std::string(kPrefix) + std::string(name);
}

GgufTokenizer read(const GgufMetadata& metadata) {
  GgufTokenizer tokenizer;
  tokenizer.tokens = metadata.texts(key("tokens"));
  tokenizer.scores = metadata.numbers(key("scores"));
  tokenizer.kinds = metadata.numbers(key("token_type"));
  const size_t count = tokenizer.tokens.size();
  if (count == 0) metadata.invalid(key("tokens"), "missing");
  const auto check = [&](const char* name, const std::vector<double>& values) {
    if (!values.empty() && values.size() != count) {
      metadata.invalid(key(name), fmt::format("{} for {} tokens", values.size(), count));
    }
  };
  check("scores", tokenizer.scores);
  check("token_type", tokenizer.kinds);
  const auto id = [&](const char* name) {
    const auto value = metadata.size(key(name));
    if (value && *value >= static_cast<int64_t>(count)) {
      metadata.invalid(key(name), fmt::format("{} is none of {} tokens", *value, count));
    }
    return value;
  };
  tokenizer.bos = id("bos_token_id");
  tokenizer.eos = id("eos_token_id");
  tokenizer.unknown = id("unknown_token_id");
  tokenizer.pad = id("padding_token_id");
  tokenizer.add_bos = metadata.flag(key("add_bos_token"));
  tokenizer.add_eos = metadata.flag(key("add_eos_token"));
  tokenizer.add_prefix = metadata.flag(key("add_space_prefix"));
  return tokenizer;
}

std::string sentencepiece_model(const GgufMetadata& metadata, const GgufTokenizer& tokenizer) {
  if (tokenizer.scores.empty()) metadata.invalid(key("scores"), "missing");
  Message model;
  bool has_bytes = false;
  for (size_t i = 0; i < tokenizer.tokens.size(); ++i) {
    const Kind kind = tokenizer.kind(i);
    has_bytes = has_bytes || kind == Kind::Byte;
    Message piece;
    piece.text(1, tokenizer.tokens[i]);
    piece.float32(2, static_cast<float>(tokenizer.scores[i]));
    piece.integer(3, static_cast<uint64_t>(kind));
    model.text(1, piece.bytes());
  }
  Message trainer;
  trainer.integer(3, 2);  // BPE
  trainer.integer(35, has_bytes ? 1 : 0);
  trainer.integer(40, static_cast<uint64_t>(tokenizer.unknown.value_or(0)));
  trainer.integer(41, static_cast<uint64_t>(tokenizer.bos.value_or(-1)));
  trainer.integer(42, static_cast<uint64_t>(tokenizer.eos.value_or(-1)));
  model.text(2, trainer.bytes());
  return model.bytes();
}

// How byte-level tokenizers cut words, by the names that the format has for them.
struct Words {
  std::string_view pattern;
  bool digits = false;       // each digit alone, before the pattern
  bool whole_words = false;  // a word that is a token is not merged from pieces
  bool composed = false;     // NFC
};
std::optional<Words> words_of(std::string_view pre) {
  using tokenizers::kCl100kWords;
  using tokenizers::kGpt2Words;
  using tokenizers::kO200kWords;
  using tokenizers::kQwenWords;
  static constexpr std::pair<std::string_view, Words> kKnown[] = {
      {"default", {kGpt2Words}},
      {"gpt-2", {kGpt2Words}},
      {"gpt2", {kGpt2Words}},
      {"phi-2", {kGpt2Words}},
      {"mpt", {kGpt2Words}},
      {"olmo", {kGpt2Words}},
      {"llama-bpe", {kCl100kWords, false, true}},
      {"llama3", {kCl100kWords, false, true}},
      {"llama-v3", {kCl100kWords, false, true}},
      {"dbrx", {kCl100kWords}},
      {"smaug-bpe", {kCl100kWords}},
      {"qwen2", {kQwenWords, false, false, true}},
      {"deepseek-r1-qwen", {kQwenWords, false, false, true}},
      {"stablelm2", {kQwenWords}},
      {"gpt-4o", {kO200kWords}},
      {"starcoder", {kGpt2Words, true}},
      {"refact", {kGpt2Words, true}},
      {"command-r", {kGpt2Words, true}},
      {"smollm", {kGpt2Words, true}},
      {"codeshell", {kGpt2Words, true}},
      {"exaone", {kGpt2Words, true}},
  };
  for (const auto& [name, words] : kKnown) {
    if (name == pre) return words;
  }
  return std::nullopt;
}

void write_words(const Words& words, JsonWriter& json) {
  if (words.composed) json.key("normalizer").raw(R"({"type": "NFC"})");
  json.key("pre_tokenizer").begin_object().member("type", "Sequence");
  json.key("pretokenizers").begin_array();
  if (words.digits) json.raw(R"({"type": "Digits", "individual_digits": true})");
  json.begin_object().member("type", "Split").key("pattern").begin_object();
  json.member("Regex", words.pattern).end_object();
  json.member("behavior", "Isolated").member("invert", false).end_object();
  json.raw(R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})");
  json.end_array().end_object();
}

void write_added(const GgufTokenizer& tokenizer, JsonWriter& json) {
  json.key("added_tokens").begin_array();
  for (size_t i = 0; i < tokenizer.tokens.size(); ++i) {
    const Kind kind = tokenizer.kind(i);
    if (kind != Kind::Control && kind != Kind::Unknown && kind != Kind::UserDefined) continue;
    json.begin_object().member("id", i).member("content", tokenizer.tokens[i]);
    json.member("lstrip", false).member("rstrip", false).member("single_word", false);
    json.member("normalized", false).member("special", kind != Kind::UserDefined).end_object();
  }
  json.end_array();
}

void write_ends(const GgufTokenizer& tokenizer, JsonWriter& json) {
  const bool bos = tokenizer.add_bos.value_or(false) && tokenizer.bos;
  const bool eos = tokenizer.add_eos.value_or(false) && tokenizer.eos;
  if (!bos && !eos) return;
  json.key("post_processor").begin_object().member("type", "TemplateProcessing");
  json.key("single").begin_array();
  if (bos) json.raw(R"({"SpecialToken": {"id": "bos", "type_id": 0}})");
  json.raw(R"({"Sequence": {"id": "A", "type_id": 0}})");
  if (eos) json.raw(R"({"SpecialToken": {"id": "eos", "type_id": 0}})");
  json.end_array().key("special_tokens").begin_object();
  const auto special = [&](const char* name, int64_t id) {
    json.key(name).begin_object().member("id", name).key("ids").begin_array().value(id);
    json.end_array().key("tokens").begin_array();
    json.value(tokenizer.tokens[static_cast<size_t>(id)]).end_array().end_object();
  };
  if (bos) special("bos", *tokenizer.bos);
  if (eos) special("eos", *tokenizer.eos);
  json.end_object().end_object();
}

std::string byte_level_json(const GgufMetadata& metadata, GgufTokenizer tokenizer) {
  const std::string pre = metadata.text(key("pre")).value_or("default");
  const auto words = words_of(pre);
  if (!words) {
    metadata.unsupported(key("pre"), fmt::format("'{}' is not known", pre.substr(0, 60)));
  }
  if (words->whole_words && !tokenizer.add_bos) tokenizer.add_bos = true;
  JsonWriter json;
  json.begin_object().member("version", "1.0");
  write_added(tokenizer, json);
  write_words(*words, json);
  write_ends(tokenizer, json);
  json.key("decoder").raw(R"({"type": "ByteLevel"})");
  json.key("model").begin_object().member("type", "BPE");
  json.member("ignore_merges", words->whole_words).key("vocab").begin_object();
  for (size_t i = 0; i < tokenizer.tokens.size(); ++i) json.member(tokenizer.tokens[i], i);
  json.end_object().key("merges").begin_array();
  for (const std::string& merge : metadata.texts(key("merges"))) json.value(merge);
  json.end_array().end_object().end_object();
  return json.text();
}

std::string settings(const GgufTokenizer& tokenizer, bool sentencepiece) {
  JsonWriter json(1);
  json.begin_object();
  if (sentencepiece) json.member("tokenizer_class", "LlamaTokenizer");
  const auto token = [&](const char* name, const std::optional<int64_t>& id) {
    if (id) json.member(name, tokenizer.tokens[static_cast<size_t>(*id)]);
  };
  token("bos_token", tokenizer.bos);
  token("eos_token", tokenizer.eos);
  token("unk_token", tokenizer.unknown);
  token("pad_token", tokenizer.pad);
  if (tokenizer.add_bos) json.member("add_bos_token", *tokenizer.add_bos);
  if (tokenizer.add_eos) json.member("add_eos_token", *tokenizer.add_eos);
  if (tokenizer.add_prefix) json.member("add_prefix_space", *tokenizer.add_prefix);
  json.end_object();
  return json.text() + "\n";
}

// Every token that ends an answer.
std::string generation(const GgufMetadata& metadata, const GgufTokenizer& tokenizer) {
  std::vector<int64_t> ends;
  for (const char* name : {"eos_token_id", "eot_token_id", "eom_token_id"}) {
    const auto id = metadata.size(key(name));
    if (id && std::find(ends.begin(), ends.end(), *id) == ends.end()) ends.push_back(*id);
  }
  JsonWriter json(1);
  json.begin_object();
  if (tokenizer.bos) json.member("bos_token_id", *tokenizer.bos);
  if (!ends.empty()) json.member("eos_token_id", ends);
  json.end_object();
  return json.text() + "\n";
}

}  // namespace

std::vector<TextFile> gguf_tokenizer_files(const GgufContent& content, const std::string& name) {
  const GgufMetadata metadata(content, name);
  const std::string model = metadata.text(key("model")).value_or("");
  std::vector<TextFile> files;
  const GgufTokenizer tokenizer = read(metadata);
  if (model == "llama") {
    files.push_back({"tokenizer.model", sentencepiece_model(metadata, tokenizer)});
  } else if (model == "gpt2") {
    files.push_back({"tokenizer.json", byte_level_json(metadata, tokenizer)});
  } else {
    metadata.unsupported(
        key("model"), fmt::format("'{}' is not known (known: llama, gpt2)", model.substr(0, 60)));
  }
  files.push_back({"tokenizer_config.json", settings(tokenizer, model == "llama")});
  files.push_back({"generation_config.json", generation(metadata, tokenizer)});
  if (auto text = metadata.text("tokenizer.chat_template")) {
    files.push_back({"chat_template.jinja", std::move(*text)});
  }
  return files;
}

}  // namespace pippin::app
