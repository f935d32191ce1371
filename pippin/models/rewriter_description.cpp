#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/models/encoder_decoder_description.h"

namespace pippin::models {
namespace {

using Describe = EncoderDecoderDescription (*)(const Config& config);
constexpr std::pair<std::string_view, Describe> kEncoderDecoders[] = {
    {"bart", bart_rewriter},  {"blenderbot", bart_rewriter}, {"led", bart_rewriter},
    {"longt5", t5_rewriter},  {"m2m_100", bart_rewriter},    {"marian", bart_rewriter},
    {"mbart", bart_rewriter}, {"mt5", t5_rewriter},          {"pegasus", bart_rewriter},
    {"t5", t5_rewriter},      {"t5gemma", t5gemma_rewriter}, {"umt5", t5_rewriter}};

const auto* find_rewriter(std::string_view type) {
  return std::find_if(std::begin(kEncoderDecoders), std::end(kEncoderDecoders),
                      [&](const auto& known) { return known.first == type; });
}

}  // namespace

bool is_encoder_decoder_type(std::string_view model_type) {
  return find_rewriter(model_type) != std::end(kEncoderDecoders);
}

EncoderDecoderDescription describe_rewriter(const Config& config) {
  const std::string type = config.text("model_type", "");
  const auto* const known = find_rewriter(type);
  if (known != std::end(kEncoderDecoders)) return known->second(config);
  std::vector<std::string_view> types;
  for (const auto& one : kEncoderDecoders) types.push_back(one.first);
  config.unsupported("model_type", fmt::format("'{}' is not supported for an encoder and a decoder "
                                               "(known: {})",
                                               type, fmt::join(types, ", ")));
}

}  // namespace pippin::models
