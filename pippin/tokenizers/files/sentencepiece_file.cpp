#include "pippin/tokenizers/files/sentencepiece_file.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/tokenizers/files/protobuf_reader.h"

namespace pippin::tokenizers {
namespace {

enum class Type { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };
enum class ModelType { Unigram = 1, Bpe = 2 };

struct ModelProto {
  struct Piece {
    std::string_view text;
    float score = 0;
    Type type = Type::Normal;
  };
  std::vector<Piece> pieces;
  ModelType model_type = ModelType::Unigram;
  bool byte_fallback = false;
  int32_t unknown = 0, bos = 1, eos = 2;
  SentencePieceRules rules;
};

ModelProto::Piece read_piece(ProtobufReader reader, size_t index, std::string_view name) {
  ModelProto::Piece piece;
  while (reader.next()) {
    if (reader.field() == 1) piece.text = reader.bytes();
    if (reader.field() == 2) piece.score = reader.float32();
    if (reader.field() == 3) piece.type = static_cast<Type>(reader.int32());
  }
  if (piece.text.empty() || !is_valid_utf8(piece.text) || !std::isfinite(piece.score) ||
      piece.type < Type::Normal || piece.type > Type::Byte) {
    fail(ErrorCode::InvalidFile,
         "{}: piece {} is empty or not UTF-8, or its score ({}) or type ({}) is invalid", name,
         index, piece.score, static_cast<int>(piece.type));
  }
  return piece;
}

void read_trainer(ProtobufReader reader, ModelProto& model, std::string_view name) {
  while (reader.next()) {
    switch (reader.field()) {
      case 3:
        model.model_type = static_cast<ModelType>(reader.int32());
        if (model.model_type != ModelType::Unigram && model.model_type != ModelType::Bpe) {
          fail(ErrorCode::Unsupported, "{}: SentencePiece models of type {} (1 Unigram, 2 BPE)",
               name, reader.int32());
        }
        break;
      case 24:
        if (reader.boolean()) {
          fail(ErrorCode::Unsupported, "{}: SentencePiece with whitespace as suffix", name);
        }
        break;
      case 35:
        model.byte_fallback = reader.boolean();
        break;
      case 40:
        model.unknown = reader.int32();
        break;
      case 41:
        model.bos = reader.int32();
        break;
      case 42:
        model.eos = reader.int32();
        break;
      default:
        break;
    }
  }
}

void read_normalizer(ProtobufReader reader, SentencePieceRules& rules) {
  while (reader.next()) {
    if (reader.field() == 2) rules.charsmap = reader.bytes();
    if (reader.field() == 3) rules.add_dummy_prefix = reader.boolean();
    if (reader.field() == 4) rules.remove_extra_whitespaces = reader.boolean();
    if (reader.field() == 5) rules.escape_whitespaces = reader.boolean();
  }
}

ModelProto read_model(std::string_view bytes, std::string_view name) {
  ModelProto model;
  std::optional<size_t> unknown;  // a piece of type unknown overrides unk_id
  ProtobufReader reader(bytes, name);
  while (reader.next()) {
    if (reader.field() == 1) {
      model.pieces.push_back(read_piece(reader.message(), model.pieces.size(), name));
      if (model.pieces.back().type == Type::Unknown) unknown = model.pieces.size() - 1;
    }
    if (reader.field() == 2) read_trainer(reader.message(), model, name);
    if (reader.field() == 3) read_normalizer(reader.message(), model.rules);
  }
  if (model.pieces.empty() || model.pieces.size() > static_cast<size_t>(kMaxTokenId)) {
    fail(ErrorCode::InvalidFile, "{}: not a SentencePiece model: {} pieces", name,
         model.pieces.size());
  }
  if (unknown) model.unknown = static_cast<int32_t>(*unknown);
  const auto count = static_cast<int32_t>(model.pieces.size());
  if (model.unknown < 0 || model.unknown >= count || model.bos >= count || model.eos >= count) {
    fail(ErrorCode::InvalidFile, "{}: unk_id {}, bos_id {} or eos_id {} is not one of {} pieces",
         name, model.unknown, model.bos, model.eos, count);
  }
  return model;
}

// Higher scores get lower ranks; equal scores share a rank.
std::vector<uint32_t> ranks_of(const ModelProto& model) {
  std::vector<float> scores;
  for (const auto& piece : model.pieces) scores.push_back(piece.score);
  std::sort(scores.begin(), scores.end(), std::greater<>());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
  std::vector<uint32_t> ranks;
  for (const auto& piece : model.pieces) {
    const auto place =
        std::lower_bound(scores.begin(), scores.end(), piece.score, std::greater<>());
    ranks.push_back(piece.type == Type::Normal ? static_cast<uint32_t>(place - scores.begin())
                                               : kNoRank);
  }
  return ranks;
}

// Gives each merge its own rank. Merges of one score (runs of spaces share one) are ordered by the
// ids of their parts, as in the published tokenizer.json files of Llama and Mistral. SentencePiece
// itself takes the leftmost.
void order_merges(std::vector<JsonFile::RankedMerge>& merges) {
  const auto order = [](const JsonFile::RankedMerge& merge) {
    return std::tuple(merge.rank, merge.left, merge.right);
  };
  std::sort(merges.begin(), merges.end(),
            [&](const auto& a, const auto& b) { return order(a) < order(b); });
  for (size_t i = 0; i < merges.size(); ++i) merges[i].rank = static_cast<uint32_t>(i);
}

void write_post_processor(const ModelProto& model, const TokenizerSettings& settings,
                          JsonWriter& root) {
  const bool is_bpe = model.model_type == ModelType::Bpe;
  const std::string& kind = settings.tokenizer_class;
  const bool begins =
      kind.empty() ? is_bpe : kind.find("Llama") != kind.npos || kind.find("Gemma") != kind.npos;
  const bool ends = kind.empty() ? !is_bpe : kind.find("T5") != kind.npos;
  const bool has_bos = settings.add_bos.value_or(begins) && model.bos >= 0;
  const bool has_eos = settings.add_eos.value_or(ends) && model.eos >= 0;
  root.begin_object().member("type", "TemplateProcessing").key("single").begin_array();
  if (has_bos) root.raw(R"({"SpecialToken": {"id": "bos"}})");
  root.raw(R"({"Sequence": {"id": "A"}})");
  if (has_eos) root.raw(R"({"SpecialToken": {"id": "eos"}})");
  root.end_array().key("special_tokens").begin_object();
  if (has_bos) root.key("bos").raw(fmt::format(R"({{"ids": [{}]}})", model.bos));
  if (has_eos) root.key("eos").raw(fmt::format(R"({{"ids": [{}]}})", model.eos));
  root.end_object().end_object();
}

void write_decoder(bool strip_first, JsonWriter& root) {
  root.begin_object().member("type", "Sequence").key("decoders").begin_array();
  root.raw(R"({"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "})");
  root.raw(R"({"type": "ByteFallback"})").raw(R"({"type": "Fuse"})");
  if (strip_first) root.raw(R"({"type": "Strip", "content": " ", "start": 1, "stop": 0})");
  root.end_array().end_object();
}

bool is_like_llama(const ModelProto& model, const TokenizerSettings& settings) {
  const std::string& kind = settings.tokenizer_class;
  if (kind.empty()) return model.model_type == ModelType::Bpe && model.byte_fallback;
  return kind.find("Llama") != kind.npos || kind.find("Gemma") != kind.npos;
}

}  // namespace

JsonFile read_sentencepiece(std::string_view bytes, const TokenizerSettings& settings,
                            std::string_view name) {
  ModelProto model = read_model(bytes, name);
  if (settings.add_prefix_space) model.rules.add_dummy_prefix = *settings.add_prefix_space;
  if (is_like_llama(model, settings)) {
    model.rules.remove_extra_whitespaces = false;
    model.rules.charsmap.clear();
    model.rules.prefix_before_space = settings.legacy.value_or(true);
  }
  JsonFile file;
  const bool is_bpe = model.model_type == ModelType::Bpe;
  std::vector<TokenizerSettings::Added> added;
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const auto& piece = model.pieces[i];
    const auto id = static_cast<int32_t>(i);
    file.vocab_tokens.add(piece.text);
    if (is_bpe) {
      file.vocab_ids.push_back(id);
    } else {
      file.vocab_scores.push_back(piece.score);
      file.vocab_unmatched.push_back(piece.type != Type::Normal);
    }
    const bool is_special = piece.type == Type::Control || piece.type == Type::Unknown;
    if (is_special || piece.type == Type::UserDefined) {
      added.push_back({id, std::string(piece.text), false, false, false, false, is_special});
    }
  }
  file.has_vocab = file.has_merges = is_bpe;
  file.has_scores = !is_bpe;
  if (is_bpe) {
    make_merges(file, ranks_of(model), name);
    order_merges(file.ranked_merges);
  }
  JsonWriter root;
  root.begin_object().key("model").begin_object();
  root.member("type", is_bpe ? "BPE" : "Unigram").member("byte_fallback", model.byte_fallback);
  if (is_bpe) {
    root.member("fuse_unk", true);
    root.member("unk_token", model.pieces[static_cast<size_t>(model.unknown)].text);
  } else {
    root.member("unk_id", model.unknown);
  }
  root.end_object().key("post_processor");
  write_post_processor(model, settings, root);
  root.key("decoder");
  write_decoder(model.rules.add_dummy_prefix, root);
  file.normalizer = std::move(model.rules);
  added.insert(added.end(), settings.added.begin(), settings.added.end());
  finish_file(file, root, added, name);
  return file;
}

}  // namespace pippin::tokenizers
