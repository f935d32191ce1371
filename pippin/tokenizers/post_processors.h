// Post-processors, which put special tokens around the ids of a text.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pippin/tokenizers/stages.h"

namespace pippin::tokenizers {

// Ids and their types, in equal number.
struct PairIds {
  std::vector<int32_t> ids, types;
};

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  virtual std::vector<int32_t> process(std::vector<int32_t> ids, bool add_special_tokens) const = 0;
  // Number of special tokens that process() adds.
  virtual size_t added_tokens() const = 0;

  // Joins two texts with special tokens around and between them, and sets their types. Throws
  // Unsupported if the file has no form for two texts.
  virtual PairIds process_pair(PairIds first, PairIds second) const = 0;
  virtual size_t added_to_pair() const = 0;
};

std::unique_ptr<PostProcessor> make_post_processor(const Json& config);

}  // namespace pippin::tokenizers
