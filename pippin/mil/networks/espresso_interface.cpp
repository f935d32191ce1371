#include "pippin/mil/networks/espresso_interface.h"

#include <algorithm>

#include "pippin/base/bytes.h"
#include "pippin/base/error.h"
#include "pippin/base/text.h"

namespace pippin::mil::networks {
namespace {

constexpr std::string_view kBiases[] = {"bias_b", "bias_g", "bias_r"};

bool flag_or_number(const Json& value) {
  return value.is_bool() ? value.as_bool() : value.as_float() != 0;
}

// x times scale, plus the bias of the channel's color.
void add_scaler(const Json& transform, const Feature& feature, Message& message) {
  constexpr uint32_t kPreprocessing = 2, kScaler = 10, kFirstBias = 20, kGrayBias = 30;
  const auto real = [&](std::string_view key, double absent) {
    return static_cast<float>(transform.get_float_or(key, absent));
  };
  const bool is_flagged_bgr =
      transform.has("is_network_bgr") && flag_or_number(transform.at("is_network_bgr"));
  if (transform.has("center_mean") && flag_or_number(transform.at("center_mean"))) {
    fail(ErrorCode::Unsupported, "center_mean is not supported");
  }
  const bool is_gray =
      feature.image.color_space != ColorSpace::Rgb && feature.image.color_space != ColorSpace::Bgr;
  Message scaler;
  scaler.number(10, real("scale", 1));
  if (is_gray) {
    // Which of them counts for gray is not known.
    for (const std::string_view key : kBiases) {
      if (real(key, 0) == real(kBiases[0], 0)) continue;
      fail(ErrorCode::Unsupported, "biases that differ by color for a gray image");
    }
    scaler.number(kGrayBias, real(kBiases[0], 0));
  } else {
    if (is_flagged_bgr != (feature.image.color_space == ColorSpace::Bgr)) {
      fail(ErrorCode::Unsupported, "is_network_bgr is {} for an image in {}", is_flagged_bgr,
           is_flagged_bgr ? "RGB" : "BGR");
    }
    for (size_t i = 0; i < std::size(kBiases); ++i) {
      scaler.number(kFirstBias + static_cast<uint32_t>(i), real(kBiases[i], 0));
    }
  }
  message.message(kPreprocessing, Message().content(1, feature.name).message(kScaler, scaler));
}

std::string_view read_text(ByteReader& reader) {
  const auto size = reader.read<uint64_t>();
  return as_text(reader.take(size));
}

}  // namespace

void add_transforms(const Json& net, const std::vector<Feature>& inputs, Message& message) {
  const auto transforms = net.find("transform_params");
  if (!transforms) return;
  for (const auto& [name, transform] : transforms->members()) {
    const auto feature = std::find_if(inputs.begin(), inputs.end(), [&, &wanted = name](auto& one) {
      return one.name == wanted;
    });
    with_context(fmt::format("transform_params of '{}'", name), [&, &from = transform] {
      if (feature == inputs.end()) fail(ErrorCode::InvalidFile, "there is no such input");
      if (feature->kind == Feature::Kind::Image) return add_scaler(from, *feature, message);
      const bool neutral = from.get_float_or("scale", 1) == 1 &&
                           std::all_of(std::begin(kBiases), std::end(kBiases),
                                       [&](auto key) { return from.get_float_or(key, 0) == 0; });
      if (!neutral) fail(ErrorCode::Unsupported, "scale and bias of an array");
    });
  }
}

void add_labels(ByteSpan bytes, Message& message) {
  constexpr uint32_t kTexts = 100, kNumbers = 101, kScores = 200;
  ByteReader reader(bytes, "coremldata.bin: class labels");
  reader.read<uint64_t>();
  const auto type = reader.read<uint64_t>();
  if (type != kTexts && type != kNumbers) {
    fail(ErrorCode::Unsupported, "coremldata.bin: class labels of the type {}", type);
  }
  const auto count = reader.read<uint64_t>();
  if (count > reader.remaining() / sizeof(uint64_t)) {
    fail(ErrorCode::InvalidFile, "coremldata.bin: {} class labels in {} bytes", count,
         bytes.size());
  }
  Message labels;
  for (uint64_t i = 0; i < count; ++i) {
    if (type == kTexts) {
      labels.content(1, read_text(reader));
    } else {
      labels.integer(1, reader.read<int64_t>());
    }
  }
  message.message(static_cast<uint32_t>(type), labels).content(kScores, read_text(reader));
}

}  // namespace pippin::mil::networks
