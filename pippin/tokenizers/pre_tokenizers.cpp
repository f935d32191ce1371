#include "pippin/tokenizers/pre_tokenizers.h"

#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/tokenizers/byte_level.h"
#include "pippin/tokenizers/pattern.h"
#include "pippin/tokenizers/unicode/unicode.h"
#include "pippin/tokenizers/unicode/unicode_scripts.h"

namespace pippin::tokenizers {
namespace {

using Made = std::unique_ptr<PreTokenizer>;

// Replaces each piece of text with the ranges that `ranges_of(piece)` returns.
template <typename RangesOf>
void split_pieces(Pieces& pieces, RangesOf ranges_of) {
  Pieces result;
  result.reserve(pieces.size());
  for (auto& piece : pieces) {
    if (piece.token >= 0) {
      result.push_back(std::move(piece));
      continue;
    }
    const std::vector<TextRange> ranges = ranges_of(piece);
    if (ranges.size() == 1 && ranges[0].begin == 0 && ranges[0].end == piece.text.size()) {
      if (!piece.text.empty()) result.push_back(std::move(piece));
      continue;
    }
    for (const auto& range : ranges) {
      if (range.begin == range.end) continue;
      result.push_back({piece.text.substr(range.begin, range.end - range.begin), -1,
                        piece.at_start && range.begin == 0});
    }
  }
  pieces = std::move(result);
}

template <bool (*matches)(char32_t)>
void split_characters(Pieces& pieces, SplitBehavior behavior) {
  split_pieces(pieces, [&](const Piece& piece) {
    return apply_behavior(character_segments(piece.text, matches), behavior);
  });
}

class Sequence final : public PreTokenizer {
 public:
  explicit Sequence(const Json& config) {
    for (const auto& part : config.at("pretokenizers").elements()) {
      parts_.push_back(make_pre_tokenizer(part));
    }
  }
  void split(Pieces& pieces) const override {
    for (const auto& part : parts_) part->split(pieces);
  }

 private:
  std::vector<Made> parts_;
};

class ByteLevel final : public PreTokenizer {
 public:
  explicit ByteLevel(const Json& config) : add_prefix_space_(config.get_bool("add_prefix_space")) {
    if (config.get_bool_or("use_regex", true)) {
      // GPT-2's words: contractions, then letters, numbers and other marks, each with an optional
      // space before it.
      words_.emplace(
          R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
          config.where());
    }
  }
  void split(Pieces& pieces) const override {
    for (auto& piece : pieces) {
      if (piece.token < 0 && add_prefix_space_ && !piece.text.starts_with(' ')) {
        piece.text.insert(0, 1, ' ');
      }
    }
    if (words_) {
      split_pieces(pieces, [&](const Piece& piece) {
        return apply_behavior(segments(words_->find_all(piece.text), piece.text),
                              SplitBehavior::Isolated);
      });
    }
    for (auto& piece : pieces) {
      if (piece.token < 0) piece.text = bytes_to_characters(piece.text);
    }
  }

 private:
  bool add_prefix_space_;
  std::optional<Regex> words_;
};

class Split final : public PreTokenizer {
 public:
  explicit Split(const Json& config)
      : pattern_(config.at("pattern")),
        behavior_(read_split_behavior(config.at("behavior"))),
        invert_(config.get_bool("invert")) {}
  void split(Pieces& pieces) const override {
    split_pieces(pieces, [&](const Piece& piece) {
      return apply_behavior(segments(pattern_.find_all(piece.text), piece.text, invert_),
                            behavior_);
    });
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class Metaspace final : public PreTokenizer {
 public:
  explicit Metaspace(const Json& config)
      : replacement_(character(config.at("replacement"))),
        split_(config.get_bool_or("split", true)) {
    const std::string scheme = config.find_string("prepend_scheme").value_or("always");
    always_ = scheme == "always";
    first_ = scheme == "first";
    if (!always_ && !first_ && scheme != "never") {
      fail(ErrorCode::InvalidFile, "{}: '{}' is not a prepend_scheme", config.where(), scheme);
    }
    if (!config.get_bool_or("add_prefix_space", true)) {  // the older spelling of "never"
      if (config.has("prepend_scheme") && scheme != "never") {
        config.invalid("add_prefix_space and prepend_scheme do not agree");
      }
      always_ = first_ = false;
    }
  }
  void split(Pieces& pieces) const override {
    for (auto& piece : pieces) {
      if (piece.token < 0) piece.text = replaced(piece);
    }
    split_pieces(pieces, [&](const Piece& piece) { return words(piece.text); });
  }

 private:
  std::string replaced(const Piece& piece) const {
    std::string out;
    for (const char c : piece.text) {
      if (c == ' ') {
        out += replacement_;
      } else {
        out += c;
      }
    }
    if ((always_ || (first_ && piece.at_start)) && !out.empty() && !out.starts_with(replacement_)) {
      out.insert(0, replacement_);
    }
    return out;
  }
  std::vector<TextRange> words(std::string_view text) const {
    if (!split_) return {{0, text.size()}};
    std::vector<TextRange> found;
    for (size_t at = text.find(replacement_); at != std::string_view::npos;
         at = text.find(replacement_, at + replacement_.size())) {
      found.push_back({at, at + replacement_.size()});
    }
    return apply_behavior(segments(found, text), SplitBehavior::MergedWithNext);
  }

  std::string replacement_;
  bool split_;
  bool always_ = false, first_ = false;
};

class Digits final : public PreTokenizer {
 public:
  explicit Digits(const Json& config)
      : behavior_(config.get_bool("individual_digits") ? SplitBehavior::Isolated
                                                       : SplitBehavior::Contiguous) {}
  void split(Pieces& pieces) const override { split_characters<is_numeric>(pieces, behavior_); }

 private:
  SplitBehavior behavior_;
};

class Punctuation final : public PreTokenizer {
 public:
  explicit Punctuation(const Json& config)
      : behavior_(config.has("behavior") ? read_split_behavior(config.at("behavior"))
                                         : SplitBehavior::Isolated) {}
  void split(Pieces& pieces) const override { split_characters<is_punctuation>(pieces, behavior_); }

 private:
  SplitBehavior behavior_;
};

class WhitespaceSplit final : public PreTokenizer {
 public:
  explicit WhitespaceSplit(const Json& /*config*/) {}
  void split(Pieces& pieces) const override {
    split_characters<is_whitespace>(pieces, SplitBehavior::Removed);
  }
};

// Runs of word characters, and runs of characters that are neither word nor space.
class Whitespace final : public PreTokenizer {
 public:
  explicit Whitespace(const Json& /*config*/) {}
  void split(Pieces& pieces) const override {
    split_pieces(pieces, [](const Piece& piece) {
      enum class Class { Space, Word, Other };
      std::vector<TextRange> runs;
      Class last = Class::Space;
      for (size_t i = 0; i < piece.text.size();) {
        const size_t at = i;
        const char32_t c = decode_utf8(piece.text, i);
        const Class now = is_whitespace(c) ? Class::Space : is_word(c) ? Class::Word : Class::Other;
        if (now != Class::Space) {
          if (now == last) {
            runs.back().end = i;
          } else {
            runs.push_back({at, i});
          }
        }
        last = now;
      }
      return runs;
    });
  }
};

// Splits into words, with each punctuation mark separate.
class BertPreTokenizer final : public PreTokenizer {
 public:
  explicit BertPreTokenizer(const Json& /*config*/) {}
  void split(Pieces& pieces) const override {
    split_characters<is_whitespace>(pieces, SplitBehavior::Removed);
    split_characters<is_punctuation>(pieces, SplitBehavior::Isolated);
  }
};

class FixedLength final : public PreTokenizer {
 public:
  explicit FixedLength(const Json& config)
      : length_(config.has("length") ? integer(config.at("length"), 1, INT64_MAX) : 5) {}
  void split(Pieces& pieces) const override {
    split_pieces(pieces, [&](const Piece& piece) {
      std::vector<TextRange> parts;
      int64_t left = 0;
      for (size_t i = 0; i < piece.text.size(); --left) {
        if (left == 0) {
          parts.push_back({i, i});
          left = length_;
        }
        decode_utf8(piece.text, i);
        parts.back().end = i;
      }
      return parts;
    });
  }

 private:
  int64_t length_;  // in characters
};

// Runs of one script. Spaces and unassigned characters join the run before them; before the first
// run they are dropped, as in the original.
class UnicodeScripts final : public PreTokenizer {
 public:
  explicit UnicodeScripts(const Json& /*config*/) {}
  void split(Pieces& pieces) const override {
    split_pieces(pieces, [](const Piece& piece) {
      std::vector<TextRange> runs;
      int last = 0;
      for (size_t i = 0; i < piece.text.size();) {
        const size_t at = i;
        const char32_t c = decode_utf8(piece.text, i);
        const int script = c == ' ' ? 0 : script_of(c);
        if (script != 0 && script != last) {
          runs.push_back({at, i});
          last = script;
        }
        if (!runs.empty()) runs.back().end = i;
      }
      return runs;
    });
  }
};

class CharDelimiterSplit final : public PreTokenizer {
 public:
  explicit CharDelimiterSplit(const Json& config) : delimiter_(character(config.at("delimiter"))) {}
  void split(Pieces& pieces) const override {
    split_pieces(pieces, [&](const Piece& piece) {
      std::vector<TextRange> parts;
      size_t begin = 0;
      for (size_t at = piece.text.find(delimiter_); at != std::string::npos;
           at = piece.text.find(delimiter_, begin)) {
        parts.push_back({begin, at});
        begin = at + delimiter_.size();
      }
      parts.push_back({begin, piece.text.size()});
      return parts;
    });
  }

 private:
  std::string delimiter_;
};

template <typename T>
Made make(const Json& config) {
  return std::make_unique<T>(config);
}

constexpr Kind<Made> kKinds[] = {
    {"Sequence", make<Sequence>},
    {"ByteLevel", make<ByteLevel>},
    {"Split", make<Split>},
    {"Metaspace", make<Metaspace>},
    {"Digits", make<Digits>},
    {"Punctuation", make<Punctuation>},
    {"Whitespace", make<Whitespace>},
    {"WhitespaceSplit", make<WhitespaceSplit>},
    {"CharDelimiterSplit", make<CharDelimiterSplit>},
    {"BertPreTokenizer", make<BertPreTokenizer>},
    {"FixedLength", make<FixedLength>},
    {"UnicodeScripts", make<UnicodeScripts>},
};

}  // namespace

Made make_pre_tokenizer(const Json& config) {
  return make_stage(kKinds, "pre-tokenizer", config);
}

}  // namespace pippin::tokenizers
