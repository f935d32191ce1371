#include "pippin/mx/record/record_quantized.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "pippin/mx/core/copy.h"

namespace pippin::mx {
namespace {

std::vector<float> floats_of(const Node& node) {
  std::vector<float> result(static_cast<size_t>(node.size));
  copy_to(node, reinterpret_cast<std::byte*>(result.data()), float32);
  return result;
}

// Widens packed codes of `bits` bits to 4 or 8 bits.
std::vector<std::byte> widened(const Node& codes, int bits) {
  std::vector<std::byte> packed(static_cast<size_t>(codes.bytes()));
  copy_to(codes, packed.data(), codes.dtype);
  if (bits == 4 || bits == 8) return packed;
  const int wide = bits < 4 ? 4 : 8;
  const size_t count = packed.size() * 8 / static_cast<size_t>(bits);
  std::vector<std::byte> result(count * static_cast<size_t>(wide) / 8);
  uint32_t held = 0;
  int held_bits = 0;
  size_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    while (held_bits < bits) {
      held |= std::to_integer<uint32_t>(packed[next++]) << held_bits;
      held_bits += 8;
    }
    const uint32_t code = held & ((1u << bits) - 1);
    held >>= bits;
    held_bits -= bits;
    const size_t at = i * static_cast<size_t>(wide);
    result[at / 8] |= static_cast<std::byte>(code << (at % 8));
  }
  return result;
}

std::vector<std::byte> bytes_of(const std::vector<float>& values, mil::DataType type) {
  const bool is_half = type == mil::DataType::Float16;
  std::vector<std::byte> result(values.size() * (is_half ? 2 : 4));
  for (size_t i = 0; i < values.size(); ++i) {
    if (is_half) {
      const pippin::float16 half = to_float16(values[i]);
      std::memcpy(result.data() + i * 2, &half, 2);
    } else {
      std::memcpy(result.data() + i * 4, &values[i], 4);
    }
  }
  return result;
}

// The code that means 0 in each group: -bias / scale, made an integer if it is one up to rounding.
std::vector<float> offsets_of(const std::vector<float>& scales, const std::vector<float>& biases) {
  std::vector<float> offsets(scales.size());
  for (size_t i = 0; i < scales.size(); ++i) {
    const float offset = scales[i] == 0 ? 0 : -biases[i] / scales[i];
    const float whole = std::nearbyint(offset);
    const bool is_whole = std::fabs(offset - whole) <= 2e-3f * std::max(1.0f, std::fabs(whole));
    offsets[i] = is_whole ? whole : offset;
  }
  return offsets;
}

}  // namespace

Recorder::Value record_quantized(Recorder& recorder, std::string_view name, const Node& codes,
                                 const Node& scales, const Node& biases, int group_size, int bits,
                                 mil::DataType type) {
  if (!recorder.is_constant(codes) || !recorder.is_constant(scales) ||
      !recorder.is_constant(biases)) {
    refuse_record(name, "with weights that are computed ");
  }
  std::vector<int64_t> shape = to_vector(codes.shape), groups = to_vector(scales.shape);
  shape.back() = groups.back() * group_size;
  const std::vector<float> scale = floats_of(scales);
  const std::vector<float> offset = offsets_of(scale, floats_of(biases));
  const int wide = bits <= 4 ? 4 : 8;
  const mil::DataType code_type = wide == 4 ? mil::DataType::UInt4 : mil::DataType::UInt8;
  const auto most = static_cast<float>((1 << wide) - 1);
  const bool are_codes = std::all_of(offset.begin(), offset.end(), [most](float value) {
    return value >= 0 && value <= most && value == std::nearbyint(value);
  });
  std::vector<std::byte> offset_bytes;
  if (are_codes) {
    offset_bytes.resize((offset.size() * static_cast<size_t>(wide) + 7) / 8);
    for (size_t i = 0; i < offset.size(); ++i) {
      const size_t at = i * static_cast<size_t>(wide);
      offset_bytes[at / 8] |= static_cast<std::byte>(static_cast<unsigned>(offset[i]) << (at % 8));
    }
  } else {
    offset_bytes = bytes_of(offset, type);
  }
  RecordedConstants& constants = recorder.constants();
  return Recorder::one(
      "constexpr_blockwise_shift_scale",
      {{"data", constants.add(code_type, shape, widened(codes, bits))},
       {"scale", constants.add(type, groups, bytes_of(scale, type))},
       {"offset", constants.add(are_codes ? code_type : type, groups, std::move(offset_bytes))}});
}

}  // namespace pippin::mx
