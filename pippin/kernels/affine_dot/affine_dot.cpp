#include "pippin/kernels/affine_dot/affine_dot.h"

#include <algorithm>

#include "pippin/base/numbers/checked.h"

namespace pippin::kernels {
namespace {

constexpr Listed<AffineDotKernels> kKernels[] = {
#define PIPPIN_AFFINE_DOT(flag, name) {&(name), &CpuFeatures::flag},
#include "pippin/kernels/affine_dot/kernels.inc"
#undef PIPPIN_AFFINE_DOT
};

constexpr int64_t kPadding = 128;

// Reorders the columns of one block, `count` (a multiple of 8) of which exist.
void take_turns(const float* from, int64_t count, int64_t lanes, float* to) {
  for (int64_t lane = 0; 8 * lane < count; ++lane) {
    for (int64_t j = 0; j < 8; ++j) to[j * lanes + lane] = from[8 * lane + j];
  }
}

}  // namespace

std::span<const Listed<AffineDotKernels>> affine_dot_kernels() {
  return kKernels;
}

const AffineDotKernels& choose_affine_dot(const CpuFeatures& cpu) {
  return choose("affine_dot", affine_dot_kernels(), cpu);
}

bool can_affine_dot(const AffineMatrix& w) {
  return (w.bits == 4 || w.bits == 8) && w.group % 32 == 0 && w.k > 0 && w.k % w.group == 0 &&
         w.k / w.group <= kMostAffineGroups;
}

AffineRows affine_form(const AffineMatrix& w, int64_t m) {
  AffineRows form{};
  form.m = m;
  form.k = w.k;
  form.padded = align_up<int64_t>(w.k, kPadding);
  form.groups = w.k / w.group;
  return form;
}

int64_t affine_floats(const AffineRows& form) {
  // Digits take less memory than floats. Kernels read whole registers of sums.
  return form.m * form.padded + 2 * form.m * form.groups + 16;
}

void prepare_affine_rows(const AffineDotKernels& kernels, const AffineMatrix& w, const float* x,
                         int64_t x_stride, float* memory, AffineRows& form) {
  form.values = memory;
  form.units = memory + form.m * form.padded;
  form.sums = form.units + form.m * form.groups;
  if (w.bits == 4 && kernels.fix != nullptr) {
    form.digits = reinterpret_cast<int8_t*>(memory);
    if (kernels.fix(w, x, x_stride, form)) return;
  }
  form.digits = nullptr;
  const int64_t lanes = w.bits == 4 ? kernels.lanes : 0;
  for (int64_t i = 0; i < form.m; ++i) {
    const float* from = x + i * x_stride;
    float* to = form.values + i * form.padded;
    std::fill(to + form.k, to + form.padded, 0.0f);
    if (lanes == 0) {
      std::copy(from, from + form.k, to);
    } else {
      const int64_t whole = form.k / (8 * lanes) * (8 * lanes);
      for (int64_t k = 0; k < whole; k += 8 * lanes) take_turns(from + k, 8 * lanes, lanes, to + k);
      std::fill(to + whole, to + form.padded, 0.0f);
      take_turns(from + whole, form.k - whole, lanes, to + whole);
    }
    for (int64_t g = 0; g < form.groups; ++g) {
      float sum[4] = {};
      const float* part = from + g * w.group;
      for (int64_t c = 0; c < w.group; ++c) sum[c % 4] += part[c];
      form.sums[i * form.groups + g] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
  }
}

}  // namespace pippin::kernels
