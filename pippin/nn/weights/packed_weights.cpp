#include "pippin/nn/weights/packed_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/float16.h"

namespace pippin::nn {
namespace {

template <typename T>
T element(const TensorInfo& tensor, int64_t index) {
  T value;
  std::memcpy(&value, tensor.bytes.data() + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

std::string module_of(const std::string& name) {
  constexpr std::string_view kEnd = ".weight";
  return name.ends_with(kEnd) ? name.substr(0, name.size() - kEnd.size()) : std::string();
}

std::vector<std::string> present(const Checkpoint& checkpoint,
                                 const std::vector<std::string>& names) {
  std::vector<std::string> result;
  if (!checkpoint.contains(names.front())) return result;
  std::copy_if(names.begin(), names.end(), std::back_inserter(result),
               [&](const std::string& name) { return checkpoint.contains(name); });
  return result;
}

std::vector<float> float4_palette() {
  std::vector<float> palette = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (size_t i = 0; i < 8; ++i) palette.push_back(-palette[i]);
  return palette;
}

std::vector<float> float8_palette(Dtype type) {
  const int fraction_bits = type == Dtype::F8E4M3 ? 3 : 2, bias = type == Dtype::F8E4M3 ? 7 : 15;
  std::vector<float> palette;
  for (int code = 0; code < 256; ++code) {
    const int fraction = code & ((1 << fraction_bits) - 1);
    const int exponent = (code & 127) >> fraction_bits;
    const int whole = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
    const float value =
        std::ldexp(static_cast<float>(whole), std::max(exponent, 1) - bias - fraction_bits);
    palette.push_back(code < 128 ? value : -value);
  }
  return palette;
}

PackedPart::PackedPart(std::shared_ptr<const Checkpoint> checkpoint, const std::string& name,
                       const std::vector<int64_t>& dims, const std::vector<Dtype>& types)
    : checkpoint_(std::move(checkpoint)), tensor_(checkpoint_->find(name)) {
  const std::string file = checkpoint_->path().filename().string();
  if (tensor_ == nullptr) {
    fail(ErrorCode::NotFound, "{}: tensor '{}' of shape [{}] is missing", file, name,
         fmt::join(dims, ", "));
  }
  if (tensor_->shape != dims) {
    fail(ErrorCode::InvalidFile, "{}: tensor '{}' has shape [{}], the packed matrix needs [{}]",
         file, name, fmt::join(tensor_->shape, ", "), fmt::join(dims, ", "));
  }
  if (std::find(types.begin(), types.end(), tensor_->dtype) == types.end()) {
    std::vector<std::string_view> names;
    names.reserve(types.size());
    for (const Dtype type : types) names.push_back(to_string(type));
    fail(ErrorCode::InvalidFile, "{}: tensor '{}' has type {}, the packed matrix needs {}", file,
         name, to_string(tensor_->dtype), fmt::join(names, " or "));
  }
}

float PackedPart::number(int64_t index) const {
  switch (tensor_->dtype) {
    case Dtype::F32:
      return element<float>(*tensor_, index);
    case Dtype::F16:
      return to_float(element<float16>(*tensor_, index));
    case Dtype::BF16:
      return to_float(element<bfloat16>(*tensor_, index));
    case Dtype::F64:
      return static_cast<float>(element<double>(*tensor_, index));
    case Dtype::F8E8M0:  // 255 is NaN, which is not a valid scale
      return std::ldexp(1.0f, static_cast<int>(element<uint8_t>(*tensor_, index)) - 127);
    default:
      return static_cast<float>(integer(index));
  }
}

int64_t PackedPart::integer(int64_t index) const {
  switch (tensor_->dtype) {
    case Dtype::I8:
      return element<int8_t>(*tensor_, index);
    case Dtype::U8:
      return element<uint8_t>(*tensor_, index);
    case Dtype::I32:
      return element<int32_t>(*tensor_, index);
    case Dtype::U32:
      return element<uint32_t>(*tensor_, index);
    case Dtype::I64:
      return element<int64_t>(*tensor_, index);
    default:
      fail(ErrorCode::Internal, "tensor '{}' holds no integers", tensor_->name);
  }
}

void PackedPart::release() const noexcept {
  checkpoint_->file_of(tensor_->name).release(*tensor_);
}

GroupOrder order_of_groups(const PackedPart& index, int64_t columns, int64_t size, int64_t count) {
  std::vector<int64_t> groups(static_cast<size_t>(columns)), sizes(static_cast<size_t>(count));
  for (int64_t i = 0; i < columns; ++i) {
    const int64_t group = index.integer(i);
    if (group < 0 || group >= count) {
      fail(ErrorCode::InvalidFile, "tensor '{}': element {} names group {}, there are {}",
           index.tensor().name, i, group, count);
    }
    groups[static_cast<size_t>(i)] = group;
    ++sizes[static_cast<size_t>(group)];
  }
  GroupOrder order;
  for (int64_t group = 0; group < count; ++group) {
    const int64_t expected = std::min(size, columns - group * size);
    order.regular = order.regular && sizes[static_cast<size_t>(group)] == expected;
  }
  if (std::is_sorted(groups.begin(), groups.end())) return order;
  order.columns.resize(groups.size());
  std::iota(order.columns.begin(), order.columns.end(), 0);
  std::stable_sort(order.columns.begin(), order.columns.end(), [&](int64_t a, int64_t b) {
    return groups[static_cast<size_t>(a)] < groups[static_cast<size_t>(b)];
  });
  return order;
}

}  // namespace pippin::nn
