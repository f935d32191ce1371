// A value of a plan: the place of its elements. Reshapes, transposes, slices and broadcasts only
// change the view.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/mil/dim.h"

namespace pippin::mil {
class Operation;
}

namespace pippin::engine {

// The type of elements while a plan runs: floats as F32 (weights and states also as they are
// stored), integers as I32, bools as bytes. I8: the bytes of codes in quantized caches.
enum class Storage : uint8_t { F32, F16, BF16, I32, Bool, I8 };

int64_t element_size(Storage storage);
bool is_float(Storage storage);
std::string to_string(Storage storage);

// Strides and offset are in elements; a stride of 0 repeats. `buffer` indexes the plan's buffers.
struct View {
  int buffer = -1;
  Storage storage = Storage::F32;
  mil::Shape shape;
  mil::Shape strides;
  mil::Dim offset = 0;
  // For a view of a state: the operation that read it and the state's version at that time.
  const mil::Operation* state_read = nullptr;
  int state_version = 0;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
};

mil::Shape contiguous_strides(const mil::Shape& shape);
// Row-major without gaps, whatever the values of the symbols (dimensions of 1 may have any stride).
bool is_contiguous(const View& view);

// Whether both are the same elements of the same memory, in the same shape; of a state, also with
// no write between them.
bool same_elements(const View& a, const View& b);

// The axes in memory order, those with the widest strides first. Their own order if an axis repeats
// or the order of the strides depends on the symbols. Axes of 1 come first.
std::vector<int64_t> memory_order(const View& view);

// All views with their axes in the memory order of the first, whose shape they have: for work that
// does not depend on the order of elements.
std::vector<View> in_memory_order(std::vector<View> views);

// The same elements in another shape of the same size; nothing if that needs a copy.
std::optional<View> reshape_view(const View& view, const mil::Shape& shape);
View transpose_view(const View& view, const std::vector<int64_t>& perm);
// numpy's broadcasting to `shape`, which has at least the view's rank: dimensions of 1 repeat.
View broadcast_view(const View& view, const mil::Shape& shape);

// The view as [rows, columns] with unit column stride: the last `column_axes` axes merge into
// columns, the others into rows. Nothing if that needs a copy.
std::optional<View> matrix_view(const View& view, int64_t column_axes);

}  // namespace pippin::engine
