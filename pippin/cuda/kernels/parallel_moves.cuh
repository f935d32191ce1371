// Rotary embeddings and copies in one launch: queries and keys are turned, keys and values stored.
#pragma once

#include "pippin/cuda/kernels/copy.cuh"
#include "pippin/cuda/kernels/parallel_moves_args.h"

namespace pippin::cuda {

DEVICE void write_turned(const ParallelMove& move, int64_t at, const Four<float>& values) {
  if (move.to == Element::F32) {
    return write_elements(static_cast<float*>(move.y) + at, move.width, values);
  }
  Four<uint16_t> halves;
  UNROLL
  for (int i = 0; i < 4; ++i) {
    halves.v[i] =
        move.to == Element::F16 ? float_to_half(values.v[i]) : float_to_bfloat(values.v[i]);
  }
  write_elements(static_cast<uint16_t*>(move.y) + at, move.width, halves);
}

DEVICE void turn_group(const ParallelMove& move, const int64_t (&at)[4]) {
  const int width = move.width;
  const float *x = static_cast<const float*>(move.x) + at[1], *c = move.cos + at[2],
              *s = move.sin + at[3];
  const Four<float> a = read_elements(x, width, move.strides[1][0]);
  const Four<float> b = read_elements(x + move.second, width, move.strides[1][0]);
  const Four<float> c1 = read_elements(c, width, move.strides[2][0]);
  const Four<float> s1 = read_elements(s, width, move.strides[3][0]);
  Four<float> c2 = c1, s2 = s1;
  if (move.second_angle != 0) {
    c2 = read_elements(c + move.second_angle, width, move.strides[2][0]);
    s2 = read_elements(s + move.second_angle, width, move.strides[3][0]);
  }
  Four<float> first, second;  // as rotary
  UNROLL
  for (int i = 0; i < 4; ++i) {
    first.v[i] = fmaf(a.v[i], c1.v[i], -(b.v[i] * s1.v[i]));
    second.v[i] = fmaf(b.v[i], c2.v[i], a.v[i] * s2.v[i]);
  }
  write_turned(move, at[0], first);
  write_turned(move, at[0] + move.second, second);
}

DEVICE void parallel_moves_body(const ParallelMovesArgs& a) {
  ParallelMove move = a.moves[0];  // without an index, so that the arguments may be in registers
  UNROLL
  for (int i = 1; i < ParallelMovesArgs::kMost; ++i) {
    if (i < a.count && blockIdx.x >= a.moves[i].first_block) move = a.moves[i];
  }
  uint32_t rest = (blockIdx.x - move.first_block) * blockDim.x + threadIdx.x;
  if (rest >= move.count) return;
  int64_t at[4] = {0, 0, 0, 0};
  UNROLL
  for (int axis = 0; axis < ParallelMove::kMostAxes; ++axis) {
    if (axis >= move.rank) continue;
    uint32_t index = rest;
    if (axis + 1 < move.rank) {
      rest /= move.shape[axis];
      index -= rest * move.shape[axis];
    }
    UNROLL
    for (int k = 0; k < 4; ++k) at[k] += static_cast<int64_t>(index) * move.strides[k][axis];
  }
  if (move.cos != nullptr) return turn_group(move, at);
  copy_group(move.to, move.from, move.width, move.strides[1][0], move.y, at[0], move.x, at[1]);
}

}  // namespace pippin::cuda
