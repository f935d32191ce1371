#include "pippin/tokenizers/text_normalizers.h"

#include "pippin/base/base64.h"
#include "pippin/base/text.h"
#include "pippin/tokenizers/charsmap.h"
#include "pippin/tokenizers/unicode/unicode.h"

namespace pippin::tokenizers {
namespace {

constexpr char32_t kRemove = 0xFFFFFFFF;

// Replaces each character with map(c), or removes it if that is kRemove.
template <typename Map>
void map_characters(Piece& piece, Map map) {
  std::string out;
  out.reserve(piece.text.size());
  for (size_t i = 0; i < piece.text.size();) {
    const bool is_first = i == 0;
    const char32_t c = map(decode_utf8(piece.text, i));
    if (c != kRemove) {
      append_utf8(out, c);
    } else if (is_first) {
      piece.at_start = false;
    }
  }
  piece.text = std::move(out);
}

class StripAccents final : public Normalizer {
 public:
  void normalize(Piece& piece) const override {
    map_characters(piece, [](char32_t c) { return is_mark(c) ? kRemove : c; });
  }
};

bool is_chinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

class Bert final : public Normalizer {
 public:
  explicit Bert(const Json& config)
      : clean_(config.get_bool("clean_text")),
        chinese_(config.get_bool("handle_chinese_chars")),
        lowercase_(config.get_bool("lowercase")),
        accents_(config.get_bool_or("strip_accents", lowercase_)) {}

  void normalize(Piece& piece) const override {
    if (clean_) {
      map_characters(piece, [](char32_t c) {
        if (c == '\t' || c == '\n' || c == '\r') return U' ';
        if (c == 0xFFFD || is_other(c)) return kRemove;
        return is_whitespace(c) ? U' ' : c;
      });
    }
    if (chinese_) piece.text = spaced(piece.text);
    if (accents_) {
      piece.text = normal_form(piece.text, NormalForm::Nfd);
      map_characters(piece, [](char32_t c) { return is_nonspacing_mark(c) ? kRemove : c; });
    }
    if (lowercase_) piece.text = lowercase(piece.text);
  }

 private:
  static std::string spaced(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size();) {
      const size_t at = i;
      const bool chinese = is_chinese(decode_utf8(text, i));
      if (chinese) out += ' ';
      out += text.substr(at, i - at);
      if (chinese) out += ' ';
    }
    return out;
  }
  bool clean_, chinese_, lowercase_, accents_;
};

class Nmt final : public Normalizer {
 public:
  void normalize(Piece& piece) const override {
    map_characters(piece, [](char32_t c) {
      const bool is_control = (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) ||
                              c == 0x7F || c == 0x8F || c == 0x9F;
      if (is_control) return kRemove;
      const bool is_space = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                            (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 ||
                            c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
      return is_space ? U' ' : c;
    });
  }
};

// As in the original: a short cluster that is an entry's prefix is replaced as a whole; otherwise
// its characters are replaced one by one. A text whose beginning is removed is still at the start.
class Precompiled final : public Normalizer {
 public:
  explicit Precompiled(const Json& config) : map_(blob(config), config.where()) {}

  void normalize(Piece& piece) const override {
    const std::string_view text = piece.text;
    std::string out;
    out.reserve(text.size());
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = grapheme_end(text, begin);
      const std::string_view cluster = text.substr(begin, end - begin);
      const auto match = cluster.size() < kLongCluster ? map_.shortest(cluster) : std::nullopt;
      if (match) {
        out += match->replacement;
      } else {
        replace_characters(cluster, out);
      }
      check_growth(piece, out.size());
      begin = end;
    }
    piece.text = std::move(out);
  }

 private:
  static constexpr size_t kLongCluster = 6;  // bytes

  static std::string blob(const Json& config) {
    const Json value = config.at("precompiled_charsmap");
    auto bytes = decode_base64(value.as_string());
    if (!bytes) value.invalid("this is not base64");
    return *std::move(bytes);
  }
  void replace_characters(std::string_view cluster, std::string& out) const {
    for (size_t i = 0; i < cluster.size();) {
      const size_t at = i;
      decode_utf8(cluster, i);
      const std::string_view character = cluster.substr(at, i - at);
      const auto match = map_.shortest(character);
      out += match ? match->replacement : character;
    }
  }

  Charsmap map_;
};

}  // namespace

std::unique_ptr<Normalizer> make_bert_normalizer(const Json& config) {
  return std::make_unique<Bert>(config);
}
std::unique_ptr<Normalizer> make_strip_accents(const Json& /*config*/) {
  return std::make_unique<StripAccents>();
}
std::unique_ptr<Normalizer> make_nmt(const Json& /*config*/) {
  return std::make_unique<Nmt>();
}
std::unique_ptr<Normalizer> make_precompiled(const Json& config) {
  return std::make_unique<Precompiled>(config);
}

}  // namespace pippin::tokenizers
