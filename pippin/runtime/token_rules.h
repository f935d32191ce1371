// Links of a sampling chain that allow or forbid tokens independently of the text.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pippin/constrain/token_mask.h"
#include "pippin/runtime/sampling/processor.h"

namespace pippin::runtime {

// Forbids `ids`, the tokens that end a text, until `count` tokens have been generated.
class MinTokens final : public LogitsProcessor {
 public:
  MinTokens(std::vector<int32_t> ids, int64_t count) : ids_(std::move(ids)), count_(count) {}
  void process(const SamplingContext& context, Candidates& candidates) override;
  std::unique_ptr<LogitsProcessor> clone() const override;

 private:
  std::vector<int32_t> ids_;
  int64_t count_;
};

// Allows only these tokens. process() throws Unsupported if other links leave none of them.
class AllowedTokens final : public LogitsProcessor {
 public:
  explicit AllowedTokens(const std::vector<int32_t>& ids);
  void process(const SamplingContext& context, Candidates& candidates) override;
  std::unique_ptr<LogitsProcessor> clone() const override;

 private:
  std::shared_ptr<const constrain::TokenMask> mask_;
};

}  // namespace pippin::runtime
