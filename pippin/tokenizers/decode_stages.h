// Base classes for kinds of decode stages.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/tokenizers/decoders.h"

namespace pippin::tokenizers {

using DecodeStages = std::vector<std::unique_ptr<DecodeStage>>;

// A stage that needs each token whole.
class WholeTokenStage : public DecodeStage {
 public:
  using DecodeStage::DecodeStage;
  void text(std::string_view part) final { held_ += part; }
  void end_token() final {
    token(held_);
    held_.clear();
  }

 protected:
  virtual void token(const std::string& text) = 0;
  void pass(std::string_view text) {
    next_->text(text);
    next_->end_token();
  }

 private:
  std::string held_;
};

// A decoder with one stage, made from the decoder's settings.
template <typename Stage>
class SingleStage final : public Decoder {
 public:
  explicit SingleStage(const Json& config) : settings_(config) {}
  DecodeStage* start(DecodeStage* next, DecodeStages& stages) const override {
    stages.push_back(std::make_unique<Stage>(next, settings_));
    return stages.back().get();
  }

 private:
  typename Stage::Settings settings_;
};

}  // namespace pippin::tokenizers
