// The layout of an output with logits: its rows and the vocabulary in them. Packages return logits
// as (1, rows, V), those of the last token alone as (1, V), and if the head is a 1x1 convolution as
// (1, V, 1, rows) or (1, V, rows), the Neural Engine's layout.
#pragma once

#include <cstdint>
#include <span>

namespace pippin::runtime {

struct LogitLayout {
  int64_t rows = 1, width = 0;  // number of tokens, and of logits per token
  int64_t row_step = 0;         // elements from a row to the next
  int64_t step = 1;             // elements from a logit to the next
  bool is_row_major() const { return step == 1; }
};

// The layout of a run over `query` tokens. If both axes could be the tokens' axis, it is the first.
LogitLayout logit_layout(std::span<const int64_t> shape, int64_t query);

}  // namespace pippin::runtime
