#include "pippin/models/encoder_model.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/base/file.h"
#include "pippin/families/encoder.h"
#include "pippin/families/package.h"
#include "pippin/io/model_files.h"
#include "pippin/models/causal_lm.h"
#include "pippin/models/common.h"
#include "pippin/models/encoders.h"
#include "pippin/models/model_source.h"
#include "pippin/models/package_part.h"
#include "pippin/models/sentence_modules.h"

namespace pippin::models {
namespace {

namespace fs = std::filesystem;
namespace family = families::encoder;
using array::Array;

constexpr std::string_view kClassifier = "ForSequenceClassification";
constexpr int64_t kDefaultContext = 8192;

std::string class_name(const Json& config) {
  const auto names = config.find("architectures");
  return names && names->size() > 0 ? std::string(names->at(size_t{0}).as_string()) : "";
}

// Of id2label, or num_labels, or as many as Hugging Face's classes have.
int64_t num_labels(const Config& config) {
  const auto labels = config.find("id2label");
  if (!labels) return config.size("num_labels", 2, 1 << 20);
  if (labels->size() < 1) config.invalid("id2label", "no label");
  return static_cast<int64_t>(labels->size());
}

int64_t choose_length(const nn::EncoderOptions& encoder, std::optional<int64_t> max_tokens,
                      int64_t wanted) {
  const int64_t most = encoder.context;
  if (wanted > most || wanted < 0) {
    fail(ErrorCode::InvalidArgument, "texts of {} tokens: the model was made for {}", wanted, most);
  }
  if (wanted > 0) return wanted;
  return std::min({most, max_tokens.value_or(most), kDefaultContext});
}

// The interface of the function, and what it is recorded with.
class EncoderRecorder {
 public:
  EncoderRecorder(int64_t context, const EncoderBuildOptions& options)
      : builder_(mil::Opset::CoreML8),
        batch_(mil::Dim::symbol("batch", 1, options.max_batch)),
        length_(mil::Dim::symbol("length", 1, context)),
        ranges_{{1, options.max_batch}, {1, context}} {
    description_.name = families::kMain;
  }

  Array input(const char* name, const char* description) {
    mil::Feature feature;
    feature.name = name;
    feature.description = description;
    feature.data_type = mil::DataType::Int32;
    feature.shape = {1, 1};
    feature.ranges = ranges_;
    description_.inputs.push_back(std::move(feature));
    return builder_.input(name, mil::DataType::Int32, {batch_, length_});
  }
  void output(const char* name, const char* description, const Array& value) {
    builder_.output(name, value);
    mil::Feature feature;
    feature.name = name;
    feature.description = description;
    feature.data_type = value.type();
    description_.outputs.push_back(std::move(feature));
  }
  mil::Model finish() {
    mil::Model model;
    model.specification_version = mil::specification_version(builder_.opset());
    model.program.attributes.emplace(families::kBuildInfo, build_info());
    model.program.functions.emplace(families::kMain, builder_.build());
    model.functions.push_back(std::move(description_));
    return model;
  }

 private:
  array::Builder builder_;
  mil::Dim batch_, length_;
  std::vector<mil::SizeRange> ranges_;
  mil::FunctionDescription description_;
};

Array as_float(const Array& x) {
  return array::cast(x, mil::DataType::Float32);
}

Array apply_module(const SentenceModule& module, const Array& x, nn::Precision precision) {
  if (std::holds_alternative<SentenceNormalize>(module)) return nn::to_length_one(x);
  const auto parameters = [&](const fs::path& folder) {
    return nn::Parameters(std::make_shared<const Checkpoint>(Checkpoint::open(folder)), precision);
  };
  const auto check_width = [&](const fs::path& folder, int64_t width) {
    if (x.dim(1) == mil::Dim(width)) return;
    fail(ErrorCode::InvalidFile, "{}: takes {} numbers, the module before gives {}",
         folder.string(), width, x.dim(1).to_string());
  };
  if (const auto* norm = std::get_if<SentenceLayerNorm>(&module)) {
    check_width(norm->folder, norm->features);
    const nn::NormOptions options{
        .kind = nn::NormOptions::Kind::Layer, .epsilon = 1e-5, .bias = true};
    const array::Array y = array::cast(x, precision.compute);
    return as_float(nn::Norm(parameters(norm->folder).at("norm"), norm->features, options)(y));
  }
  const auto& dense = std::get<SentenceDense>(module);
  check_width(dense.folder, dense.in);
  const array::Scope scope(dense.folder.filename().string());
  const nn::Linear linear(parameters(dense.folder).at("linear"), dense.in, dense.out, dense.bias);
  const Array y = linear(array::cast(x, precision.compute));
  return nn::apply(dense.activation, as_float(y));
}

void add_metadata(mil::Model& model, const fs::path& source, const Json& config) {
  auto& values = model.metadata.user_defined;
  const std::string given = name_in_package(source);
  const std::string name = given.empty() ? model_name(source, config) : given;
  model.metadata.short_description =
      fmt::format("{} ({})", name, config.get_string_or("model_type", ""));
  values[families::kMadeFromKey] = name;
  values[families::kArchitectureKey] = class_name(config);
  values[families::kVersionKey] = PIPPIN_VERSION;
  values[families::kFamilyKey] = family::kName;
}

nn::EncoderInput record_inputs(EncoderRecorder& recorder, const nn::EncoderOptions& encoder) {
  const Array ids = recorder.input(family::kIds, "Token ids of the texts");
  const Array mask = recorder.input(family::kMask, "1 for tokens, 0 for what fills up a row");
  nn::EncoderInput input{ids, mask, std::nullopt};
  if (encoder.several_token_types) {
    input.token_types =
        recorder.input(family::kTokenTypes, "Types of the tokens: 1 for a second text");
  }
  return input;
}

// Which activation the score of one label gets.
std::string score_activation(const fs::path& folder, const Json& config, int64_t labels) {
  const auto given = read_score_activation(folder, config);
  std::string activation = given.value_or(labels == 1 ? family::kSigmoid : family::kIdentity);
  if (activation != family::kSigmoid && activation != family::kIdentity) {
    fail(ErrorCode::Unsupported,
         "{}: activation_fn: '{}' is not supported (known: Sigmoid, Identity)", folder.string(),
         activation);
  }
  return activation;
}

}  // namespace

TextTask text_task(const fs::path& source) {
  const Json config = load_config(source);
  if (fs::is_directory(source) && has_sentence_modules(source)) return TextTask::Embed;
  const std::string name = class_name(config);
  if (name.ends_with(kClassifier)) return TextTask::Score;
  const std::string type = config.get_string_or("model_type", "");
  if (type == "gemma3_text" && config.get_bool_or("use_bidirectional_attention", false)) {
    return TextTask::Embed;
  }
  if (!is_encoder_type(type)) return TextTask::Generate;
  return name.ends_with("ForConditionalGeneration") ? TextTask::Rewrite : TextTask::Embed;
}

bool only_encodes(const fs::path& source) {
  const TextTask task = text_task(source);
  return (task == TextTask::Embed || task == TextTask::Score) &&
         is_encoder_type(load_config(source).get_string_or("model_type", ""));
}

mil::Model build_encoder(const fs::path& source, const EncoderBuildOptions& options) {
  // The encoder may lie in a folder of its own, which modules.json names.
  const bool scores = text_task(source) == TextTask::Score;
  const fs::path folder = scores ? source : read_sentence_modules(source, false).transformer;
  const Json json = load_config(folder);
  const Config config(json);
  EncoderDescription described = describe_encoder(config);
  const int64_t labels = scores ? num_labels(config) : 0;
  config.refuse_unread();
  const SentenceModules modules = read_sentence_modules(source, described.encoder.causal);
  const int64_t context = choose_length(described.encoder, modules.max_tokens, options.context);
  if (options.max_batch < 1 || options.max_batch > 1 << 16) {
    fail(ErrorCode::InvalidArgument, "{} texts at once: 1 to 65536 are possible",
         options.max_batch);
  }

  BuildOptions build;
  build.compute = options.compute;
  const nn::Precision precise = precision(build);
  const nn::Parameters parameters =
      open_parameters(folder, precise).unpacking(described.encoder.packed);
  const nn::Encoder encoder(parameters, described.encoder, context);
  EncoderRecorder recorder(context, options);
  const nn::EncoderInput input = record_inputs(recorder, described.encoder);
  std::optional<Array> pooled_tokens;
  if (!scores && !modules.pool_prompts) {
    pooled_tokens = recorder.input(family::kPoolingMask, "1 for tokens that are pooled");
  }
  const Array states = encoder(input);
  std::string activation;
  if (scores) {
    described.classifier.labels = labels;
    activation = score_activation(source, json, labels);
    const nn::Classifier classifier(parameters, encoder, described.classifier);
    recorder.output(family::kLogits, "Scores of the labels",
                    as_float(classifier(states, input.mask)));
  } else {
    recorder.output(family::kStates, "States of the tokens", states);
    Array x = nn::pool(modules.pooling, as_float(states), pooled_tokens.value_or(input.mask));
    for (const SentenceModule& module : modules.modules) x = apply_module(module, x, precise);
    recorder.output(family::kEmbedding, "Embeddings of the texts", x);
  }
  encoder.check_all_used();
  if (options.packed != nullptr) *options.packed = parameters.packed_matrices();
  mil::Model model = recorder.finish();
  add_metadata(model, source, json);
  auto& values = model.metadata.user_defined;
  values[family::kMaxTokensKey] =
      std::to_string(std::min(context, modules.max_tokens.value_or(context)));
  values[family::kVocabularyKey] = std::to_string(described.encoder.vocab_size);
  if (described.encoder.several_token_types) {
    values[family::kTypesKey] = std::to_string(described.encoder.num_token_types);
  }
  if (scores) values[family::kScoreKey] = activation;
  return model;
}

std::vector<mil::ExtraFile> encoder_files(const fs::path& source) {
  std::vector<mil::ExtraFile> files = package_files(source);
  const fs::path folder = text_folder(source);
  if (folder.empty()) return files;
  for (const fs::path& path : files_of_role(folder, FileRole::SentenceTexts)) {
    files.push_back({std::string(mil::kTokenizerItem),
                     path.lexically_relative(folder).generic_string(), read_file(path)});
  }
  return files;
}

}  // namespace pippin::models
