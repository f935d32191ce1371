#include "pippin/models/encoders/whisperkit.h"

#include <algorithm>
#include <utility>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/families/package.h"
#include "pippin/families/whisperkit.h"
#include "pippin/io/json.h"
#include "pippin/io/model_files.h"
#include "pippin/models/encoders/encoder_decoder.h"
#include "pippin/models/encoders/log_mel.h"
#include "pippin/models/model_source.h"
#include "pippin/nn/attention/cross_attention.h"
#include "pippin/nn/attention/slot_cache.h"
#include "pippin/nn/layers/pass_cache.h"

namespace pippin::models {
namespace {

namespace fs = std::filesystem;
namespace whisperkit = families::whisperkit;
using array::Array;

Description read_names(const fs::path& source, const Json& config) {
  Description named;
  named.name = model_name(source, config);
  named.model_type = config.get_string_or("model_type", "");
  const auto classes = config.find("architectures");
  if (classes && classes->size() > 0) {
    named.class_name = std::string(classes->at(size_t{0}).as_string());
  }
  return named;
}

EncoderDecoderDescription read_model(const fs::path& source, const Json& json) {
  if (is_made_of_packages(source)) {
    fail(ErrorCode::Unsupported, "{}: --family whisperkit takes a Hugging Face folder",
         source.string());
  }
  const std::string type = json.get_string_or("model_type", "");
  if (type != "whisper") {
    fail(ErrorCode::Unsupported, "{}: model_type '{}': --family whisperkit takes Whisper models",
         source.string(), type);
  }
  const Config config(json);
  EncoderDecoderDescription model = describe_encoder_decoder(source, config);
  config.refuse_unread();
  return model;
}

nn::Parameters read_parameters(const fs::path& source, const EncoderDecoderDescription& model,
                               mil::DataType type) {
  const nn::Style style{.layout = nn::Style::Layout::Channels, .convolutions = true};
  return open_parameters(source, {type, false}, style).unpacking(model.encoder.packed);
}

}  // namespace

WhisperKit::WhisperKit(const fs::path& hf_folder, const WhisperKitOptions& options)
    : named_(read_names(hf_folder, load_config(hf_folder))),
      model_(read_model(hf_folder, load_config(hf_folder))),
      options_(options),
      parameters_(read_parameters(hf_folder, model_, options.type)),
      decoder_(parameters_.at(model_.base)) {
  const int64_t most = model_.context;
  int64_t& context = options_.context;
  if (context == 0) context = std::min<int64_t>(most, whisperkit::kUsualSlots);
  if (context < 2 || context > most) {
    fail(ErrorCode::InvalidArgument, "a context of {} tokens: 2 to {} are possible", context, most);
  }
}

PackagePart WhisperKit::start_part(PackagePart::Kind kind, const char* stem) const {
  return {kind, stem, empty_model(named_, whisperkit::kName, options_.opset)};
}

PackagePart WhisperKit::mel_spectrogram() const {
  PackagePart part = start_part(PackagePart::Kind::Helper, whisperkit::kMelPart);
  FunctionRecorder function(families::kMain, options_.opset);
  const Array audio =
      function.input(whisperkit::kAudio, mil::DataType::Float32, {frames() * kLogMelHop});
  const Array features = array::cast(log_mel(audio, bins(), frames()), options_.type);
  function.output(whisperkit::kFeatures, array::expand_dims(features, {2}));
  function.add_to(part.model);
  return part;
}

PackagePart WhisperKit::audio_encoder() const {
  PackagePart part = start_part(PackagePart::Kind::Layers, whisperkit::kEncoderPart);
  FunctionRecorder function(families::kMain, options_.opset);
  const Array features =
      function.input(whisperkit::kFeatures, options_.type, {1, bins(), 1, frames()});
  const nn::Encoder encoder(parameters_, model_.encoder, positions());
  function.output(whisperkit::kStates, encoder.of_features(features));
  function.add_to(part.model);
  return part;
}

Array WhisperKit::embedded(const Array& ids, const Array& length) const {
  const nn::Embedding tokens(parameters_.at(model_.embedding), model_.vocab_size, model_.width);
  const nn::Embedding places =
      nn::position_table(decoder_, *model_.positions, model_.width, model_.context);
  return array::expand_dims(tokens(ids) + places(length), {2, 3});
}

Array WhisperKit::logits(const Array& x) const {
  const Array normed = nn::Norm(decoder_.at(model_.final_norm), model_.width, model_.norm)(x);
  const Array row = nn::to_rows(normed);
  if (!model_.tied) {
    return nn::Linear(parameters_.at(model_.head), model_.width, model_.vocab_size)(row);
  }
  // Not a convolution: the table is stored once.
  const nn::Embedding tokens(parameters_.at(model_.embedding), model_.vocab_size, model_.width);
  return nn::Linear(model_.head, tokens.weight())(row);
}

PackagePart WhisperKit::text_decoder() const {
  PackagePart part = start_part(PackagePart::Kind::Whole, whisperkit::kDecoderPart);
  FunctionRecorder function(families::kMain, options_.opset);
  const auto layers = std::ssize(model_.layers);
  const int64_t slots = options_.context;
  const std::vector<int64_t> cache_dims = {1, layers * model_.width, 1, slots};
  const Array ids = function.input(whisperkit::kIds, mil::DataType::Int32, {1});
  const Array length = function.input(whisperkit::kLength, mil::DataType::Int32, {1});
  const Array keys = function.input(whisperkit::kKeys, options_.type, cache_dims);
  const Array values = function.input(whisperkit::kValues, options_.type, cache_dims);
  const Array place = function.input(whisperkit::kUpdateMask, options_.type, {1, slots});
  const Array states =
      function.input(whisperkit::kStates, options_.type, {1, model_.width, 1, positions()});
  const Array padding = function.input(whisperkit::kPaddingMask, options_.type, {1, slots});

  const nn::AttentionOptions& attention = model_.layers.front().own.attention();
  nn::SlotCache own(keys, values, place, attention.num_kv_heads, attention.head_dim);
  nn::PassCache cross;
  const Array mask = array::expand_dims(padding, {1, 3});
  const nn::Pass pass{slots - 1, 1, slots, mask};
  nn::LayerCarry carry;
  Array x = embedded(ids, length);
  for (int64_t i = 0; i < layers; ++i) {
    const EncoderDecoderDescription::Layer& layer = model_.layers[static_cast<size_t>(i)];
    const nn::Parameters block = decoder_.at(model_.layers_path).at(i);
    x = nn::DecoderLayer(block, layer.own)(x,
                                           {i, nullptr, &mask, own, pass, carry, nullptr, nullptr});
    const nn::Parameters across = block.at(layer.across.attention_path);
    const auto [seen_keys, seen_values] =
        nn::CrossProjection(across, layer.across.attention())(states);
    cross.update(i, seen_keys, seen_values, pass);
    carry.watched_heads = model_.alignment_heads_of(i);
    x = nn::DecoderLayer(block, layer.across)(
        x, {i, nullptr, nullptr, cross, pass, carry, nullptr, nullptr});
  }
  function.output(whisperkit::kLogits, logits(x));
  function.output(whisperkit::kNewKeys, own.new_keys());
  function.output(whisperkit::kNewValues, own.new_values());
  if (!carry.weights.empty()) {
    const Array weights =
        carry.weights.size() == 1 ? carry.weights.front() : array::concat(carry.weights, 1);
    function.output(whisperkit::kAlignment, array::reduce_mean(weights, {1, 2}));
  }
  function.add_to(part.model);
  return part;
}

std::vector<PackagePart> WhisperKit::parts() const {
  std::vector<PackagePart> parts;
  parts.reserve(3);
  parts.push_back(mel_spectrogram());
  parts.push_back(audio_encoder());
  parts.push_back(text_decoder());
  constexpr std::string_view kNone[] = {"embed_tokens.weight"};
  parameters_.check_all_used(kNone, model_.unused);
  return parts;
}

std::string WhisperKit::meta_json() const {
  JsonWriter json(2);
  json.begin_object()
      .member(whisperkit::meta::kFamily, whisperkit::kName)
      .member("name", named_.name)
      .member("architecture", named_.class_name)
      .member("model_type", named_.model_type)
      .member(whisperkit::meta::kContext, options_.context)
      .member("vocab_size", model_.vocab_size)
      .member("pippin_version", PIPPIN_VERSION)
      .end_object();
  return json.text() + "\n";
}

std::vector<mil::ExtraFile> whisperkit_files(const fs::path& hf_folder) {
  std::vector<mil::ExtraFile> files = encoder_decoder_files(hf_folder);
  for (mil::ExtraFile& file : files) file.item.clear();
  return files;
}

}  // namespace pippin::models
