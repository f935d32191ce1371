#include "pippin/tokenizers/word_decoders.h"

#include <optional>
#include <utility>

#include "pippin/base/text.h"
#include "pippin/tokenizers/decode_stages.h"

namespace pippin::tokenizers {
namespace {

// Like Rust's str::replace: an empty `from` matches before every character and at the end.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  if (from.empty()) {
    for (size_t i = 0; i < text.size();) {
      const size_t at = i;
      decode_utf8(text, i);
      out += to;
      out += text.substr(at, i - at);
    }
    return out += to;
  }
  size_t begin = 0;
  for (size_t at = text.find(from); at != std::string_view::npos; at = text.find(from, begin)) {
    out += text.substr(begin, at - begin);
    out += to;
    begin = at + from.size();
  }
  return out += text.substr(begin);
}

// Removes the spaces that BERT's tokenizer puts before punctuation marks and English contractions.
std::string clean_up(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  for (const auto& [from, to] : kRules) text = replace_all(text, from, to);
  return text;
}

class WordPieceStage final : public WholeTokenStage {
 public:
  struct Settings {
    explicit Settings(const Json& config)
        : prefix(config.get_string("prefix")), cleanup(config.get_bool("cleanup")) {}
    std::string prefix;
    bool cleanup;
  };
  WordPieceStage(DecodeStage* next, const Settings& settings)
      : WholeTokenStage(next), settings_(settings) {}

 protected:
  void token(const std::string& text) override {
    std::string out = text;
    if (!std::exchange(first_, false)) {
      if (text.starts_with(settings_.prefix)) {
        out.erase(0, settings_.prefix.size());
      } else {
        out.insert(0, 1, ' ');
      }
    }
    pass(settings_.cleanup ? clean_up(std::move(out)) : out);
  }

 private:
  const Settings& settings_;
  bool first_ = true;
};

// The suffix becomes a space, or nothing in the last token, so one token is held back.
class BpeStage final : public WholeTokenStage {
 public:
  struct Settings {
    explicit Settings(const Json& config) : suffix(config.get_string("suffix")) {}
    std::string suffix;
  };
  BpeStage(DecodeStage* next, const Settings& settings)
      : WholeTokenStage(next), settings_(settings) {}
  void finish() override {
    if (last_) pass(replace_all(*last_, settings_.suffix, ""));
    next_->finish();
  }

 protected:
  void token(const std::string& text) override {
    if (last_) pass(replace_all(*last_, settings_.suffix, " "));
    last_ = text;
  }

 private:
  const Settings& settings_;
  std::optional<std::string> last_;
};

class CtcStage final : public WholeTokenStage {
 public:
  struct Settings {
    explicit Settings(const Json& config)
        : pad(config.get_string("pad_token")),
          delimiter(config.get_string("word_delimiter_token")),
          cleanup(config.get_bool("cleanup")) {}
    std::string pad, delimiter;
    bool cleanup;
  };
  CtcStage(DecodeStage* next, const Settings& settings)
      : WholeTokenStage(next), settings_(settings) {}

 protected:
  void token(const std::string& text) override {
    if (last_ == text) return;
    last_ = text;
    std::string out = replace_all(text, settings_.pad, "");
    if (settings_.cleanup) out = replace_all(clean_up(std::move(out)), settings_.delimiter, " ");
    if (!out.empty()) pass(out);
  }

 private:
  const Settings& settings_;
  std::optional<std::string> last_;
};

}  // namespace

std::unique_ptr<Decoder> make_word_piece_decoder(const Json& config) {
  return std::make_unique<SingleStage<WordPieceStage>>(config);
}
std::unique_ptr<Decoder> make_bpe_decoder(const Json& config) {
  return std::make_unique<SingleStage<BpeStage>>(config);
}
std::unique_ptr<Decoder> make_ctc_decoder(const Json& config) {
  return std::make_unique<SingleStage<CtcStage>>(config);
}

}  // namespace pippin::tokenizers
