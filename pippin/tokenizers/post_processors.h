// Post-processors put special tokens around the ids of a text.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pippin/tokenizers/stages.h"

namespace pippin::tokenizers {

// Ids with their types, of which there are as many.
struct PairIds {
  std::vector<int32_t> ids, types;
};

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  virtual std::vector<int32_t> process(std::vector<int32_t> ids, bool add_special_tokens) const = 0;
  // How many special tokens process() adds.
  virtual size_t added_tokens() const = 0;

  // Two texts as one, with the special tokens around and between them and what types they have.
  // Throws Unsupported where the file has no form for that.
  virtual PairIds process_pair(PairIds first, PairIds second) const = 0;
  virtual size_t added_to_pair() const = 0;
};

std::unique_ptr<PostProcessor> make_post_processor(const Json& config);

}  // namespace pippin::tokenizers
