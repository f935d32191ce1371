// Truncation and padding: tokenizer.json's settings for the number of ids of a single text.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/tokenizers/stages.h"

namespace pippin::tokenizers {

class Truncation {
 public:
  explicit Truncation(const Json& config);
  // Cuts the ids of a text, leaving room for `added` special tokens. Throws InvalidArgument if
  // no id of the text fits, or if the stride, which does not affect a single
  // result, exceeds the room.
  void apply(std::vector<int32_t>& ids, size_t added) const;

 private:
  enum class Strategy { LongestFirst, OnlyFirst, OnlySecond };
  size_t max_length_, stride_;
  bool keep_end_;
  Strategy strategy_;
};

// Cuts two texts to `room` ids together, as the library does: removes ids from the end of the
// longer one until both are of equal length, then from both. Returns the number of ids cut.
size_t cut_longest(std::vector<int32_t>& first, std::vector<int32_t>& second, size_t room);

class Padding {
 public:
  explicit Padding(const Json& config);
  // Appends or prepends padding tokens. Throws LimitExceeded for more than 2^24 ids.
  void apply(std::vector<int32_t>& ids) const;

 private:
  size_t fixed_ = 0;     // 0: as long as the text
  size_t multiple_ = 0;  // 0: any length
  bool at_start_;
  int32_t id_;
};

}  // namespace pippin::tokenizers
