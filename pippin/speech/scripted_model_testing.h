// For tests only: a model whose logits a function computes from the window and the tokens fed.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/speech/feature_source.h"
#include "pippin/speech/tokenizer_testing.h"
#include "pippin/speech/window_decoder.h"

namespace pippin::speech {

class ScriptedModel : public SpeechModel {
 public:
  using Tokens = std::vector<int32_t>;
  // `window`: the first feature.
  using Script = std::function<std::vector<float>(int64_t window, const Tokens& fed)>;

  ScriptedModel(int64_t vocab_size, Script script, int64_t context = 64)
      : script_(std::move(script)), vocab_size_(vocab_size), context_(context) {
    shape_.frames = 100;
    shape_.positions = 50;
  }

  int64_t context() const override { return context_; }
  int64_t vocab_size() const override { return vocab_size_; }
  WindowShape shape() const override { return shape_; }
  std::unique_ptr<WindowDecoder> encode(std::span<const float> features) override;
  bool can_align() const override { return !attention.weights.empty(); }
  Alignment align(WindowDecoder& decoder, std::span<const int32_t> ids) override;

  std::vector<Tokens> prompts;  // the tokens of the first feeds after which text was chosen
  Alignment attention;          // returned by align(), with logits of the script
  int64_t forks = 0;

 private:
  friend class ScriptedDecoder;
  Script script_;
  int64_t vocab_size_, context_;
  WindowShape shape_;
};

class ScriptedDecoder final : public WindowDecoder {
 public:
  ScriptedDecoder(ScriptedModel& model, int64_t window) : model_(model), window_(window) {}

  int64_t position() const override { return std::ssize(fed_); }
  std::span<const float> feed(std::span<const int32_t> ids) override {
    fed_.insert(fed_.end(), ids.begin(), ids.end());
    if (position() > model_.context_) fail(ErrorCode::LimitExceeded, "{} tokens", position());
    logits_ = model_.script_(window_, fed_);
    return logits_;
  }
  void truncate(int64_t count) override {
    if (count == 0 && !fed_.empty()) model_.prompts.push_back(fed_);
    fed_.resize(static_cast<size_t>(count));
  }
  std::unique_ptr<WindowDecoder> fork() const override {
    ++model_.forks;
    return std::make_unique<ScriptedDecoder>(*this);
  }

 private:
  ScriptedModel& model_;
  int64_t window_;
  std::vector<int32_t> fed_;
  std::vector<float> logits_;
};

inline std::unique_ptr<WindowDecoder> ScriptedModel::encode(std::span<const float> features) {
  return std::make_unique<ScriptedDecoder>(*this, std::lround(features[0]));
}

inline Alignment ScriptedModel::align(WindowDecoder& decoder, std::span<const int32_t> ids) {
  Alignment result = attention;
  for (const int32_t id : ids) {
    const auto logits = decoder.feed({&id, 1});
    result.logits.insert(result.logits.end(), logits.begin(), logits.end());
  }
  decoder.truncate(0);
  return result;
}

// Features whose first number is the frame at which the window begins.
class CountedSource final : public FeatureSource {
 public:
  explicit CountedSource(int64_t frames) : frames_(frames) {}

  int64_t frames() const override { return frames_; }
  double seconds() const override { return static_cast<double>(frames_) / 100; }
  std::vector<float> window(int64_t first, int64_t count) override {
    counts.push_back(count);
    return {static_cast<float>(first)};
  }

  std::vector<int64_t> counts;  // of frames, of each window

 private:
  int64_t frames_;
};

// The vocabulary of test_tokenizer(50).
inline constexpr int64_t kTestVocabulary = TestTokens::kTime + 51;

// Returns the tokens of a text in which "<N>" stands for the timestamp of position N and "$" for
// the end.
inline std::vector<int32_t> test_tokens(std::string_view text) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$') {
      ids.push_back(TestTokens::kEnd);
    } else if (text[i] == '<') {
      int32_t position = 0;
      while (text[++i] != '>') position = position * 10 + (text[i] - '0');
      ids.push_back(TestTokens::kTime + position);
    } else {
      ids.push_back(static_cast<unsigned char>(text[i]));
    }
  }
  return ids;
}

// Returns logits of a token that is almost certain.
inline std::vector<float> sure_of(int32_t id, float logit = 20) {
  std::vector<float> logits(static_cast<size_t>(kTestVocabulary));
  logits[static_cast<size_t>(id)] = logit;
  return logits;
}

// Returns a script that writes a text after <|transcribe|>, <|translate|>, <|notimestamps|> or, for
// English only, <|startoftranscript|>; it detects the language `language`.
inline ScriptedModel::Script writes(std::function<std::string(int64_t window)> text_of,
                                    int32_t language = TestTokens::kDe) {
  return [=](int64_t window, const ScriptedModel::Tokens& fed) {
    const auto begin = std::find_if(fed.rbegin(), fed.rend(), [](int32_t id) {
      return id >= TestTokens::kStart && id < TestTokens::kTime;
    });
    const auto written = static_cast<size_t>(begin - fed.rbegin());
    if (written == 0 && fed.back() == TestTokens::kStart) return sure_of(language);
    const std::vector<int32_t> ids = test_tokens(text_of(window));
    return sure_of(written < ids.size() ? ids[written] : TestTokens::kEnd);
  };
}

}  // namespace pippin::speech
