#include "pippin/runtime/encoder_decoder_schema.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"
#include "pippin/families/encoder_decoder.h"
#include "pippin/families/package.h"
#include "pippin/families/stateful.h"
#include "pippin/runtime/package/functions.h"

namespace pippin::runtime {
namespace {

namespace encoder_decoder = families::encoder_decoder;
namespace stateful = families::stateful;

const mil::Feature* find_of_rank(const std::vector<mil::Feature>& features, const char* name,
                                 size_t rank) {
  const mil::Feature* const found = find_feature(features, name);
  return found != nullptr && found->shape.size() == rank ? found : nullptr;
}

// An input whose sizes are ranges.
const mil::Feature* find_flexible(const mil::FunctionDescription& function, const char* name,
                                  size_t rank) {
  const mil::Feature* const input = find_of_rank(function.inputs, name, rank);
  return input != nullptr && input->ranges.size() == rank ? input : nullptr;
}

bool has_output(const mil::FunctionDescription& function, const char* name) {
  return find_feature(function.outputs, name) != nullptr;
}

bool is_fixed(const mil::Feature& feature) {
  return std::all_of(feature.ranges.begin(), feature.ranges.end(),
                     [](const mil::SizeRange& range) { return range.lower == range.upper; });
}

// A spectrogram of fixed size.
const mil::Feature* find_features(const mil::FunctionDescription& encode) {
  const mil::Feature* const found =
      find_of_rank(encode.inputs, encoder_decoder::kSourceFeatures, 3);
  return found != nullptr && is_fixed(*found) ? found : nullptr;
}

// Sound of any length: the output shows how many states it has.
const mil::Feature* find_samples(const mil::FunctionDescription& encode) {
  if (!has_output(encode, encoder_decoder::kStates)) return nullptr;
  return find_flexible(encode, encoder_decoder::kSourceSamples, 2);
}

int32_t token_of(const mil::Model& model, const char* key, int32_t fallback) {
  const auto found = model.metadata.user_defined.find(key);
  int32_t token = fallback;
  if (found != model.metadata.user_defined.end()) parse_number(found->second, token);
  return token;
}

// The heads of the function `align`; 0 if there is none that gives weights for each position.
int64_t alignment_heads(const mil::Model& model, int64_t positions) {
  const mil::FunctionDescription* const align = find_description(model, encoder_decoder::kAlign);
  if (align == nullptr || find_flexible(*align, stateful::kIds, 2) == nullptr ||
      find_flexible(*align, stateful::kMask, 4) == nullptr) {
    return 0;
  }
  for (const mil::Var* const output :
       model.program.function(encoder_decoder::kAlign).block().outputs()) {
    if (output->name != encoder_decoder::kAttention || output->type.dims.size() != 4) continue;
    const std::vector<int64_t>& dims = output->type.dims;
    if (dims[1] > 0 && dims[3] == positions) return dims[1];
  }
  return 0;
}

SourceForm source_form(const mil::Model& model, const mil::FunctionDescription& encode) {
  const mil::Feature* const keys = find_of_rank(encode.states, encoder_decoder::kCrossKeys, 5);
  if (keys == nullptr) {
    fail(ErrorCode::Unsupported,
         "not an encoder-decoder program: function {} must have a state {} of five axes",
         encoder_decoder::kEncode, encoder_decoder::kCrossKeys);
  }
  SourceForm form{.positions = keys->shape[3]};
  if (const mil::Feature* const features = find_features(encode)) {
    form.bins = features->shape[1];
    form.frames = form.least_frames = features->shape[2];
    form.alignment_heads = alignment_heads(model, form.positions);
  } else {
    const mil::SizeRange& samples = find_samples(encode)->ranges[1];
    form.frames = samples.upper;
    form.least_frames = samples.lower;
  }
  return form;
}

}  // namespace

bool is_encoder_decoder(const mil::Model& model) {
  const auto* const encode = find_description(model, encoder_decoder::kEncode);
  const auto* const decode = find_description(model, families::kMain);
  if (encode == nullptr || decode == nullptr || !has_output(*decode, stateful::kLogits) ||
      find_flexible(*decode, stateful::kIds, 2) == nullptr ||
      find_flexible(*decode, stateful::kMask, 4) == nullptr) {
    return false;
  }
  const bool masks = find_flexible(*decode, encoder_decoder::kSourceMask, 4) != nullptr;
  if (find_features(*encode) != nullptr) return !masks;
  return masks && (find_samples(*encode) != nullptr ||
                   find_flexible(*encode, encoder_decoder::kSourceIds, 2) != nullptr);
}

EncoderDecoderSchema encoder_decoder_schema(const mil::Model& model) {
  if (!is_encoder_decoder(model)) {
    fail(ErrorCode::Unsupported,
         "not an encoder-decoder program: it must have the "
         "functions {} and {} of the family {}",
         encoder_decoder::kEncode, families::kMain, encoder_decoder::kName);
  }
  const auto& encode = *find_description(model, encoder_decoder::kEncode);
  const auto& decode = *find_description(model, families::kMain);
  EncoderDecoderSchema schema;
  schema.start = token_of(model, encoder_decoder::kStartKey, 0);
  schema.first = token_of(model, encoder_decoder::kFirstKey, -1);
  schema.masks_source = find_flexible(decode, encoder_decoder::kSourceMask, 4) != nullptr;
  schema.most_target = find_flexible(decode, stateful::kMask, 4)->ranges[3].upper;
  if (const auto* const ids = find_flexible(encode, encoder_decoder::kSourceIds, 2)) {
    schema.most_source = ids->ranges[1].upper;
  } else {
    schema.source = source_form(model, encode);
    schema.most_source = schema.source->positions;
  }
  return schema;
}

}  // namespace pippin::runtime
