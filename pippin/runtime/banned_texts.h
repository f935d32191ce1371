// Texts that an answer must not contain, however they are divided into tokens: a link of a sampling
// chain that forbids each token that would complete one of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pippin/constrain/vocabulary.h"
#include "pippin/runtime/sampling/processor.h"

namespace pippin::runtime {

class BannedTexts final : public LogitsProcessor {
 public:
  // Each text has at least one byte.
  BannedTexts(const std::vector<std::string>& texts,
              std::shared_ptr<const constrain::Vocabulary> vocabulary);

  void process(const SamplingContext& context, Candidates& candidates) override;
  void accept(int32_t id, Candidates& candidates) override;
  std::unique_ptr<LogitsProcessor> clone() const override;

 private:
  struct Text {
    std::string bytes;
    // The failure function (Knuth, Morris, Pratt): for each prefix length, the length of the
    // longest shorter prefix that it ends with.
    std::vector<size_t> shorter;
    std::vector<int32_t> within;             // tokens that contain the whole text
    std::vector<std::vector<int32_t>> rest;  // tokens that begin with all but n bytes
  };

  std::shared_ptr<const std::vector<Text>> texts_;
  std::shared_ptr<const constrain::Vocabulary> vocabulary_;
  std::vector<size_t> begun_;  // for each text, the longest prefix that the answer ends with
};

}  // namespace pippin::runtime
