#include <string>

#include "pippin/base/text.h"
#include "pippin/tokenizers/charsmap.h"
#include "pippin/tokenizers/files/sentencepiece_file.h"

namespace pippin::tokenizers {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

class SentencePiece final : public Normalizer {
 public:
  SentencePiece(const SentencePieceRules& rules, std::string_view name) : rules_(rules) {
    if (!rules.charsmap.empty()) map_.emplace(rules.charsmap, name);
  }

  void normalize(Piece& piece) const override {
    std::string spaced = replaced(piece);
    if (rules_.remove_extra_whitespaces) spaced = trimmed(spaced, piece.at_start);
    std::string out;
    const std::string_view space = rules_.escape_whitespaces ? kSpaceMark : " ";
    const bool has_one =
        !rules_.prefix_before_space && (spaced.starts_with(' ') || spaced.starts_with(kSpaceMark));
    const bool prefixed = piece.at_start && rules_.add_dummy_prefix && !has_one;
    if (prefixed && !spaced.empty()) out += space;
    for (const char c : spaced) {
      if (c == ' ') {
        out += space;
      } else {
        out += c;
      }
    }
    piece.text = std::move(out);
  }

 private:
  std::string replaced(const Piece& piece) const {
    const std::string_view text = piece.text;
    if (!map_) return std::string(text);
    std::string out;
    for (size_t i = 0; i < text.size();) {
      if (const auto match = map_->longest(text.substr(i))) {
        out += match->replacement;
        i += match->length;
        check_growth(piece, out.size());
        continue;
      }
      const size_t at = i;
      decode_utf8(text, i);
      out += text.substr(at, i - at);
    }
    return out;
  }
  static std::string trimmed(std::string_view text, bool at_start) {
    std::string out;
    bool after_space = at_start;
    for (const char c : text) {
      if (c == ' ' && after_space) continue;
      after_space = c == ' ';
      out += c;
    }
    if (out.ends_with(' ')) out.pop_back();
    return out;
  }

  SentencePieceRules rules_;
  std::optional<Charsmap> map_;
};

}  // namespace

std::unique_ptr<Normalizer> make_sentencepiece_normalizer(const SentencePieceRules& rules,
                                                          std::string_view name) {
  return std::make_unique<SentencePiece>(rules, name);
}

}  // namespace pippin::tokenizers
