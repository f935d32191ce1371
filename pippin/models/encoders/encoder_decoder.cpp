#include "pippin/models/encoders/encoder_decoder.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/log.h"
#include "pippin/families/encoder_decoder.h"
#include "pippin/families/package.h"
#include "pippin/io/model_files.h"
#include "pippin/models/causal_lm.h"
#include "pippin/models/encoders/encoder_decoder_recorder.h"
#include "pippin/models/model_source.h"

namespace pippin::models {
namespace {

namespace fs = std::filesystem;
namespace encoder_decoder = families::encoder_decoder;

using Heads = std::vector<std::pair<int64_t, int64_t>>;

int64_t heads_of(const EncoderDecoderDescription& model) {
  return model.layers.front().across.attention().num_heads;
}

// All heads of the later half of the layers, which OpenAI's code uses for models of which it has no
// list.
Heads usual_alignment_heads(const EncoderDecoderDescription& model) {
  Heads heads;
  const auto layers = std::ssize(model.layers);
  for (int64_t layer = layers / 2; layer < layers; ++layer) {
    for (int64_t head = 0; head < heads_of(model); ++head) heads.emplace_back(layer, head);
  }
  return heads;
}

// alignment_heads of generation_config.json: pairs of a layer and a head.
Heads read_alignment_heads(const Json& list, const EncoderDecoderDescription& model) {
  Heads heads;
  for (const Json& pair : list.elements()) {
    const std::vector<int64_t> numbers = pair.as_ints();
    if (numbers.size() != 2) {
      fail(ErrorCode::InvalidFile, "{}: {} numbers in place of a layer and a head", pair.where(),
           numbers.size());
    }
    const int64_t layer = numbers[0], head = numbers[1];
    if (layer < 0 || layer >= std::ssize(model.layers) || head < 0 || head >= heads_of(model)) {
      // Distilled models keep the list of the model that they were made from.
      log_warn(
          "generation_config.json: alignment_heads: the decoder of {} layers of {} heads has no "
          "head {} in layer {}; all heads of the later half of its layers are used",
          model.layers.size(), heads_of(model), head, layer);
      return usual_alignment_heads(model);
    }
    heads.emplace_back(layer, head);
  }
  if (heads.empty()) return usual_alignment_heads(model);
  std::sort(heads.begin(), heads.end());
  heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
  return heads;
}

// The tokens of generation_config.json count before those of config.json.
void read_generation(const fs::path& source, EncoderDecoderDescription& model) {
  const bool aligns = model.has_fixed_source();
  if (aligns) model.alignment_heads = usual_alignment_heads(model);
  const fs::path path = text_folder(source) / "generation_config.json";
  if (fs::exists(path)) {
    const Json given = Json::load(path, kPythonJson);
    model.start = given.get_int_or("decoder_start_token_id", model.start);
    if (const auto first = given.find_int("forced_bos_token_id")) model.first = first;
    const auto heads = given.find("alignment_heads");
    if (heads && aligns) model.alignment_heads = read_alignment_heads(*heads, model);
  }
  const auto check = [&](const char* key, int64_t token) {
    if (token >= 0 && token < model.vocab_size) return;
    fail(ErrorCode::InvalidFile, "{}: {} is not one of {} tokens", key, token, model.vocab_size);
  };
  check("decoder_start_token_id", model.start);
  if (model.first) check("forced_bos_token_id", *model.first);
}

}  // namespace

EncoderDecoderDescription describe_encoder_decoder(const fs::path& source, const Config& config) {
  EncoderDecoderDescription described = describe_encoder_decoder(config);
  read_generation(source, described);
  return described;
}

mil::Model build_encoder_decoder(const fs::path& source,
                                 const EncoderDecoderBuildOptions& options) {
  const Json json = load_config(source);
  const Config config(json);
  const EncoderDecoderDescription described = describe_encoder_decoder(source, config);
  const int64_t most = described.context;
  const int64_t context =
      options.context == 0 ? std::min(described.usual_context, most) : options.context;
  if (context < 2 || context > most) {
    fail(ErrorCode::InvalidArgument, "a context of {} tokens: 2 to {} are possible", context, most);
  }
  BuildOptions build;
  build.compute = options.compute;
  EncoderDecoderRecorder recorder(
      described, open_parameters(source, precision(build), {.doubled_norms = build.doubled_norms}),
      context);
  config.refuse_unread();
  mil::Model model = recorder.record(options.attend);
  recorder.check_all_used();
  if (options.packed != nullptr) *options.packed = recorder.packed_matrices();
  auto& values = model.metadata.user_defined;
  const std::string given = name_in_package(source);
  const std::string name = given.empty() ? model_name(source, json) : given;
  const auto classes = json.find("architectures");
  model.metadata.short_description =
      fmt::format("{} ({})", name, json.get_string_or("model_type", ""));
  values[families::kMadeFromKey] = name;
  if (classes && classes->size() > 0) {
    values[families::kArchitectureKey] = std::string(classes->at(size_t{0}).as_string());
  }
  values[families::kVersionKey] = PIPPIN_VERSION;
  values[families::kFamilyKey] = encoder_decoder::kName;
  values[encoder_decoder::kStartKey] = std::to_string(described.start);
  if (described.first) values[encoder_decoder::kFirstKey] = std::to_string(*described.first);
  return model;
}

std::vector<mil::ExtraFile> encoder_decoder_files(const fs::path& source) {
  std::vector<mil::ExtraFile> files = package_files(source);
  const fs::path folder = text_folder(source);
  if (folder.empty()) return files;
  for (const fs::path& path : files_of_role(folder, FileRole::Processor)) {
    files.push_back({std::string(mil::kTokenizerItem), path.filename().string(), read_file(path)});
  }
  return files;
}

}  // namespace pippin::models
