#include "pippin/tokenizers/normalizers.h"

#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/tokenizers/byte_level.h"
#include "pippin/tokenizers/pattern.h"
#include "pippin/tokenizers/text_normalizers.h"
#include "pippin/tokenizers/unicode/unicode.h"

namespace pippin::tokenizers {
namespace {

using Made = std::unique_ptr<Normalizer>;

class Sequence final : public Normalizer {
 public:
  explicit Sequence(const Json& config) {
    for (const auto& part : config.at("normalizers").elements()) {
      parts_.push_back(make_normalizer(part));
    }
  }
  void normalize(Piece& piece) const override {
    for (const auto& part : parts_) {
      check_cancel();
      part->normalize(piece);
      check_growth(piece, piece.text.size());
    }
  }

 private:
  std::vector<Made> parts_;
};

template <NormalForm form>
class UnicodeForm final : public Normalizer {
 public:
  explicit UnicodeForm(const Json& /*config*/) {}
  void normalize(Piece& piece) const override { piece.text = normal_form(piece.text, form); }
};

class Lowercase final : public Normalizer {
 public:
  explicit Lowercase(const Json& /*config*/) {}
  void normalize(Piece& piece) const override { piece.text = lowercase(piece.text); }
};

class ByteLevel final : public Normalizer {
 public:
  explicit ByteLevel(const Json& /*config*/) {}
  void normalize(Piece& piece) const override { piece.text = bytes_to_characters(piece.text); }
};

class Strip final : public Normalizer {
 public:
  explicit Strip(const Json& config)
      : left_(config.get_bool("strip_left")), right_(config.get_bool("strip_right")) {}

  void normalize(Piece& piece) const override {
    const std::string& text = piece.text;
    size_t begin = 0, end = text.size();
    while (left_ && begin < end) {
      size_t next = begin;
      if (!is_whitespace(decode_utf8(text, next))) break;
      begin = next;
    }
    while (right_ && end > begin) {
      const size_t before = previous_character(text, end);
      size_t at = before;
      if (!is_whitespace(decode_utf8(text, at))) break;
      end = before;
    }
    if (begin > 0) piece.at_start = false;
    piece.text = text.substr(begin, end - begin);
  }

 private:
  bool left_, right_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(const Json& config) : prefix_(config.get_string("prepend")) {}
  void normalize(Piece& piece) const override {
    if (!piece.text.empty()) piece.text.insert(0, prefix_);
  }

 private:
  std::string prefix_;
};

class Replace final : public Normalizer {
 public:
  explicit Replace(const Json& config)
      : pattern_(config.at("pattern")), content_(config.get_string("content")) {}

  void normalize(Piece& piece) const override {
    const auto matches = pattern_.find_all(piece.text);
    if (matches.empty()) return;
    if (content_.empty() && matches[0].begin == 0 && matches[0].end > 0) piece.at_start = false;
    std::string out;
    size_t end = 0;
    for (const auto& match : matches) {
      out.append(piece.text, end, match.begin - end);
      out += content_;
      check_growth(piece, out.size());
      end = match.end;
    }
    out.append(piece.text, end);
    piece.text = std::move(out);
  }

 private:
  Pattern pattern_;
  std::string content_;
};

template <typename T>
Made make(const Json& config) {
  return std::make_unique<T>(config);
}

constexpr Kind<Made> kKinds[] = {
    {"Sequence", make<Sequence>},
    {"NFC", make<UnicodeForm<NormalForm::Nfc>>},
    {"NFD", make<UnicodeForm<NormalForm::Nfd>>},
    {"NFKC", make<UnicodeForm<NormalForm::Nfkc>>},
    {"NFKD", make<UnicodeForm<NormalForm::Nfkd>>},
    {"Lowercase", make<Lowercase>},
    {"Strip", make<Strip>},
    {"Prepend", make<Prepend>},
    {"Replace", make<Replace>},
    {"ByteLevel", make<ByteLevel>},
    {"BertNormalizer", make_bert_normalizer},
    {"StripAccents", make_strip_accents},
    {"Nmt", make_nmt},
    {"Precompiled", make_precompiled},
};

}  // namespace

void check_growth(const Piece& piece, size_t bytes) {
  if (bytes <= piece.most_bytes) return;
  fail(ErrorCode::LimitExceeded,
       "a tokenizer's normalizer makes more than {} bytes of a text, at most {} are tokenized",
       bytes, piece.most_bytes);
}

Made make_normalizer(const Json& config) {
  return make_stage(kKinds, "normalizer", config);
}

}  // namespace pippin::tokenizers
