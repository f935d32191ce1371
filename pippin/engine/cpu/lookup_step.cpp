// Elements at places given by other elements: the gather ops read them, the scatter ops write them.
#include <algorithm>
#include <cstring>

#include "pippin/base/error.h"
#include "pippin/engine/cpu/steps.h"
#include "pippin/engine/weights/copy_operand.h"

namespace pippin::engine {
namespace {

constexpr int64_t kManyElements = int64_t{1} << 15;  // elements

// Calls visit(a, b, c, place) for a range of places, counted in row-major order.
template <typename Visit>
void for_places(const Operand& shape, Range range, const Visit& visit) {
  const int64_t inner = shape.shape[1] * shape.shape[2];
  for (int64_t place = range.begin; place < range.end; ++place) {
    const int64_t rest = place % inner;
    visit(place / inner, rest / shape.shape[2], rest % shape.shape[2], place);
  }
}

int64_t num_places(const Operand& operand) {
  return operand.shape[0] * operand.shape[1] * operand.shape[2];
}

// A slice of `operand` that begins at `offset`, as an array of one axis.
Operand slice_of(const Operand& operand, int64_t offset) {
  Operand slice = operand;
  slice.data += offset * element_size(operand.storage);
  slice.rank = 1;
  slice.shape[0] = operand.shape[3];
  slice.strides[0] = operand.strides[3];
  return slice;
}

class LookupStep : public Step {
 public:
  explicit LookupStep(const Places& places) : places_(places) {}

 protected:
  // Offset of the slice of a place in the table, in elements.
  int64_t offset(const StepContext& context, const Operand& table, const Operand& indices,
                 int64_t a, int64_t b, int64_t c) const noexcept;
  // Whether all indices are valid; otherwise the message becomes the run's error. An empty axis is
  // always an error.
  bool check(const StepContext& context, const Operand& indices) const noexcept;

 private:
  int64_t resolved(int64_t index, int64_t size) const noexcept;
  void leave_error(const StepContext& context, int64_t index, int64_t size) const noexcept;

  const Places& places_;
};

class GatherStep : public LookupStep {
 public:
  GatherStep(const CpuFeatures& cpu, const GatherNode& node) : LookupStep(node.places), cpu_(cpu) {}
  void run(const StepContext& context) const noexcept override;

 private:
  CpuFeatures cpu_;
};

class ScatterStep : public LookupStep {
 public:
  explicit ScatterStep(const ScatterNode& node) : LookupStep(node.places), combine_(node.combine) {}
  void run(const StepContext& context) const noexcept override;

 private:
  template <typename T, typename Op>
  void write(const StepContext& context, Op op) const noexcept;
  template <typename T>
  void write_by_mode(const StepContext& context) const noexcept;

  Combine combine_;
};

int64_t LookupStep::resolved(int64_t index, int64_t size) const noexcept {
  return index < 0 && places_.from_end ? index + size : index;
}

int64_t LookupStep::offset(const StepContext& context, const Operand& table, const Operand& indices,
                           int64_t a, int64_t b, int64_t c) const noexcept {
  const int32_t* index =
      indices.ints() + a * indices.strides[0] + b * indices.strides[1] + c * indices.strides[2];
  const size_t count = context.scalars.size() / 2;
  int64_t place = a * table.strides[0] + b * table.strides[1] + c * table.strides[2];
  for (size_t k = 0; k < count; ++k, index += indices.strides[3]) {
    const int64_t size = context.scalars[k];
    place += std::clamp<int64_t>(resolved(*index, size), 0, size - 1) * context.scalars[count + k];
  }
  return place;
}

bool LookupStep::check(const StepContext& context, const Operand& indices) const noexcept {
  const size_t count = context.scalars.size() / 2;
  const bool empty_axis =
      std::find(context.scalars.begin(),
                context.scalars.begin() + static_cast<std::ptrdiff_t>(count),
                0) != context.scalars.begin() + static_cast<std::ptrdiff_t>(count);
  if (!places_.refuse && !empty_axis) return true;
  for (int64_t a = 0; a < indices.shape[0]; ++a) {
    for (int64_t b = 0; b < indices.shape[1]; ++b) {
      for (int64_t c = 0; c < indices.shape[2]; ++c) {
        const int32_t* index = indices.ints() + a * indices.strides[0] + b * indices.strides[1] +
                               c * indices.strides[2];
        for (size_t k = 0; k < count; ++k, index += indices.strides[3]) {
          const int64_t size = context.scalars[k], place = resolved(*index, size);
          if (place >= 0 && place < size) continue;
          if (!places_.refuse && size > 0) continue;
          leave_error(context, *index, size);
          return false;
        }
      }
    }
  }
  return true;
}

void LookupStep::leave_error(const StepContext& context, int64_t index,
                             int64_t size) const noexcept {
  leave_errors(context, [&] {
    if (!places_.refuse)
      fail(ErrorCode::InvalidFile, "{}: an index into an empty axis", places_.where);
    fail(ErrorCode::InvalidFile, "{}: index {} is out of range for size {}", places_.where, index,
         size);
  });
}

void GatherStep::run(const StepContext& context) const noexcept {
  const Operand& y = context.operands[0];
  const Operand& table = context.operands[1];
  const Operand& indices = context.operands[2];
  if (y.size() == 0 || !check(context, indices)) return;
  const int64_t slice = y.shape[3], size = element_size(y.storage);
  const auto read = [&](Range range) {
    for_places(y, range, [&](int64_t a, int64_t b, int64_t c, int64_t place) {
      const int64_t from = offset(context, table, indices, a, b, c);
      std::byte* to = y.data + place * slice * size;
      if (y.storage != table.storage || (table.strides[3] != 1 && slice > 1)) {
        copy_operand(slice_of(y, place * slice), slice_of(table, from), cpu_);
      } else if (slice == 1 && size == 4) {
        std::memcpy(to, table.data + from * 4, 4);
      } else {
        std::memcpy(to, table.data + from * size, static_cast<size_t>(slice * size));
      }
    });
  };
  if (y.size() < kManyElements) {
    read(Range{0, num_places(y)});
  } else {
    context.pool.run([&](int part, int parts) { read(split_range(num_places(y), part, parts)); });
  }
}

template <typename T, typename Op>
void ScatterStep::write(const StepContext& context, Op op) const noexcept {
  const Operand& table = context.operands[0];
  const Operand& updates = context.operands[1];
  const Operand& indices = context.operands[2];
  const int64_t slice = updates.shape[3], inner = updates.shape[1] * updates.shape[2];
  // For the places of `range`, the elements `part` of their slices.
  const auto work = [&](Range range, Range part) {
    for_places(updates, range, [&](int64_t a, int64_t b, int64_t c, int64_t place) {
      T* to = reinterpret_cast<T*>(table.data) + offset(context, table, indices, a, b, c);
      const T* from = reinterpret_cast<const T*>(updates.data) + place * slice;
      for (int64_t i = part.begin; i < part.end; ++i) to[i] = op(to[i], from[i]);
    });
  };
  constexpr int64_t kGrain = 16;
  const int threads = context.pool.num_threads();
  // Places that share a slice of the table are handled by one thread, in order.
  if (updates.size() < kManyElements || threads == 1) {
    work(Range{0, updates.shape[0] * inner}, Range{0, slice});
  } else if (updates.shape[0] >= threads && table.strides[0] != 0) {
    context.pool.run([&](int part, int parts) {
      const Range share = split_range(updates.shape[0], part, parts);
      work(Range{share.begin * inner, share.end * inner}, Range{0, slice});
    });
  } else {
    context.pool.run([&](int part, int parts) {
      const Range share = split_range(slice, part, parts, kGrain);
      if (share.begin < share.end) work(Range{0, updates.shape[0] * inner}, share);
    });
  }
}

template <typename T>
void ScatterStep::write_by_mode(const StepContext& context) const noexcept {
  // Integers wrap around, computed as unsigned.
  using Wrapped = std::conditional_t<std::is_integral_v<T>, uint32_t, T>;
  const auto wrapping = [](auto op) {
    return [op](T a, T b) {
      return static_cast<T>(op(static_cast<Wrapped>(a), static_cast<Wrapped>(b)));
    };
  };
  switch (combine_) {
    case Combine::Update:
      return write<T>(context, [](T, T b) { return b; });
    case Combine::Add:
      return write<T>(context, wrapping([](auto a, auto b) { return a + b; }));
    case Combine::Sub:
      return write<T>(context, wrapping([](auto a, auto b) { return a - b; }));
    case Combine::Mul:
      return write<T>(context, wrapping([](auto a, auto b) { return a * b; }));
    case Combine::Div:
      if constexpr (!std::is_integral_v<T>) {
        return write<T>(context, [](T a, T b) { return a / b; });
      }
      return;
    case Combine::Max:
      return write<T>(context, [](T a, T b) { return a < b ? b : a; });
    case Combine::Min:
      return write<T>(context, [](T a, T b) { return a > b ? b : a; });
  }
}

void ScatterStep::run(const StepContext& context) const noexcept {
  if (context.operands[1].size() == 0 || !check(context, context.operands[2])) return;
  if (context.operands[0].storage == Storage::F32) {
    write_by_mode<float>(context);
  } else {
    write_by_mode<int32_t>(context);
  }
}

}  // namespace

StepPointer make_step_of(const GatherNode& node, const StepSource& source) {
  return std::make_unique<GatherStep>(source.cpu(), node);
}
StepPointer make_step_of(const ScatterNode& node, const StepSource&) {
  return std::make_unique<ScatterStep>(node);
}

}  // namespace pippin::engine
