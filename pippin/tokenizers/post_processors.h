// Post-processors put special tokens around the ids of a text.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pippin/tokenizers/stages.h"

namespace pippin::tokenizers {

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  virtual std::vector<int32_t> process(std::vector<int32_t> ids, bool add_special_tokens) const = 0;
  // How many special tokens process() adds.
  virtual size_t added_tokens() const = 0;
};

std::unique_ptr<PostProcessor> make_post_processor(const Json& config);

}  // namespace pippin::tokenizers
