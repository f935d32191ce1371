#include "pippin/mil/networks/shift_scale.h"

#include <cmath>

#include "pippin/mil/elements.h"
#include "pippin/mil/networks/element_source.h"

namespace pippin::mil::networks {
namespace {

// The number that all weights of a group have in common.
std::optional<double> only_number(const CompressedForm& form, int64_t group) {
  constexpr size_t kBlock = 4096;
  const int64_t run = form.channels / form.groups() * form.inner;  // adjacent weights of a group
  const auto size = static_cast<int64_t>(form.elements->size());
  std::vector<std::byte> block(kBlock);
  std::optional<std::byte> only;
  for (int64_t begin = group * run; begin < size; begin += form.channels * form.inner) {
    for (int64_t at = begin; at < begin + run; at += std::ssize(block)) {
      const auto count = static_cast<size_t>(std::min(begin + run - at, std::ssize(block)));
      form.elements->read(static_cast<uint64_t>(at), MutableByteSpan(block).first(count));
      if (!only) only = block[0];
      const auto end = block.begin() + static_cast<ptrdiff_t>(count);
      if (std::any_of(block.begin(), end, [&](std::byte one) { return one != *only; })) {
        return std::nullopt;
      }
    }
  }
  if (!only) return std::nullopt;
  return form.is_signed ? static_cast<double>(static_cast<int8_t>(*only))
                        : static_cast<double>(*only);
}

}  // namespace

std::optional<ShiftScale> to_shift_scale(const CompressedForm& form) {
  ShiftScale result;
  result.scale.reserve(form.scale.size());
  result.offset.reserve(form.scale.size());
  for (size_t group = 0; group < form.scale.size(); ++group) {
    auto scale = static_cast<double>(form.scale[group]);
    const auto bias = static_cast<double>(form.bias[group]);
    if (!std::isfinite(scale) || !std::isfinite(bias)) return std::nullopt;
    auto offset = bias == 0 ? 0.0 : static_cast<double>(static_cast<float>(-bias / scale));
    if (!std::isfinite(offset)) {
      // Channels of one value are stored with a scale of 0.
      const auto number = only_number(form, static_cast<int64_t>(group));
      if (!number) return std::nullopt;
      scale = bias;
      offset = *number - 1;
    }
    result.scale.push_back(scale);
    result.offset.push_back(offset);
  }
  return result;
}

bool ShiftScale::is_symmetric() const {
  return std::all_of(offset.begin(), offset.end(), [](double one) { return one == 0; });
}

ShiftScale ShiftScale::repeated(int64_t channels) const {
  ShiftScale result;
  result.scale.reserve(static_cast<size_t>(channels));
  result.offset.reserve(static_cast<size_t>(channels));
  const int64_t each = channels / std::ssize(scale);
  for (int64_t i = 0; i < channels; ++i) {
    result.scale.push_back(scale[static_cast<size_t>(i / each)]);
    result.offset.push_back(offset[static_cast<size_t>(i / each)]);
  }
  return result;
}

Value ShiftScale::offset_value(DataType numbers, std::vector<int64_t> dims) const {
  const auto least = static_cast<double>(min_integer(numbers));
  const auto most = static_cast<double>(max_integer(numbers));
  const bool whole = std::all_of(offset.begin(), offset.end(), [&](double one) {
    return one == std::trunc(one) && one >= least && one <= most;
  });
  if (!whole) return Value::of_floats(DataType::Float32, offset, std::move(dims));
  Value value;
  value.type = ValueType::tensor(numbers, std::move(dims));
  value.bytes.resize(static_cast<size_t>(packed_size(numbers, std::ssize(offset))));
  for (size_t i = 0; i < offset.size(); ++i) {
    set_element_bits(numbers, value.bytes, i,
                     static_cast<uint64_t>(static_cast<int64_t>(offset[i])));
  }
  return value;
}

}  // namespace pippin::mil::networks
