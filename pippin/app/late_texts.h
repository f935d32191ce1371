// Tokenization of queries and documents for a model that returns a vector for each token.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "pippin/models/encoders/late_interaction.h"
#include "pippin/runtime/encoder_model.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::app {

class LateTexts {
 public:
  // Throws InvalidFile for a token that the tokenizer does not have.
  LateTexts(models::LateInteraction settings, const Tokenizer& tokenizer);

  struct Prepared {
    runtime::EncoderText text;
    std::vector<bool> counts;  // of each token, whether it has a vector
    size_t cut = 0;            // tokens beyond the limit
  };
  // `most`: the largest number of tokens that the model supports.
  Prepared prepare(const Tokenizer& tokenizer, std::string_view text, bool is_query,
                   size_t most) const;

 private:
  struct Side {
    std::optional<int32_t> prefix;
    size_t length;
    bool skips;
  };
  void expand(Prepared& query, size_t most) const;

  models::LateInteraction settings_;
  Side query_, document_;
  int32_t filler_ = 0;  // pads queries
  std::set<int32_t> skipped_;
};

}  // namespace pippin::app
