#include "pippin/tokenizers/files/gguf_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/io/gguf_metadata.h"
#include "pippin/io/json.h"
#include "pippin/tokenizers/files/gguf_tokenizer.h"
#include "pippin/tokenizers/files/sentencepiece_file.h"

namespace pippin::tokenizers {
namespace {

using Kind = GgufTokenizer::Kind;

constexpr std::string_view kLlamaClass = "LlamaTokenizer";
constexpr size_t kMaxTableBytes = size_t{1} << 28;

// Writes the subset of protobuf's wire format that tokenizer.model uses.
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

std::string key(std::string_view name) {
  return gguf_tokenizer_key(name);
}

void check_id(const GgufMetadata& metadata, std::string_view name, int64_t id, size_t count) {
  if (id < static_cast<int64_t>(count)) return;
  metadata.invalid(key(name), fmt::format("{} is not one of {} tokens", id, count));
}

GgufTokenizer read(const GgufMetadata& metadata) {
  GgufTokenizer tokenizer;
  tokenizer.tokens = metadata.texts(key("tokens"));
  tokenizer.scores = metadata.numbers(key("scores"));
  tokenizer.kinds = metadata.numbers(key("token_type"));
  const size_t count = tokenizer.tokens.size();
  if (count == 0) metadata.invalid(key("tokens"), "missing");
  if (count > static_cast<size_t>(kMaxTokenId)) {
    metadata.invalid(key("tokens"), fmt::format("{} of them, at most {}", count, kMaxTokenId));
  }
  for (const char* name : {"tokens", "merges"}) {
    const GgufValue* table = metadata.find(key(name));
    if (table == nullptr || table->data.size() <= kMaxTableBytes) continue;
    fail(ErrorCode::LimitExceeded, "{}: {} bytes, at most {} are read", key(name),
         table->data.size(), kMaxTableBytes);
  }
  const auto check = [&](const char* name, const std::vector<double>& values) {
    if (!values.empty() && values.size() != count) {
      metadata.invalid(key(name), fmt::format("{} for {} tokens", values.size(), count));
    }
  };
  check("scores", tokenizer.scores);
  check("token_type", tokenizer.kinds);
  const auto id = [&](const char* name) {
    const auto value = metadata.size(key(name));
    if (value) check_id(metadata, name, *value, count);
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

std::string settings(const GgufTokenizer& tokenizer, bool sentencepiece) {
  JsonWriter json(1);
  json.begin_object();
  if (sentencepiece) json.member("tokenizer_class", kLlamaClass);
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

// Returns a generation_config.json with every token that ends an answer.
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

// Adds the special tokens that BERT identifies by their text, where other tokenizers have ids.
void complete_bert(const GgufMetadata& metadata, GgufTokenizer& tokenizer) {
  tokenizer.words = bert_words(tokenizer);
  tokenizer.tokens.assign(tokenizer.words.begin(), tokenizer.words.end());
  const auto id = [&](std::string_view name, std::string_view token) -> std::optional<int64_t> {
    if (const auto given = metadata.size(key(name))) {
      check_id(metadata, name, *given, tokenizer.tokens.size());
      return given;
    }
    const auto found = std::find(tokenizer.tokens.begin(), tokenizer.tokens.end(), token);
    if (found == tokenizer.tokens.end()) return std::nullopt;
    return found - tokenizer.tokens.begin();
  };
  const auto begin = id("cls_token_id", "[CLS]"), end = id("seperator_token_id", "[SEP]");
  if (begin) tokenizer.bos = begin;
  if (end) tokenizer.eos = end;
  tokenizer.unknown = id("unknown_token_id", "[UNK]");
  tokenizer.pad = id("padding_token_id", "[PAD]");
  tokenizer.add_bos = tokenizer.add_bos.value_or(true);
  tokenizer.add_eos = tokenizer.add_eos.value_or(true);
  tokenizer.two_types = true;
}

// Sets the default ids of SentencePiece's Unigram models if the file does not name any.
void complete_unigram(GgufTokenizer& tokenizer) {
  const auto usual = [&](std::optional<int64_t>& id, int64_t value) {
    if (!id && value < std::ssize(tokenizer.tokens)) id = value;
  };
  usual(tokenizer.pad, 0);
  usual(tokenizer.eos, 1);
  usual(tokenizer.unknown, 2);
  tokenizer.add_eos = tokenizer.add_eos.value_or(true);
}

// Adds RoBERTa's second separator between two texts.
void separate(const GgufMetadata& metadata, GgufTokenizer& tokenizer) {
  if (!metadata.flag(key("add_sep_token")).value_or(true)) return;
  if (!tokenizer.add_bos.value_or(false) || !tokenizer.add_eos.value_or(false)) return;
  const auto given = metadata.size(key("seperator_token_id"));
  if (given) check_id(metadata, "seperator_token_id", *given, tokenizer.tokens.size());
  tokenizer.separator = given ? given : tokenizer.eos;
}

// Fills in the defaults of its kind of tokenizer.
GgufTokenizer complete(const GgufMetadata& metadata, std::string_view model) {
  GgufTokenizer tokenizer = read(metadata);
  if (model == "gpt2" || model == kGemma4) {
    if (metadata.text(key("pre")).value_or("") == "roberta-bpe") {
      tokenizer.add_bos = tokenizer.add_bos.value_or(true);
      tokenizer.add_eos = tokenizer.add_eos.value_or(true);
    }
    separate(metadata, tokenizer);
  } else if (model == "bert") {
    complete_bert(metadata, tokenizer);
  } else if (model == "t5") {
    complete_unigram(tokenizer);
    separate(metadata, tokenizer);
  } else if (model != "llama") {
    metadata.unsupported(key("model"),
                         fmt::format("'{}' is not known (known: llama, gpt2, bert, t5, gemma4)",
                                     model.substr(0, 60)));
  }
  return tokenizer;
}

std::string model_of(const GgufMetadata& metadata) {
  return metadata.text(key("model")).value_or("");
}

std::string tokenizer_json(const GgufMetadata& metadata, const GgufTokenizer& tokenizer,
                           std::string_view model, JsonFile* apart) {
  if (model == "gpt2" || model == kGemma4) return byte_level_json(metadata, tokenizer, apart);
  return model == "bert" ? word_piece_json(metadata, tokenizer, apart)
                         : unigram_json(metadata, tokenizer, apart);
}

}  // namespace

JsonFile read_gguf_tokenizer(const GgufContent& content, const std::string& name) {
  const GgufMetadata metadata(content, name);
  const std::string model = model_of(metadata);
  const GgufTokenizer tokenizer = complete(metadata, model);
  if (model == "llama") {
    TokenizerSettings settings;
    settings.tokenizer_class = kLlamaClass;
    settings.add_bos = tokenizer.add_bos;
    settings.add_eos = tokenizer.add_eos;
    settings.add_prefix_space = tokenizer.add_prefix;
    return read_sentencepiece(sentencepiece_model(metadata, tokenizer), settings, name);
  }
  JsonFile file;
  file.root = Json::parse(tokenizer_json(metadata, tokenizer, model, &file), name);
  return file;
}

TextFile gguf_tokenizer_file(const GgufContent& content, const std::string& name) {
  const GgufMetadata metadata(content, name);
  const std::string model = model_of(metadata);
  const GgufTokenizer tokenizer = complete(metadata, model);
  if (model == "llama") return {"tokenizer.model", sentencepiece_model(metadata, tokenizer)};
  return {"tokenizer.json", tokenizer_json(metadata, tokenizer, model, nullptr)};
}

std::vector<TextFile> gguf_settings_files(const GgufContent& content, const std::string& name) {
  const GgufMetadata metadata(content, name);
  const std::string model = model_of(metadata);
  const GgufTokenizer tokenizer = complete(metadata, model);
  std::vector<TextFile> files;
  files.push_back({"tokenizer_config.json", settings(tokenizer, model == "llama")});
  files.push_back({"generation_config.json", generation(metadata, tokenizer)});
  if (auto text = metadata.text("tokenizer.chat_template")) {
    files.push_back({"chat_template.jinja", std::move(*text)});
  }
  return files;
}

}  // namespace pippin::tokenizers
