// attention.h over the vectors of vec/: an ISA file includes one vec header, vec/math.h and
// vec/multiply.h, then this.
//
// A tile is a few or many (row, head) pairs of one KV head. It processes keys in chunks of kChunk:
//
//   scores  = softcap(scale * q · kᵀ) + mask     [queries, kChunk]
//   largest = max(scores)
//   p       = exp(scores - largest)
//   part    = largest, Σ p, p · v
//
// Each chunk's part is independent; parts are combined in the order of chunks by an online softmax
// (Milakov and Gimelshein, 2018):
//
//   m   = max(total.largest, part.largest)
//   sum = total.sum * exp(total.largest - m) + part.sum * exp(part.largest - m), values alike
//
// and out = values / sum at the end. The result is therefore the same whether one thread processes
// all chunks of a tile or several share them, and a chunk without visible keys adds exactly 0.
#pragma once

#include "pippin/kernels/attention/few.h"
#include "pippin/kernels/attention/many.h"

namespace pippin::kernels {
namespace {

template <typename Stored>
void attention_tile(const AttentionArgs& a, const AttentionTask& task, float* scratch) {
  if (task.is_few) {
    few_queries<Stored>(a, task, scratch);
  } else {
    many_queries<FloatProducts<Stored>>(a, task, scratch);
  }
}

}  // namespace
}  // namespace pippin::kernels
