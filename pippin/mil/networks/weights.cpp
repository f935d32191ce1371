#include "pippin/mil/networks/weights.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "pippin/base/error.h"
#include "pippin/base/numbers/float_convert.h"
#include "pippin/mil/networks/element_source.h"
#include "pippin/mil/networks/numbers.h"
#include "pippin/mil/tensor.h"

namespace pippin::mil::networks {
namespace {

constexpr Field kFloatValue{1, "floatValue"}, kFloat16Value{2, "float16Value"},
    kRawValue{30, "rawValue"}, kInt8RawValue{31, "int8RawValue"}, kQuantization{40, "quantization"};
constexpr Field kNumberOfBits{1, "numberOfBits"}, kLinearScale{101, "linearQuantization"},
    kLookUpTable{102, "lookupTableQuantization"};
constexpr Field kScale{1, "scale"}, kBias{2, "bias"}, kTable{1, "floatValue"};

// Elements in one of the file's types, as stored.
class StoredSource : public ElementSource {
 public:
  StoredSource(ByteSpan bytes, size_t width, const Owner& owner)
      : ElementSource(static_cast<int64_t>(bytes.size() / width), width),
        bytes_(bytes),
        owner_(owner) {}

  ByteSpan view() const override {
    const bool aligned = reinterpret_cast<uintptr_t>(bytes_.data()) % width() == 0;
    return aligned ? bytes_ : ByteSpan();
  }
  void elements(size_t first, MutableByteSpan out) const override {
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + first * width(), out.size());
  }
  bool describe(Recipe& recipe) const override {
    recipe.step("stored").bytes(bytes_);
    return true;
  }

 private:
  const ByteSpan bytes_;
  const Owner owner_;
};

class HalvesSource : public FloatSource {
 public:
  HalvesSource(ByteSpan bytes, const Owner& owner)
      : FloatSource(static_cast<int64_t>(bytes.size() / 2)), bytes_(bytes), owner_(owner) {}

  void floats(size_t first, std::span<float> out) const override {
    convert_f16_to_f32(bytes_.data() + 2 * first, reinterpret_cast<std::byte*>(out.data()),
                       out.size());
  }
  std::optional<CompressedForm> compressed() const override {
    return CompressedForm{.elements = std::make_shared<StoredSource>(bytes_, 2, owner_)};
  }
  bool describe(Recipe& recipe) const override {
    recipe.step("halves").bytes(bytes_);
    return true;
  }

 private:
  const ByteSpan bytes_;
  const Owner owner_;
};

class QuantizedSource : public FloatSource {
 public:
  QuantizedSource(ByteSpan bytes, int64_t count, CompressedForm form)
      : FloatSource(count), bytes_(bytes), form_(std::move(form)) {}

  void floats(size_t first, std::span<float> out) const override {
    constexpr size_t kBlock = 4096;
    std::vector<std::byte> numbers(std::min(kBlock, out.size()));
    const int64_t each = form_.channels / form_.groups();
    while (!out.empty()) {
      const size_t count = std::min(numbers.size(), out.size());
      unpack_numbers(bytes_, form_.bits, first, MutableByteSpan(numbers).first(count));
      for (size_t i = 0; i < count; ++i) {
        const int64_t channel = static_cast<int64_t>(first + i) / form_.inner % form_.channels;
        out[i] = value_of(numbers[i], static_cast<size_t>(channel / each));
      }
      out = out.subspan(count);
      first += count;
    }
  }
  std::optional<CompressedForm> compressed() const override { return form_; }
  bool describe(Recipe& recipe) const override {
    recipe.step("few bits").number(form_.bits).number(form_.is_signed ? 1 : 0);
    recipe.number(form_.inner).number(form_.channels).number(count());
    for (const auto* floats : {&form_.table, &form_.scale, &form_.bias}) {
      recipe.bytes(std::as_bytes(std::span(*floats)));
    }
    recipe.bytes(bytes_);
    return true;
  }

 private:
  float value_of(std::byte number, size_t group) const {
    if (!form_.table.empty()) return form_.table[static_cast<size_t>(number)];
    const float value = form_.is_signed ? static_cast<float>(static_cast<int8_t>(number))
                                        : static_cast<float>(number);
    return value * form_.scale[group] + form_.bias[group];
  }

  const ByteSpan bytes_;
  const CompressedForm form_;  // keeps the file's bytes valid
};

std::vector<float> per_channel(const Fields& message, const Field& field, int64_t channels) {
  std::vector<float> values = message.numbers(field);
  if (values.empty()) values.push_back(field.number == kScale.number ? 1.0F : 0.0F);
  if (values.size() != 1 && static_cast<int64_t>(values.size()) != channels) {
    fail(ErrorCode::InvalidFile, "{} has {} values, not 1 or one for each of {} channels",
         field.name, values.size(), channels);
  }
  return values;
}

CompressedForm read_quantization(const Fields& message, bool is_signed, int64_t channels,
                                 int64_t inner) {
  CompressedForm form;
  form.is_signed = is_signed;
  form.inner = inner;
  form.channels = channels;
  const int64_t bits = is_signed ? 8 : message.integer(kNumberOfBits);
  if (bits < 1 || bits > 8) fail(ErrorCode::InvalidFile, "numberOfBits is {}, not 1 to 8", bits);
  form.bits = static_cast<int>(bits);
  if (message.has(kLookUpTable)) {
    form.table = message.message(kLookUpTable).numbers(kTable);
    if (form.table.size() != size_t{1} << bits) {
      fail(ErrorCode::InvalidFile, "the look-up table has {} values, {} bits need {}",
           form.table.size(), bits, size_t{1} << bits);
    }
    return form;
  }
  const Fields linear = message.message(kLinearScale);
  form.scale = per_channel(linear, kScale, channels);
  form.bias = per_channel(linear, kBias, channels);
  const size_t groups = std::max(form.scale.size(), form.bias.size());
  form.scale.resize(groups, form.scale.front());
  form.bias.resize(groups, form.bias.front());
  return form;
}

void check_count(int64_t found, int64_t expected) {
  if (found == expected) return;
  fail(ErrorCode::InvalidFile, "there are {} weights, the layer needs {}", found, expected);
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
  return stored_source(pieces[0], /*half=*/false, owner);
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
    if (bytes.size() % 2 != 0)
      fail(ErrorCode::InvalidFile, "float16Value has {} bytes, an odd number", bytes.size());
    check_count(static_cast<int64_t>(bytes.size() / 2), count);
    return stored_source(bytes, /*half=*/true, owner);
  }
  const bool is_signed = message.has(kInt8RawValue);
  if (!is_signed && !message.has(kRawValue)) check_count(0, count);
  const ByteSpan bytes = message.bytes(is_signed ? kInt8RawValue : kRawValue);
  int64_t channels = 1, inner = 1;
  if (channel_axis < shape.size()) {
    channels = shape[channel_axis];
    for (size_t i = channel_axis + 1; i < shape.size(); ++i) inner *= shape[i];
  }
  CompressedForm form =
      read_quantization(message.message(kQuantization), is_signed, channels, inner);
  const uint64_t needed = (static_cast<uint64_t>(count) * static_cast<uint64_t>(form.bits) + 7) / 8;
  if (bytes.size() != needed) {
    fail(ErrorCode::InvalidFile, "the quantized weights have {} bytes, {} of {} bits need {}",
         bytes.size(), count, form.bits, needed);
  }
  form.elements = unpacked_numbers(bytes, count, form.bits, owner);
  return std::make_shared<QuantizedSource>(bytes, count, std::move(form));
}

std::shared_ptr<const TensorSource> stored_source(ByteSpan bytes, bool half, const Owner& owner) {
  if (half) return std::make_shared<HalvesSource>(bytes, owner);
  return std::make_shared<StoredSource>(bytes, sizeof(float), owner);
}

std::vector<float> read_floats(const TensorSource& source) {
  std::vector<float> values(source.size() / sizeof(float));
  source.read(0, std::as_writable_bytes(std::span(values)));
  return values;
}

}  // namespace pippin::mil::networks
