// Where the rows of an output with logits lie, and the vocabulary in them. Packages give logits as
// (1, rows, V), of the last token alone as (1, V), and where the head is a 1x1 convolution as
// (1, V, 1, rows) or (1, V, rows), the Neural Engine's layout.
#pragma once

#include <cstdint>
#include <span>

namespace pippin::runtime {

struct LogitLayout {
  int64_t rows = 1, width = 0;  // tokens, and numbers of each
  int64_t row_step = 0;         // elements from a row to the next
  int64_t step = 1;             // elements from a number to the next
  bool is_row_major() const { return step == 1; }
};

// Of a run over `query` tokens. Where both axes could be the tokens', the first one is.
LogitLayout logit_layout(std::span<const int64_t> shape, int64_t query);

}  // namespace pippin::runtime
