#include "pippin/tokenizers/decoders.h"

#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/tokenizers/byte_level.h"
#include "pippin/tokenizers/decode_stages.h"
#include "pippin/tokenizers/pattern.h"
#include "pippin/tokenizers/unicode/unicode.h"
#include "pippin/tokenizers/word_decoders.h"

namespace pippin::tokenizers {
namespace {

using Made = std::unique_ptr<Decoder>;
using Stages = DecodeStages;

struct NoSettings {
  explicit NoSettings(const Json& /*config*/) {}
};

class Sequence final : public Decoder {
 public:
  explicit Sequence(const Json& config) {
    for (const auto& part : config.at("decoders").elements()) parts_.push_back(make_decoder(part));
  }
  DecodeStage* start(DecodeStage* next, Stages& stages) const override {
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
      next = (*part)->start(next, stages);
    }
    return next;
  }

 private:
  std::vector<Made> parts_;
};

// All tokens become one, because their bytes may form characters only when joined.
class ByteLevelStage final : public WholeTokenStage {
 public:
  using Settings = NoSettings;
  ByteLevelStage(DecodeStage* next, const Settings& /*settings*/) : WholeTokenStage(next) {}
  void finish() override {
    flush(true);
    next_->end_token();
    next_->finish();
  }

 protected:
  void token(const std::string& text) override {
    if (!append_bytes_of(text, bytes_)) bytes_ += text;
    flush(false);
  }

 private:
  void flush(bool final) {
    out_.clear();
    if (keeps_bytes_) return next_->text(std::exchange(bytes_, {}));
    bytes_.erase(0, append_utf8_lossy(out_, bytes_, final));
    next_->text(out_);
  }
  std::string bytes_, out_;
};

class FuseStage final : public DecodeStage {
 public:
  using Settings = NoSettings;
  FuseStage(DecodeStage* next, const Settings& /*settings*/) : DecodeStage(next) {}
  void text(std::string_view part) override { next_->text(part); }
  void end_token() override {}
  void finish() override {
    next_->end_token();
    next_->finish();
  }
};

// A run of tokens such as <0x61> becomes its characters or, if the run is not valid UTF-8, one
// U+FFFD per byte. So a run is held back until it ends.
class ByteFallbackStage final : public WholeTokenStage {
 public:
  using Settings = NoSettings;
  ByteFallbackStage(DecodeStage* next, const Settings& /*settings*/) : WholeTokenStage(next) {}
  void finish() override {
    flush();
    next_->finish();
  }

 protected:
  void token(const std::string& text) override {
    const int byte = byte_of(text);
    if (byte >= 0) {
      run_ += static_cast<char>(byte);
      return;
    }
    flush();
    pass(text);
  }

 private:
  static int byte_of(std::string_view text) {
    if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
    const auto digit = [](char c) {
      if (c >= '0' && c <= '9') return c - '0';
      if (c >= 'A' && c <= 'F') return c - 'A' + 10;
      if (c >= 'a' && c <= 'f') return c - 'a' + 10;
      return -1;
    };
    // Rust's number parser, which defines this, also accepts a sign: "<0x+1>" is byte 1.
    if (text[3] == '+') return digit(text[4]);
    const int high = digit(text[3]), low = digit(text[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
  }
  void flush() {
    if (run_.empty()) return;
    if (keeps_bytes_ || is_valid_utf8(run_)) {
      pass(run_);
    } else {
      for (size_t i = 0; i < run_.size(); ++i) pass("\xEF\xBF\xBD");
    }
    run_.clear();
  }
  std::string run_;
};

// Strips up to `start` and `stop` occurrences of one character from the ends of each token.
class StripStage final : public DecodeStage {
 public:
  struct Settings {
    explicit Settings(const Json& config)
        : content(character(config.at("content"))),
          start(integer(config.at("start"), 0, INT32_MAX)),
          stop(integer(config.at("stop"), 0, INT32_MAX)) {}
    std::string content;
    int64_t start, stop;
  };
  StripStage(DecodeStage* next, const Settings& settings)
      : DecodeStage(next), settings_(settings), left_(settings.start) {}

  void text(std::string_view part) override {
    while (left_ > 0 && !part.empty()) {
      if (part.starts_with(settings_.content)) {
        part.remove_prefix(settings_.content.size());
        --left_;
      } else {
        left_ = 0;
      }
    }
    if (settings_.stop > 0) {
      held_ += part;
    } else {
      next_->text(part);
    }
  }
  void end_token() override {
    for (int64_t i = 0; i < settings_.stop && held_.ends_with(settings_.content); ++i) {
      held_.resize(held_.size() - settings_.content.size());
    }
    if (settings_.stop > 0) next_->text(held_);
    held_.clear();
    left_ = settings_.start;
    next_->end_token();
  }

 private:
  const Settings& settings_;
  int64_t left_;
  std::string held_;  // used only if the end is stripped
};

class ReplaceStage final : public WholeTokenStage {
 public:
  struct Settings {
    explicit Settings(const Json& config)
        : pattern(config.at("pattern")), content(config.get_string("content")) {}
    Pattern pattern;
    std::string content;
  };
  ReplaceStage(DecodeStage* next, const Settings& settings)
      : WholeTokenStage(next), settings_(settings) {}

 protected:
  void token(const std::string& text) override {
    const auto matches = settings_.pattern.find_all(text);
    // One replacement adds little, but each of a chain may double the text.
    if (settings_.content.size() * matches.size() > kMostBytes) {
      fail(ErrorCode::LimitExceeded, "a tokenizer's decoder makes more than {} bytes of {}",
           kMostBytes, text.size());
    }
    size_t end = 0;
    for (const auto& match : matches) {
      next_->text(std::string_view(text).substr(end, match.begin - end));
      next_->text(settings_.content);
      end = match.end;
    }
    pass(std::string_view(text).substr(end));
  }

 private:
  static constexpr size_t kMostBytes = 16 << 20;
  const Settings& settings_;
};

// The replacement character becomes a space, or nothing in the first token.
class MetaspaceStage final : public WholeTokenStage {
 public:
  struct Settings {
    explicit Settings(const Json& config)
        : replacement(character(config.at("replacement"))),
          drop_first(config.get_bool_or("add_prefix_space", true) &&
                     config.find_string("prepend_scheme") != "never") {}
    std::string replacement;
    bool drop_first;
  };
  MetaspaceStage(DecodeStage* next, const Settings& settings)
      : WholeTokenStage(next), settings_(settings) {}

 protected:
  void token(const std::string& text) override {
    std::string out;
    for (size_t i = 0; i < text.size();) {
      if (text.compare(i, settings_.replacement.size(), settings_.replacement) == 0) {
        if (!first_ || !settings_.drop_first) out += ' ';
        i += settings_.replacement.size();
      } else {
        out += text[i++];
      }
    }
    first_ = false;
    pass(out);
  }

 private:
  const Settings& settings_;
  bool first_ = true;
};

// The last stage of every chain.
class Output final : public DecodeStage {
 public:
  Output(std::string& output, std::string_view separator)
      : DecodeStage(nullptr), output_(output), separator_(separator) {}
  void text(std::string_view part) override {
    separate();
    output_ += part;
  }
  void end_token() override {
    separate();
    between_ = true;
  }
  void finish() override {}

 private:
  void separate() {
    if (between_) output_ += separator_;
    between_ = false;
  }
  std::string& output_;
  std::string_view separator_;
  bool between_ = false;
};

template <typename T>
Made make(const Json& config) {
  return std::make_unique<T>(config);
}

constexpr Kind<Made> kDecoderKinds[] = {
    {"Sequence", make<Sequence>},
    {"ByteLevel", make<SingleStage<ByteLevelStage>>},
    {"ByteFallback", make<SingleStage<ByteFallbackStage>>},
    {"Fuse", make<SingleStage<FuseStage>>},
    {"Strip", make<SingleStage<StripStage>>},
    {"Replace", make<SingleStage<ReplaceStage>>},
    {"Metaspace", make<SingleStage<MetaspaceStage>>},
    {"WordPiece", make_word_piece_decoder},
    {"BPEDecoder", make_bpe_decoder},
    {"CTC", make_ctc_decoder},
};

}  // namespace

Made make_decoder(const Json& config) {
  return make_stage(kDecoderKinds, "decoder", config);
}

DecodeChain::DecodeChain(const Decoder* decoder, bool keeps_bytes) {
  stages_.push_back(std::make_unique<Output>(output_, decoder == nullptr ? " " : ""));
  first_ = stages_.back().get();
  if (decoder != nullptr) first_ = decoder->start(first_, stages_);
  for (const auto& stage : stages_) {
    if (keeps_bytes) stage->keep_bytes();
  }
}

}  // namespace pippin::tokenizers
