#include "pippin/models/speech/speech_model.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/families/package.h"
#include "pippin/families/speech.h"
#include "pippin/io/model_files.h"
#include "pippin/models/causal_lm.h"
#include "pippin/models/config/common.h"
#include "pippin/models/family/package_part.h"
#include "pippin/models/model_source.h"
#include "pippin/models/speech/speech_description.h"

namespace pippin::models {
namespace {

namespace fs = std::filesystem;
namespace speech = families::speech;
using array::Array;

constexpr auto kFloat = mil::DataType::Float32;
constexpr int64_t kUsualSeconds = 60;

// The waveform of an input, as preprocessor_config.json says.
struct Sound {
  int64_t rate = 16000;
  int64_t row = 1;  // samples of a row of features, or 1

  static Sound read(const fs::path& source, bool is_waveform);
};

Sound Sound::read(const fs::path& source, bool is_waveform) {
  const fs::path path = text_folder(source) / "preprocessor_config.json";
  Sound sound;
  constexpr int64_t kUsualHop = 160;
  const Config config(fs::exists(path) ? Json::load(path, kPythonJson)
                                       : Json::parse("{}", path.string()));
  sound.rate = config.size("sampling_rate", sound.rate);
  if (!is_waveform) {
    sound.row = config.size("hop_length", kUsualHop, 1 << 16) * config.size("stride", 1, 1 << 8);
  }
  return sound;
}

// One function and its interface.
class SpeechFunction {
 public:
  explicit SpeechFunction(const char* name) { description_.name = name; }

  // An axis is as long as its lower bound by default.
  Array input(const char* name, const char* description, mil::DataType type,
              const mil::Shape& shape) {
    std::vector<int64_t> dims;
    std::vector<mil::SizeRange> ranges;
    dims.reserve(shape.size());
    ranges.reserve(shape.size());
    for (const mil::Dim& dim : shape) {
      dims.push_back(dim.lower());
      ranges.push_back({dim.lower(), dim.upper()});
    }
    if (mil::constant_shape(shape)) ranges.clear();
    description_.inputs.push_back(
        mil::array_feature(name, description, type, std::move(dims), std::move(ranges)));
    return builder_.input(name, type, shape);
  }
  void output(const char* name, const char* description, const Array& value) {
    builder_.output(name, array::cast(value, kFloat));
    description_.outputs.push_back(mil::array_feature(name, description, kFloat));
  }
  void add_to(mil::Model& model) {
    model.specification_version = mil::specification_version(builder_.opset());
    model.program.functions.emplace(description_.name, builder_.build());
    model.functions.push_back(std::move(description_));
  }

 private:
  array::Builder builder_;
  mil::FunctionDescription description_;
};

class SpeechRecorder {
 public:
  SpeechRecorder(SpeechDescription model, const nn::Parameters& parameters, int64_t context)
      : model_(std::move(model)),
        context_(context),
        parameters_(parameters),
        encoder_(parameters.at(model_.base), model_.encoder, context) {}

  mil::Model record();

 private:
  Array encode(SpeechFunction& function) const;
  Array head(const Array& states) const;
  void record_ctc(mil::Model& model) const;
  void record_transducer(mil::Model& model) const;
  void check_all_used() const;

  SpeechDescription model_;
  int64_t context_;
  nn::Parameters parameters_;
  nn::SpeechEncoder encoder_;
};

Array SpeechRecorder::encode(SpeechFunction& function) const {
  const nn::SpeechEncoderOptions& encoder = model_.encoder;
  const mil::Dim length = mil::Dim::symbol(
      "length", encoder.shortest(), std::max(encoder.shortest(), context_ * encoder.stride()));
  const Array input =
      encoder.bins() == 0
          ? function.input(speech::kWaveform, "Samples of the waveform", kFloat, {1, length})
          : function.input(speech::kFeatures, "Rows of the spectrogram", kFloat,
                           {1, length, encoder.bins()});
  Array states = encoder_(array::cast(input, parameters_.type()));
  function.output(speech::kStates, "State of each frame", states);
  return states;
}

Array SpeechRecorder::head(const Array& states) const {
  const nn::Parameters at = parameters_.at(model_.head);
  const int64_t features = model_.encoder.output_features();
  if (!model_.head_is_convolution) {
    return nn::Linear(at, features, model_.vocab_size, /*bias=*/true)(states);
  }
  const nn::Convolution convolution(at, {.dims = {model_.vocab_size, features, 1}});
  return array::transpose(convolution(array::transpose(states, {0, 2, 1})), {0, 2, 1});
}

void SpeechRecorder::record_ctc(mil::Model& model) const {
  SpeechFunction function(families::kMain);
  function.output(speech::kLogits, "Score of every token, for each frame", head(encode(function)));
  function.add_to(model);
  model.default_function = families::kMain;
}

void SpeechRecorder::record_transducer(mil::Model& model) const {
  const nn::TransducerOptions& options = model_.transducer->network;
  const nn::Transducer transducer(parameters_, options);
  const mil::DataType type = parameters_.type();
  {
    SpeechFunction function(speech::kEncode);
    function.output(speech::kEncoded, "State of each frame, for the joint network",
                    transducer.project(encode(function)));
    function.add_to(model);
  }
  {
    SpeechFunction function(speech::kPredict);
    const mil::Shape state = {options.layers, 1, options.features};
    const Array token =
        function.input(speech::kToken, "The last token", mil::DataType::Int32, {1, 1});
    const Array hidden = function.input(speech::kHidden, "Hidden states", kFloat, state);
    const Array cell = function.input(speech::kCell, "States of the cells", kFloat, state);
    const Array narrow = array::cast(hidden, type);
    const auto predicted = transducer.predict(token, narrow, array::cast(cell, type));
    function.output(speech::kPredicted, "For the joint network", predicted.result);
    function.output(speech::kNextHidden, "Hidden states after the token", predicted.hidden);
    function.output(speech::kNextCell, "States of the cells after the token", predicted.cell);
    function.add_to(model);
  }
  SpeechFunction function(speech::kJoin);
  const mil::Dim frames = mil::Dim::symbol("frames", 1, context_);
  const Array encoded =
      function.input(speech::kEncoded, "States of frames", kFloat, {1, frames, options.features});
  const Array predicted = function.input(speech::kPredicted, "Result of the prediction network",
                                         kFloat, {1, 1, options.features});
  const Array narrow = array::cast(encoded, type);
  function.output(speech::kLogits, "Score of every token, then of every duration",
                  transducer.join(narrow, array::cast(predicted, type)));
  function.add_to(model);
  model.multifunction = true;
  model.default_function = speech::kEncode;
}

void SpeechRecorder::check_all_used() const {
  std::vector<std::string> unused;
  unused.reserve(model_.unused.size());
  for (const std::string& name : model_.unused) unused.push_back(model_.base + "." + name);
  constexpr std::string_view kBuffers[] = {"num_batches_tracked"};
  parameters_.check_all_used(kBuffers, unused);
}

mil::Model SpeechRecorder::record() {
  mil::Model model;
  model.program.attributes.emplace(families::kBuildInfo, build_info());
  if (model_.transducer) {
    record_transducer(model);
  } else {
    record_ctc(model);
  }
  check_all_used();
  return model;
}

int64_t choose_frames(const SpeechDescription& model, const Sound& sound, int64_t wanted) {
  const int64_t most = model.max_frames > 0 ? model.max_frames : kMaxContext;
  const int64_t samples = sound.row * model.encoder.stride();
  const int64_t usual = std::max<int64_t>(kUsualSeconds * sound.rate / samples, 1);
  const int64_t context = wanted == 0 ? std::min(usual, most) : wanted;
  if (context < 1 || context > most) {
    fail(ErrorCode::InvalidArgument, "a context of {} frames: 1 to {} are possible", context, most);
  }
  return context;
}

void add_metadata(const fs::path& source, const Json& config, const SpeechDescription& described,
                  const Sound& sound, mil::Model& model) {
  auto& values = model.metadata.user_defined;
  const std::string given = name_in_package(source);
  const std::string name = given.empty() ? model_name(source, config) : given;
  model.metadata.short_description =
      fmt::format("{} ({})", name, config.get_string_or("model_type", ""));
  values[families::kMadeFromKey] = name;
  values[families::kArchitectureKey] = described.class_name;
  values[families::kVersionKey] = PIPPIN_VERSION;
  values[families::kFamilyKey] = speech::kName;
  values[speech::kRateKey] = std::to_string(sound.rate);
  values[speech::kRowKey] = std::to_string(sound.row);
  values[speech::kFrameKey] = std::to_string(sound.row * described.encoder.stride());
  values[speech::kBlankKey] = std::to_string(described.blank);
  if (const auto& transducer = described.transducer) {
    values[speech::kMaxSymbolsKey] = std::to_string(transducer->max_symbols);
    if (!transducer->durations.empty()) {
      values[speech::kDurationsKey] = fmt::format("{}", fmt::join(transducer->durations, ","));
    }
  }
}

}  // namespace

bool is_speech_model(const fs::path& source) {
  if (!fs::is_directory(source) || !fs::exists(text_folder(source) / "config.json")) return false;
  return is_speech_type(load_config(source).get_string_or("model_type", ""));
}

std::vector<mil::ExtraFile> speech_files(const fs::path& source) {
  std::vector<mil::ExtraFile> files = package_files(source);
  const fs::path folder = text_folder(source);
  const auto add = [&](const fs::path& path) {
    const std::string name = path.filename().string();
    const bool is_there = std::any_of(files.begin(), files.end(),
                                      [&](const mil::ExtraFile& one) { return one.name == name; });
    if (!is_there) files.push_back({std::string(mil::kTokenizerItem), name, read_file(path)});
  };
  for (const fs::path& path : files_of_role(folder, FileRole::Processor)) add(path);
  const fs::path vocabulary = folder / "vocab.json";
  if (fs::is_regular_file(vocabulary)) add(vocabulary);
  return files;
}

int64_t frames_of(const mil::Model& model) {
  const auto number = [&](const char* key) {
    return std::stoll(model.metadata.user_defined.at(key));
  };
  const mil::Feature& input = model.description(model.default_function).inputs.front();
  return input.ranges.at(1).upper * number(speech::kRowKey) / number(speech::kFrameKey);
}

mil::Model build_speech(const fs::path& source, const SpeechBuildOptions& options) {
  const Json json = load_config(source);
  const Config config(json);
  const SpeechDescription described = describe_speech(config);
  config.refuse_unread();
  const Sound sound = Sound::read(source, described.encoder.bins() == 0);
  const int64_t context = choose_frames(described, sound, options.context);
  BuildOptions build;
  build.compute = options.compute;
  SpeechRecorder recorder(described, open_parameters(source, precision(build)), context);
  mil::Model model = recorder.record();
  add_metadata(source, json, described, sound, model);
  return model;
}

}  // namespace pippin::models
