// The property on which equal texts with and without drafts depend: tokens that are fed together
// have, bit for bit, the logits that they have one after the other.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/runtime/sequence.h"

namespace pippin::testing_models {

// A prompt, then `ids` one by one and in passes of several sizes.
inline void expect_equal_rows(runtime::Sequence& sequence, std::span<const int32_t> prompt,
                              std::span<const int32_t> ids) {
  const auto width = static_cast<size_t>(sequence.model().vocab_size());
  const auto begin = [&] {
    sequence.reset();
    sequence.prefill(prompt);
  };
  begin();
  std::vector<float> want;
  for (const int32_t id : ids) {
    const auto row = sequence.decode(id);
    want.insert(want.end(), row.begin(), row.end());
  }
  for (const size_t size : {2, 3, 5, 8, 16}) {
    begin();
    for (size_t at = 0, count = 0; at < ids.size(); at += count) {
      // As many as in a pass with drafts.
      const runtime::Capabilities& can = sequence.model().capabilities();
      const int64_t dropped = can.checkpoint ? can.equal_rows : sequence.droppable();
      const auto most = static_cast<size_t>(std::max<int64_t>(dropped, 1));
      count = std::min({size, ids.size() - at, most});
      const auto fed = ids.subspan(at, count);
      const std::vector<float> rows = sequence.all_logits(fed);
      for (size_t row = 0; row < fed.size(); ++row) {
        ASSERT_EQ(std::memcmp(&rows[row * width], &want[(at + row) * width], width * sizeof(float)),
                  0)
            << "token " << at + row << " in passes of " << size;
      }
    }
  }
}

}  // namespace pippin::testing_models
