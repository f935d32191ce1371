#include "pippin/models/encoders/encoder_model.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/families/encoder.h"
#include "pippin/families/package.h"
#include "pippin/io/model_files.h"
#include "pippin/models/architectures.h"
#include "pippin/models/causal_lm.h"
#include "pippin/models/config/common.h"
#include "pippin/models/encoders.h"
#include "pippin/models/encoders/encoder_decoder_description.h"
#include "pippin/models/encoders/encoder_recorder.h"
#include "pippin/models/encoders/sentence_transformer.h"
#include "pippin/models/encoders/static_embedding.h"
#include "pippin/models/family/package_part.h"
#include "pippin/models/gguf/gguf.h"
#include "pippin/models/model_source.h"

namespace pippin::models {
namespace {

namespace fs = std::filesystem;
namespace family = families::encoder;
using array::Array;

constexpr std::string_view kClassifier = "ForSequenceClassification",
                           kTokenClassifier = "ForTokenClassification", kMasked = "ForMaskedLM",
                           kPreTraining = "ForPreTraining";
constexpr int64_t kDefaultContext = 8192;

std::string class_name(const Json& config) {
  const auto names = config.find("architectures");
  return names && names->size() > 0 ? std::string(names->at(size_t{0}).as_string()) : "";
}

// The size of id2label, or num_labels, or the default of Hugging Face's classes.
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
  const Array mask = recorder.input(family::kMask, "1 for tokens, 0 for padding");
  nn::EncoderInput input{ids, mask, std::nullopt, std::nullopt};
  if (encoder.several_token_types) {
    input.token_types =
        recorder.input(family::kTokenTypes, "Types of the tokens: 1 for a second text");
  }
  if (!encoder.task_types.empty()) {
    input.task_types = recorder.input(family::kTaskTypes, "Types of the task, of each token");
  }
  return input;
}

// The activation of a single score.
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
  if (is_static_embedding(source)) return TextTask::Embed;
  if (fs::is_directory(source) && is_sentence_transformer(source)) {
    return read_sentence_transformer(source, false).scores() ? TextTask::Score : TextTask::Embed;
  }
  const Json config = load_config(source);
  const std::string name = class_name(config);
  if (name.ends_with(kClassifier)) return TextTask::Score;
  if (name.ends_with(kTokenClassifier)) return TextTask::Embed;
  const std::string type = config.get_string_or("model_type", "");
  if (type == "gemma3_text" && config.get_bool_or("use_bidirectional_attention", false)) {
    return TextTask::Embed;
  }
  const bool rewrites = name.ends_with("ForConditionalGeneration") || name == "MarianMTModel";
  if (rewrites && is_encoder_decoder_type(type)) return TextTask::EncodeDecode;
  if (is_encoder_type(type)) return TextTask::Embed;
  return config.get_bool_or("is_causal", true) ? TextTask::Generate : TextTask::Embed;
}

bool only_encodes(const fs::path& source) {
  const TextTask task = text_task(source);
  if (task != TextTask::Embed && task != TextTask::Score) return false;
  if (is_static_embedding(source)) return true;
  const bool modules = fs::is_directory(source) && is_sentence_transformer(source);
  const Json config =
      load_config(modules ? read_sentence_transformer(source, false).transformer : source);
  return is_encoder_type(config.get_string_or("model_type", "")) ||
         !config.get_bool_or("is_causal", true);
}

namespace {

using Kind = SentenceTransformer::Kind;

// The folder's modules: from modules.json, or by config.json's class.
SentenceTransformer modules_of(const fs::path& source, bool causal) {
  if (text_task(source) == TextTask::Score && !is_sentence_transformer(source)) {
    SentenceTransformer modules;
    modules.kind = Kind::Classifier;
    modules.transformer = source;
    if (fs::is_directory(source)) modules.max_tokens = read_max_tokens(source);
    return modules;
  }
  return read_sentence_transformer(source, causal);
}

// Records an encoder's program once it is described and its parameters are open.
class EncoderProgram {
 public:
  EncoderProgram(const fs::path& source, const EncoderBuildOptions& options);
  mil::Model record();

 private:
  Array pooled(const Array& states, const nn::EncoderInput& input, const Array& mask,
               const nn::Parameters& parameters);
  std::optional<nn::ClassifierOptions> token_head() const;
  void record_vectors(const nn::Encoder& encoder, const nn::Parameters& parameters,
                      const Array& states, const Array& mask, EncoderRecorder& recorder) const;
  void record_heads(const nn::Encoder& encoder, const nn::Parameters& parameters,
                    const Array& states, const Array& mask, EncoderRecorder& recorder) const;

  const fs::path& source_;
  const EncoderBuildOptions& options_;
  SentenceTransformer modules_;
  Json json_;
  Config config_;
  EncoderDescription described_;
  nn::Precision precision_;
};

EncoderProgram::EncoderProgram(const fs::path& source, const EncoderBuildOptions& options)
    : source_(source),
      options_(options),
      modules_(modules_of(source, false)),
      json_(load_config(modules_.transformer)),
      config_(json_),
      described_(describe_encoder(config_)) {
  // If the folder does not name a pooling, it depends on the encoder's masks.
  modules_ = modules_of(source, described_.encoder.causal);
  BuildOptions build;
  build.compute = options.compute;
  precision_ = precision(build);
}

// The state of a text's end token, projected where the checkpoint has a matrix for it.
Array end_state(const EncoderDescription::EndPooling& end, const Array& states,
                const nn::EncoderInput& input, const nn::Parameters& parameters) {
  Array state = end.last
                    ? nn::pool({nn::Pooling::Last}, states, input.mask)
                    : nn::pool({nn::Pooling::Mean}, states, nn::end_marks(input.ids, end.token));
  const nn::Parameters projection = parameters.at(end.projection);
  if (!end.unit_length && !projection.contains("weight")) return state;
  const nn::Linear linear(projection, states.dim(2).constant(), end.size, end.bias);
  state = as_float(linear(array::cast(state, parameters.type())));
  return end.unit_length ? nn::to_length_one(state) : state;
}

Array EncoderProgram::pooled(const Array& states, const nn::EncoderInput& input, const Array& mask,
                             const nn::Parameters& parameters) {
  if (described_.end_pooling && !is_sentence_transformer(source_)) {
    return end_state(*described_.end_pooling, as_float(states), input, parameters);
  }
  return apply_modules(modules_, nn::pool(modules_.pooling, as_float(states), mask), precision_);
}

// The head that the folder's class has for each token.
std::optional<nn::ClassifierOptions> EncoderProgram::token_head() const {
  const std::string name = class_name(json_);
  if (name.ends_with(kTokenClassifier)) {
    nn::ClassifierOptions head = described_.token_classifier;
    head.labels = num_labels(config_);
    return head;
  }
  if (name.ends_with(kMasked)) return described_.language_head;
  return name.ends_with(kPreTraining) ? described_.discriminator : std::nullopt;
}

// The outputs that the class of a folder without modules.json has besides the states.
void EncoderProgram::record_heads(const nn::Encoder& encoder, const nn::Parameters& parameters,
                                  const Array& states, const Array& mask,
                                  EncoderRecorder& recorder) const {
  if (const auto head = token_head()) {
    const Array logits = as_float(nn::Classifier(parameters, encoder, *head)(states, mask));
    const bool is_one =
        described_.discriminator && head->labels == 1 && class_name(json_).ends_with(kPreTraining);
    recorder.output(family::kLogits, "Scores of the tokens",
                    is_one ? array::squeeze(logits, {2}) : logits);
  } else if (described_.pooler && encoder.root().at(described_.pooler->dense).contains("weight")) {
    const nn::Classifier pooler(parameters, encoder, *described_.pooler);
    recorder.output(family::kPooler, "The first state after a layer",
                    as_float(pooler(states, mask)));
  }
}

// The row of the head's matrix for each of the two tokens, times the last token's state.
Array language_scores(const nn::DecoderOptions& decoder, const nn::Encoder& encoder,
                      const nn::Parameters& parameters, const LogitScore& score,
                      const Array& state) {
  std::vector<int64_t> rows = {score.yes};
  if (score.no) rows.push_back(*score.no);
  for (const int64_t row : rows) {
    if (row < decoder.vocab_size) continue;
    fail(ErrorCode::InvalidFile, "LogitScore: token {} is not in the vocabulary of {}", row,
         decoder.vocab_size);
  }
  std::string path = decoder.head;
  for (const nn::DecoderOptions::Root& root : decoder.roots) {
    if (encoder.root().path() == root.base) path = root.head;
  }
  const nn::Parameters own = parameters.at(path);
  const bool tied = decoder.tied || (decoder.tied_without_head && !own.contains("weight"));
  const nn::Parameters head = tied ? encoder.root().at(decoder.embedding) : own;
  const auto count = static_cast<int64_t>(rows.size());
  const nn::WeightLayout layout{
      .stored_rows = tied ? decoder.table_rows() : decoder.head_rows_of(own),
      .rows = rows,
      .part = "score"};
  Array logits = array::linear(state, head.get("weight", {count, decoder.hidden_size}, layout));
  if (decoder.head_bias) logits = logits + own.get("bias", {count}, layout);
  logits = as_float(logits) * decoder.logit_scale;
  if (decoder.logit_softcap) {
    logits = array::tanh(logits * (1 / *decoder.logit_softcap)) * *decoder.logit_softcap;
  }
  const Array yes = array::slice_axis(logits, 1, 0, 1);
  return score.no ? yes - array::slice_axis(logits, 1, 1, 2) : yes;
}

// Sparse vectors, or those of tokens.
void EncoderProgram::record_vectors(const nn::Encoder& encoder, const nn::Parameters& parameters,
                                    const Array& states, const Array& mask,
                                    EncoderRecorder& recorder) const {
  if (modules_.kind == Kind::Tokens) {
    recorder.output(family::kTokenEmbeddings, "Vectors of the tokens",
                    apply_modules(modules_, as_float(states), precision_));
    return;
  }
  if (!described_.language_head) {
    config_.unsupported("model_type", "SpladePooling of a model without a head for masked tokens");
  }
  const nn::Classifier head(parameters, encoder, *described_.language_head);
  recorder.output(family::kEmbedding, "Sparse embeddings of the texts",
                  nn::splade_pool(modules_.splade, as_float(head(states, mask)), mask));
}

mil::Model EncoderProgram::record() {
  const int64_t context = choose_length(described_.encoder, modules_.max_tokens, options_.context);
  const bool classifies = modules_.kind == Kind::Classifier;
  if (classifies && described_.classifier.output.empty()) {
    config_.unsupported("architectures", "the class's scores are not supported");
  }
  const int64_t labels = classifies ? num_labels(config_) : 1;
  std::optional<nn::DecoderOptions> decoder;
  if (modules_.kind == Kind::Logits) {
    decoder = describe_architecture(config_, "");
    use_gguf_scores(config_, *decoder);
  }
  config_.refuse_unread();
  const nn::Parameters parameters =
      open_parameters(modules_.transformer, precision_).unpacking(described_.encoder.packed);
  const nn::Encoder encoder(parameters, described_.encoder, context);
  EncoderRecorder recorder(context, options_);
  const nn::EncoderInput input = record_inputs(recorder, described_.encoder);
  const bool pools = modules_.kind == Kind::Embedding || modules_.kind == Kind::Scores;
  std::optional<Array> pooled_tokens;
  if (pools && !modules_.pool_prompts) {
    pooled_tokens = recorder.input(family::kPoolingMask, "1 for tokens that are pooled");
  }
  const Array states = encoder(input);
  std::optional<Array> scores;
  if (modules_.kind == Kind::Classifier) {
    described_.classifier.labels = labels;
    const nn::Classifier classifier(parameters, encoder, described_.classifier);
    scores = as_float(classifier(states, input.mask));
  } else if (modules_.kind == Kind::Logits) {
    const Array last = nn::pool({nn::Pooling::Last}, as_float(states), input.mask);
    const array::Scope scope("logit_score");
    scores = language_scores(*decoder, encoder, parameters, modules_.logits,
                             array::cast(last, precision_.compute));
  } else if (modules_.kind == Kind::Sparse || modules_.kind == Kind::Tokens) {
    record_vectors(encoder, parameters, states, input.mask, recorder);
  } else {
    const Array x = pooled(states, input, pooled_tokens.value_or(input.mask), parameters);
    if (modules_.kind == Kind::Scores) {
      scores = x;
    } else {
      recorder.output(family::kStates, "States of the tokens", states);
      recorder.output(family::kEmbedding, "Embeddings of the texts", x);
      if (!is_sentence_transformer(source_)) {
        record_heads(encoder, parameters, states, input.mask, recorder);
      }
    }
  }
  if (scores) recorder.output(family::kLogits, "Scores of the labels", *scores);
  encoder.check_all_used();
  if (options_.packed != nullptr) *options_.packed = parameters.packed_matrices();
  mil::Model model = recorder.finish();
  add_metadata(model, source_, json_);
  auto& values = model.metadata.user_defined;
  values[family::kMaxTokensKey] =
      std::to_string(std::min(context, modules_.max_tokens.value_or(context)));
  values[family::kVocabularyKey] = std::to_string(described_.encoder.vocab_size);
  if (described_.encoder.several_token_types) {
    values[family::kTypesKey] = std::to_string(described_.encoder.num_token_types);
  }
  if (modules_.kind == Kind::Sparse) {
    values[family::kEmbeddingKey] = family::kSparse;
    if (modules_.active) values[family::kActiveKey] = std::to_string(*modules_.active);
  }
  if (modules_.kind == Kind::Tokens) {
    values[family::kEmbeddingKey] = family::kOfTokens;
    values[family::kLateKey] = modules_.late->json();
  }
  if (described_.sees_padding) values[family::kPaddingKey] = family::kSeen;
  if (described_.fills_texts) values[family::kPaddingKey] = family::kFilled;
  if (described_.lowers_case) values[family::kCaseKey] = family::kLower;
  const bool is_language_model =
      modules_.kind == Kind::Embedding && text_task(source_) == TextTask::Generate;
  if (is_language_model) values[family::kStatesOfKey] = family::kLanguageModel;
  if (scores) {
    const int64_t count = scores->dim(1).constant();
    values[family::kScoreKey] = score_activation(source_, json_, count);
  }
  return model;
}

}  // namespace

mil::Model build_encoder(const fs::path& source, const EncoderBuildOptions& options) {
  if (is_static_embedding(source)) return build_static_embedding(source, options);
  return EncoderProgram(source, options).record();
}

fs::path encoder_text_folder(const fs::path& source) {
  fs::path folder = text_folder(source);
  if (folder.empty() || mil::is_package(source) || !is_sentence_transformer(source)) return folder;
  const fs::path inner = read_sentence_transformer(source, false).transformer;
  const bool has_own = !files_of_role(folder, FileRole::Tokenizer).empty();
  return has_own || files_of_role(inner, FileRole::Tokenizer).empty() ? folder : inner;
}

std::vector<mil::ExtraFile> encoder_files(const fs::path& source) {
  const fs::path tokens = encoder_text_folder(source), folder = text_folder(source);
  std::vector<mil::ExtraFile> files = package_files(tokens.empty() ? source : tokens);
  if (folder.empty()) return files;
  for (const fs::path& path : files_of_role(folder, FileRole::SentenceTexts)) {
    files.push_back({std::string(mil::kTokenizerItem),
                     path.lexically_relative(folder).generic_string(), read_file(path)});
  }
  return files;
}

}  // namespace pippin::models
