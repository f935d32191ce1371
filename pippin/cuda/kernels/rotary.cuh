// Rotary embedding.
#pragma once

#include "pippin/cuda/kernels/axes.cuh"
#include "pippin/cuda/kernels/rotary_args.h"

namespace pippin::cuda {

// [a, b] becomes [a * cos - b * sin, b * cos + a * sin].
DEVICE void rotary_body(const RotaryArgs& args) {
  int64_t at[4];
  if (!find_elements(args.axes, at)) return;
  const int width = args.axes.width;
  const auto& strides = args.axes.strides;
  const float *x = args.x + at[1], *c = args.cos + at[2], *s = args.sin + at[3];
  const Four<float> a = read_elements(x, width, strides[1][0]);
  const Four<float> b = read_elements(x + args.second, width, strides[1][0]);
  const Four<float> c1 = read_elements(c, width, strides[2][0]);
  const Four<float> s1 = read_elements(s, width, strides[3][0]);
  Four<float> c2 = c1, s2 = s1;
  if (args.second_angle != 0) {
    c2 = read_elements(c + args.second_angle, width, strides[2][0]);
    s2 = read_elements(s + args.second_angle, width, strides[3][0]);
  }
  Four<float> first, second;
  for (int i = 0; i < 4; ++i) {
    first.v[i] = fmaf(a.v[i], c1.v[i], -(b.v[i] * s1.v[i]));
    second.v[i] = fmaf(b.v[i], c2.v[i], a.v[i] * s2.v[i]);
  }
  float* y = args.y + at[0];
  write_elements(y, width, first);
  write_elements(y + args.second, width, second);
}

}  // namespace pippin::cuda
