#include "pippin/api/elements.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"

namespace pippin::elements {
namespace {

// Calls move(offset of an element) for each element in row-major order, without allocating.
template <typename Move>
void for_each_offset(const std::vector<int64_t>& shape, const int64_t* strides, size_t axis,
                     int64_t offset, const Move& move) {
  if (axis == shape.size()) return move(offset);
  for (int64_t i = 0; i < shape[axis]; ++i) {
    for_each_offset(shape, strides, axis + 1, offset + i * strides[axis], move);
  }
}

// Calls copy(offset of a strided element, std::integral_constant of its size) in row-major order.
template <typename Copy>
void copy_each(DataType type, const std::vector<int64_t>& shape,
               const std::vector<int64_t>& strides, const Copy& copy) {
  const auto all = [&]<size_t kSize>(std::integral_constant<size_t, kSize> size) {
    for_each_offset(shape, strides.data(), 0, 0, [&](int64_t offset) { copy(offset, size); });
  };
  switch (byte_size(type)) {
    case 1:
      return all(std::integral_constant<size_t, 1>());
    case 2:
      return all(std::integral_constant<size_t, 2>());
    case 4:
      return all(std::integral_constant<size_t, 4>());
    default:
      return all(std::integral_constant<size_t, 8>());
  }
}

// Whether the strides alone guarantee that no two elements share a byte: sorted, each is at least
// the span of the previous axes.
bool are_apart(const Tensor& tensor) {
  const std::vector<int64_t> strides = tensor.strides();
  std::vector<std::pair<int64_t, int64_t>> axes;  // stride, size
  for (size_t i = 0; i < strides.size(); ++i) {
    if (tensor.shape()[i] > 1) axes.emplace_back(std::abs(strides[i]), tensor.shape()[i]);
  }
  std::sort(axes.begin(), axes.end());
  int64_t span = byte_size(tensor.type());
  for (const auto& [stride, size] : axes) {
    if (stride < span) return false;
    span += stride * (size - 1);
  }
  return true;
}

Extent extent_of(const Tensor& tensor) {
  return check_extent(tensor.type(), tensor.shape(), tensor.strides(),
                      reinterpret_cast<uintptr_t>(tensor.first_byte()));
}

bool share_places(std::span<const Tensor* const> tensors) {
  std::vector<Extent> places;
  for (const Tensor* tensor : tensors) {
    const auto first = reinterpret_cast<uintptr_t>(tensor->first_byte());
    const auto size = static_cast<uintptr_t>(byte_size(tensor->type()));
    for_each_offset(tensor->shape(), tensor->strides().data(), 0, 0, [&](int64_t offset) {
      const uintptr_t begin = first + static_cast<uintptr_t>(offset);
      places.push_back({begin, begin + size});
    });
  }
  std::sort(places.begin(), places.end(),
            [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  return std::adjacent_find(places.begin(), places.end(), [](const Extent& a, const Extent& b) {
           return b.begin < a.end;
         }) != places.end();
}

}  // namespace

std::optional<size_t> convert(DataType from, std::span<const std::byte> source, DataType to,
                              std::span<std::byte> target, bool exact) {
  return with_type(from, [&]<typename From>(std::type_identity<From>) {
    return with_type(to, [&]<typename To>(std::type_identity<To>) -> std::optional<size_t> {
      for (size_t i = 0; i < source.size() / sizeof(From); ++i) {
        From value;
        std::memcpy(&value, source.data() + i * sizeof(From), sizeof(From));
        const To result = nearest<To>(value);
        std::memcpy(target.data() + i * sizeof(To), &result, sizeof(To));
        bool kept = keeps(value, result);
        if constexpr (std::is_same_v<To, uint8_t>) {
          if (to == DataType::Bool) kept = kept && result <= 1;
        }
        if (exact && !kept) return i;
      }
      return std::nullopt;
    });
  });
}

std::vector<int64_t> plain_strides(DataType type, const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = byte_size(type);
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

bool is_plain(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
              const std::vector<int64_t>& plain) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > 1 && strides[i] != plain[i]) return false;
  }
  return true;
}

Extent check_extent(DataType type, const std::vector<int64_t>& shape,
                    const std::vector<int64_t>& strides, uintptr_t first) {
  std::optional<int64_t> low = static_cast<int64_t>(first);
  std::optional<int64_t> high = checked_add(*low, byte_size(type));
  for (size_t i = 0; i < shape.size() && low && high; ++i) {
    const auto reach = checked_mul(shape[i] - 1, strides[i]);
    std::optional<int64_t>& bound = reach && *reach < 0 ? low : high;
    bound = reach ? checked_add(*bound, *reach) : std::nullopt;
  }
  if (!low || !high || *low < 0) {
    fail(ErrorCode::LimitExceeded, "a tensor of shape {} with strides of {} bytes leaves memory",
         shape, strides);
  }
  return {static_cast<uintptr_t>(*low), static_cast<uintptr_t>(*high)};
}

void pack(DataType type, const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
          const std::byte* first, std::byte* target) {
  copy_each(type, shape, strides, [&](int64_t offset, auto size) {
    std::memcpy(target, first + offset, size);
    target += size;
  });
}

void unpack(DataType type, const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
            const std::byte* source, std::byte* first) {
  copy_each(type, shape, strides, [&](int64_t offset, auto size) {
    std::memcpy(first + offset, source, size);
    source += size;
  });
}

void check_targets(std::span<const Tensor* const> targets, std::span<const std::string> names) {
  for (size_t i = 0; i < targets.size(); ++i) {
    const Tensor& target = *targets[i];
    if (!target.is_writable()) {
      fail(ErrorCode::InvalidArgument, "output '{}': its tensor is const memory", names[i]);
    }
    if (target.size() == 0) continue;
    if (!are_apart(target) && share_places(targets.subspan(i, 1))) {
      fail(ErrorCode::InvalidArgument,
           "output '{}': elements of its tensor share memory: shape {}, strides of {} bytes",
           names[i], target.shape(), target.strides());
    }
    const Extent extent = extent_of(target);
    for (size_t j = 0; j < i; ++j) {
      if (targets[j]->size() == 0) continue;
      const Extent other = extent_of(*targets[j]);
      if (other.end <= extent.begin || extent.end <= other.begin) continue;
      const Tensor* const both[] = {&target, targets[j]};
      if (!share_places(both)) continue;
      fail(ErrorCode::InvalidArgument, "outputs '{}' and '{}' share memory", names[j], names[i]);
    }
  }
}

}  // namespace pippin::elements
