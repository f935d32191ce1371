#include "pippin/mil/networks/weights.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "pippin/base/error.h"
#include "pippin/base/numbers/float_convert.h"
#include "pippin/mil/networks/float_source.h"
#include "pippin/mil/tensor.h"

namespace pippin::mil::networks {
namespace {

constexpr Field kFloatValue{1, "floatValue"}, kFloat16Value{2, "float16Value"},
    kRawValue{30, "rawValue"}, kInt8RawValue{31, "int8RawValue"}, kQuantization{40, "quantization"};
constexpr Field kNumberOfBits{1, "numberOfBits"}, kLinearScale{101, "linearQuantization"},
    kLookUpTable{102, "lookupTableQuantization"};
constexpr Field kScale{1, "scale"}, kBias{2, "bias"}, kTable{1, "floatValue"};

// Elements in one of the file's types, copied or converted.
class StoredSource : public FloatSource {
 public:
  StoredSource(ByteSpan bytes, bool half, const Owner& owner)
      : FloatSource(static_cast<int64_t>(bytes.size() / (half ? 2 : 4))),
        bytes_(bytes),
        half_(half),
        owner_(owner) {}

  ByteSpan view() const override {
    const bool aligned = reinterpret_cast<uintptr_t>(bytes_.data()) % alignof(float) == 0;
    return half_ || !aligned ? ByteSpan() : bytes_;
  }
  void elements(size_t first, std::span<float> out) const override {
    auto* to = reinterpret_cast<std::byte*>(out.data());
    if (half_) {
      convert_f16_to_f32(bytes_.data() + 2 * first, to, out.size());
    } else if (!out.empty()) {
      std::memcpy(to, bytes_.data() + sizeof(float) * first, out.size_bytes());
    }
  }
  bool describe(Recipe& recipe) const override {
    recipe.step(half_ ? "halves" : "floats").bytes(bytes_);
    return true;
  }

 private:
  const ByteSpan bytes_;
  const bool half_;
  const Owner owner_;
};

// Conversion of numbers of 1 to 8 bits to floats.
struct Quantization {
  int bits = 8;
  bool is_signed = false;
  std::vector<float> table;         // the values of all numbers, or
  std::vector<float> scale, bias;   // one, or one for each channel
  int64_t inner = 1, channels = 1;  // element i belongs to channel i / inner % channels
};

class QuantizedSource : public FloatSource {
 public:
  QuantizedSource(ByteSpan bytes, int64_t count, Quantization quantization, const Owner& owner)
      : FloatSource(count), bytes_(bytes), how_(std::move(quantization)), owner_(owner) {}

  void elements(size_t first, std::span<float> out) const override {
    for (size_t i = 0; i < out.size(); ++i) {
      const uint32_t number = number_at(first + i);
      if (!how_.table.empty()) {
        out[i] = how_.table[number];
        continue;
      }
      const auto channel =
          (first + i) / static_cast<size_t>(how_.inner) % static_cast<size_t>(how_.channels);
      const float value = how_.is_signed ? static_cast<float>(static_cast<int8_t>(number))
                                         : static_cast<float>(number);
      out[i] = value * at(how_.scale, channel) + at(how_.bias, channel);
    }
  }
  bool describe(Recipe& recipe) const override {
    recipe.step("few bits").number(how_.bits).number(how_.is_signed ? 1 : 0);
    recipe.number(how_.inner).number(how_.channels).number(num_floats());
    for (const auto* floats : {&how_.table, &how_.scale, &how_.bias}) {
      recipe.bytes(std::as_bytes(std::span(*floats)));
    }
    recipe.bytes(bytes_);
    return true;
  }

 private:
  static float at(const std::vector<float>& values, size_t channel) {
    return values.size() == 1 ? values[0] : values[channel];
  }

  // Bits are packed without gaps, the most significant one first.
  uint32_t number_at(size_t index) const {
    if (how_.bits == 8) return static_cast<uint32_t>(bytes_[index]);
    const size_t bit = index * static_cast<size_t>(how_.bits), byte = bit / 8;
    const uint32_t next = byte + 1 < bytes_.size() ? static_cast<uint32_t>(bytes_[byte + 1]) : 0;
    const uint32_t pair = static_cast<uint32_t>(bytes_[byte]) << 8 | next;
    const auto shift = 16 - static_cast<int>(bit % 8) - how_.bits;
    return pair >> shift & ((1U << how_.bits) - 1);
  }

  const ByteSpan bytes_;
  const Quantization how_;
  const Owner owner_;
};

std::vector<float> per_channel(const Fields& message, const Field& field, int64_t channels) {
  std::vector<float> values = message.numbers(field);
  if (values.empty()) values.push_back(field.number == kScale.number ? 1.0F : 0.0F);
  if (values.size() != 1 && static_cast<int64_t>(values.size()) != channels) {
    fail(ErrorCode::InvalidFile, "{} has {} values for {} channels", field.name, values.size(),
         channels);
  }
  return values;
}

Quantization read_quantization(const Fields& message, bool is_signed, int64_t channels,
                               int64_t inner) {
  Quantization how;
  how.is_signed = is_signed;
  how.inner = inner;
  how.channels = channels;
  const int64_t bits = is_signed ? 8 : message.integer(kNumberOfBits);
  if (bits < 1 || bits > 8) fail(ErrorCode::InvalidFile, "numberOfBits is {}, not 1 to 8", bits);
  how.bits = static_cast<int>(bits);
  if (message.has(kLookUpTable)) {
    how.table = message.message(kLookUpTable).numbers(kTable);
    if (how.table.size() != size_t{1} << bits) {
      fail(ErrorCode::InvalidFile, "a look-up table of {} values for {} bits", how.table.size(),
           bits);
    }
    return how;
  }
  const Fields linear = message.message(kLinearScale);
  how.scale = per_channel(linear, kScale, channels);
  how.bias = per_channel(linear, kBias, channels);
  return how;
}

void check_count(int64_t found, int64_t expected) {
  if (found == expected) return;
  fail(ErrorCode::InvalidFile, "{} weights, {} are needed", found, expected);
}

std::shared_ptr<const TensorSource> packed_floats(const Fields& message, int64_t count,
                                                  const Owner& owner) {
  const std::vector<ByteSpan> pieces = message.pieces(kFloatValue);
  if (pieces.size() != 1) {
    const std::vector<float> values = message.numbers(kFloatValue);
    check_count(std::ssize(values), count);
    return float_source(values);
  }
  check_count(static_cast<int64_t>(pieces[0].size() / sizeof(float)), count);
  return std::make_shared<StoredSource>(pieces[0], false, owner);
}

}  // namespace

bool has_weights(const Fields& message) {
  return message.has(kFloatValue) || message.has(kFloat16Value) || message.has(kRawValue) ||
         message.has(kInt8RawValue);
}

std::shared_ptr<const TensorSource> weight_source(const Fields& message,
                                                  const std::vector<int64_t>& shape,
                                                  const Owner& owner, size_t channel_axis) {
  const int64_t count = num_elements(shape);
  if (message.has(kFloatValue)) return packed_floats(message, count, owner);
  if (message.has(kFloat16Value)) {
    const ByteSpan bytes = message.bytes(kFloat16Value);
    if (bytes.size() % 2 != 0) fail(ErrorCode::InvalidFile, "{} bytes of halves", bytes.size());
    check_count(static_cast<int64_t>(bytes.size() / 2), count);
    return std::make_shared<StoredSource>(bytes, true, owner);
  }
  const bool is_signed = message.has(kInt8RawValue);
  if (!is_signed && !message.has(kRawValue)) check_count(0, count);
  const ByteSpan bytes = message.bytes(is_signed ? kInt8RawValue : kRawValue);
  int64_t channels = 1, inner = 1;
  if (channel_axis < shape.size()) {
    channels = shape[channel_axis];
    for (size_t i = channel_axis + 1; i < shape.size(); ++i) inner *= shape[i];
  }
  Quantization how = read_quantization(message.message(kQuantization), is_signed, channels, inner);
  const uint64_t needed = (static_cast<uint64_t>(count) * static_cast<uint64_t>(how.bits) + 7) / 8;
  if (bytes.size() != needed) {
    fail(ErrorCode::InvalidFile, "{} bytes of quantized weights, {} are needed", bytes.size(),
         needed);
  }
  return std::make_shared<QuantizedSource>(bytes, count, std::move(how), owner);
}

std::shared_ptr<const TensorSource> stored_source(ByteSpan bytes, bool half, const Owner& owner) {
  return std::make_shared<StoredSource>(bytes, half, owner);
}

std::vector<float> read_floats(const TensorSource& source) {
  std::vector<float> values(source.size() / sizeof(float));
  source.read(0, std::as_writable_bytes(std::span(values)));
  return values;
}

}  // namespace pippin::mil::networks
