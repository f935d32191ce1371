// Truncation and padding: what tokenizer.json says of the length of a single text's ids.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/tokenizers/stages.h"

namespace pippin::tokenizers {

class Truncation {
 public:
  explicit Truncation(const Json& config);
  // Cuts the ids of a text, to which `added` special tokens come later. Throws InvalidArgument
  // where no id of the text has room, or where the stride, which a single answer has no use for,
  // is too long for the room.
  void apply(std::vector<int32_t>& ids, size_t added) const;

 private:
  enum class Strategy { LongestFirst, OnlyFirst, OnlySecond };
  size_t max_length_, stride_;
  bool keep_end_;
  Strategy strategy_;
};

// Cuts two texts to `room` ids together, as the library does: the longer one loses ids at its end
// until it is as short as the other, then both. Returns how many ids were cut.
size_t cut_longest(std::vector<int32_t>& first, std::vector<int32_t>& second, size_t room);

class Padding {
 public:
  explicit Padding(const Json& config);
  // Fills up with the padding token. Throws LimitExceeded for more than 2^24 ids.
  void apply(std::vector<int32_t>& ids) const;

 private:
  size_t fixed_ = 0;     // 0: as long as the text
  size_t multiple_ = 0;  // 0: any
  bool at_start_;
  int32_t id_;
};

}  // namespace pippin::tokenizers
