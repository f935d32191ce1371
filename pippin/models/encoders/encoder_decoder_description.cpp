#include "pippin/models/encoders/encoder_decoder_description.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"

namespace pippin::models {
namespace {

using Describe = EncoderDecoderDescription (*)(const Config& config);
constexpr std::pair<std::string_view, Describe> kEncoderDecoders[] = {
    {"bart", bart_encoder_decoder},
    {"blenderbot", bart_encoder_decoder},
    {"led", bart_encoder_decoder},
    {"longt5", t5_encoder_decoder},
    {"m2m_100", bart_encoder_decoder},
    {"marian", bart_encoder_decoder},
    {"mbart", bart_encoder_decoder},
    {"mt5", t5_encoder_decoder},
    {"moonshine", moonshine_encoder_decoder},
    {"moonshine_streaming", moonshine_streaming_encoder_decoder},
    {"pegasus", bart_encoder_decoder},
    {"t5", t5_encoder_decoder},
    {"t5gemma", t5gemma_encoder_decoder},
    {"t5gemma2", t5gemma2_encoder_decoder},
    {"umt5", t5_encoder_decoder},
    {"whisper", whisper_encoder_decoder}};

const auto* find_encoder_decoder(std::string_view type) {
  return std::find_if(std::begin(kEncoderDecoders), std::end(kEncoderDecoders),
                      [&](const auto& known) { return known.first == type; });
}

}  // namespace

bool is_encoder_decoder_type(std::string_view model_type) {
  return find_encoder_decoder(model_type) != std::end(kEncoderDecoders);
}

std::vector<int64_t> EncoderDecoderDescription::alignment_heads_of(int64_t layer) const {
  std::vector<int64_t> heads;
  for (const auto& [of_layer, head] : alignment_heads) {
    if (of_layer == layer) heads.push_back(head);
  }
  return heads;
}

EncoderDecoderDescription describe_encoder_decoder(const Config& config) {
  const std::string type = config.text("model_type", "");
  const auto* const known = find_encoder_decoder(type);
  if (known != std::end(kEncoderDecoders)) return known->second(config);
  std::vector<std::string_view> types;
  for (const auto& one : kEncoderDecoders) types.push_back(one.first);
  config.unsupported("model_type", fmt::format("'{}' is not supported for an encoder and a decoder "
                                               "(known: {})",
                                               type, fmt::join(types, ", ")));
}

}  // namespace pippin::models
