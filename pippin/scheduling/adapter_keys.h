// The tokens of texts that adapters read, as the prompt cache compares them: the first one is
// replaced by an id that also says which adapters, so that texts of different adapters have nothing
// in common.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "pippin/runtime/model.h"

namespace pippin::scheduling {

class AdapterKeys {
 public:
  explicit AdapterKeys(const runtime::Model& model);

  // The tokens, valid until the next call; empty if they cannot be kept: beyond some 4000 choices
  // of adapters, and for a text that begins with a row of embeddings. `adapters`: as
  // Sequence::adapters(); all 0, or none, is a text without adapters.
  std::span<const int32_t> keyed(std::span<const int32_t> tokens, std::span<const float> adapters);
  // The tokens that became these.
  std::vector<int32_t> plain(std::span<const int32_t> keyed) const;
  // Whether a text with that first id has it in every process: without adapters, or with one of
  // them at its own scale.
  bool is_lasting(int32_t first) const;

 private:
  int64_t key_of(std::span<const float> adapters);  // 0: no adapters

  int64_t ids_;                                   // of the model
  std::vector<float> scales_;                     // of its adapters
  std::map<std::vector<float>, int64_t> others_;  // keys of other choices
  std::vector<int32_t> tokens_;
};

}  // namespace pippin::scheduling
