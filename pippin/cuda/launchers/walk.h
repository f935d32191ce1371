// Arrays of one shape with different strides, as the kernels of axes.cuh see them: adjacent axes
// merge if all arrays allow it.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <span>

#include "pippin/cuda/kernels/axes_args.h"
#include "pippin/cuda/kernels/element.h"
#include "pippin/cuda/launchers/launch.h"
#include "pippin/engine/run/step.h"

namespace pippin::cuda {

constexpr size_t kMostArrays = 4;

struct Walk {
  Axes<kMostArrays> axes{};
  std::array<std::byte*, kMostArrays> data{};

  template <int N>
  Axes<N> first() const {
    static_assert(N <= static_cast<int>(kMostArrays));
    Axes<N> some{axes.count, axes.rank, axes.width, {}, {}};
    std::copy(std::begin(axes.shape), std::end(axes.shape), some.shape);
    for (int k = 0; k < N; ++k) {
      std::copy(std::begin(axes.strides[k]), std::end(axes.strides[k]), some.strides[k]);
    }
    return some;
  }
};

// The blocks of a launch, and the threads of each.
int64_t blocks_of(const Walk& walk);
unsigned threads_of(const Walk& walk);

// Calls add(walk) for up to four operands with the shape of the first, which is written; for parts
// of them if there are 2^31 elements or more. Nothing if there are none. Groups of four where the
// addresses allow it, if `groups`.
void for_walks(std::span<const engine::Operand> operands, bool groups,
               const std::function<void(const Walk& walk)>& add);

constexpr Element element_of(engine::Storage storage) {
  return static_cast<Element>(storage);
}
static_assert(element_of(engine::Storage::Bool) == Element::Bool &&
              element_of(engine::Storage::BF16) == Element::BF16);

}  // namespace pippin::cuda
