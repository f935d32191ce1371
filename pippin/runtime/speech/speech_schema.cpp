#include "pippin/runtime/speech/speech_schema.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"
#include "pippin/families/package.h"
#include "pippin/families/speech.h"
#include "pippin/runtime/axis_sizes.h"
#include "pippin/runtime/package/functions.h"

namespace pippin::runtime {
namespace {

namespace speech = families::speech;

// The function's waveform or features; null for other functions.
const mil::Feature* sound_input(const mil::FunctionDescription* function) {
  if (function == nullptr) return nullptr;
  const mil::Feature* const waveform = find_feature(function->inputs, speech::kWaveform);
  if (waveform != nullptr && waveform->shape.size() == 2) return waveform;
  const mil::Feature* const features = find_feature(function->inputs, speech::kFeatures);
  return features != nullptr && features->shape.size() == 3 ? features : nullptr;
}

bool gives(const mil::FunctionDescription* function, const char* output) {
  return function != nullptr && find_feature(function->outputs, output) != nullptr;
}

bool is_ctc(const mil::Model& model) {
  const auto* const main = find_description(model, families::kMain);
  return sound_input(main) != nullptr && gives(main, speech::kLogits);
}

bool is_transducer(const mil::Model& model) {
  const auto* const encode = find_description(model, speech::kEncode);
  return sound_input(encode) != nullptr && gives(encode, speech::kEncoded) &&
         gives(find_description(model, speech::kPredict), speech::kPredicted) &&
         gives(find_description(model, speech::kJoin), speech::kLogits);
}

int64_t checked_number(const char* key, std::string_view text, int64_t least, int64_t most) {
  int64_t number = 0;
  if (!parse_number(text, number) || number < least || number > most) {
    fail(ErrorCode::InvalidFile, "the package's metadata: {} '{}' is not a number from {} to {}",
         key, text.substr(0, 40), least, most);
  }
  return number;
}

int64_t read_number(const mil::Model& model, const char* key, int64_t least, int64_t most) {
  const auto found = model.metadata.user_defined.find(key);
  if (found == model.metadata.user_defined.end()) {
    fail(ErrorCode::InvalidFile, "the package's metadata: {} is missing", key);
  }
  return checked_number(key, found->second, least, most);
}

constexpr int64_t kMostInt = std::numeric_limits<int32_t>::max();

std::vector<int64_t> read_durations(const mil::Model& model) {
  constexpr size_t kMostDurations = 1024;
  std::vector<int64_t> durations;
  const auto found = model.metadata.user_defined.find(speech::kDurationsKey);
  if (found == model.metadata.user_defined.end()) return durations;
  for (std::string_view rest = found->second;;) {
    const size_t comma = rest.find(',');
    durations.push_back(checked_number(speech::kDurationsKey, rest.substr(0, comma), 0, kMostInt));
    if (comma == rest.npos) return durations;
    if (durations.size() == kMostDurations) {
      fail(ErrorCode::InvalidFile, "the package's metadata: {} has more than {} numbers",
           speech::kDurationsKey, kMostDurations);
    }
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

bool is_speech(const mil::Model& model) {
  return model.has_program() && (is_ctc(model) || is_transducer(model));
}

SpeechSchema speech_schema(const mil::Model& model) {
  if (!is_speech(model)) {
    fail(ErrorCode::Unsupported,
         "the program does not recognize speech: it must have the function {} from {} or {} to {}, "
         "or the functions {}, {} and {} of the family {}",
         families::kMain, speech::kWaveform, speech::kFeatures, speech::kLogits, speech::kEncode,
         speech::kPredict, speech::kJoin, speech::kName);
  }
  SpeechSchema schema;
  schema.is_transducer = is_transducer(model);
  schema.function = schema.is_transducer ? speech::kEncode : families::kMain;
  const mil::Feature& input = *sound_input(find_description(model, schema.function.c_str()));
  schema.input = input.name;
  schema.bins = input.shape.size() == 3 ? input.shape[2] : 0;
  const AxisSizes length = AxisSizes::of(input, 1);
  schema.shortest = length.smallest();
  schema.longest = length.largest();
  schema.sampling_rate = read_number(model, speech::kRateKey, 1, kMostInt);
  schema.row_samples = read_number(model, speech::kRowKey, 1, kMostInt);
  schema.frame_samples = read_number(model, speech::kFrameKey, 1, kMostInt);
  schema.rules.blank = static_cast<int32_t>(read_number(model, speech::kBlankKey, 0, kMostInt));
  if (schema.is_transducer) {
    schema.rules.max_symbols = read_number(model, speech::kMaxSymbolsKey, 1, kMostInt);
    schema.rules.durations = read_durations(model);
  }
  return schema;
}

}  // namespace pippin::runtime
