#include "pippin/models/encoders/static_embedding.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/families/encoder.h"
#include "pippin/families/package.h"
#include "pippin/io/checkpoint.h"
#include "pippin/models/causal_lm.h"
#include "pippin/models/encoders/encoder_recorder.h"
#include "pippin/models/encoders/sentence_transformer.h"
#include "pippin/models/registry.h"
#include "pippin/nn/attention/pooling.h"
#include "pippin/nn/weights/packed_weights.h"

namespace pippin::models {
namespace {

namespace fs = std::filesystem;
namespace family = families::encoder;
using array::Array;

constexpr int64_t kMostTokens = 1 << 15;     // of a text; the class has no limit
constexpr int64_t kModel2VecTokens = 512;    // its encode() cuts there
constexpr const char* kMapping = "mapping";  // of model2vec's quantized vocabularies: token to row
constexpr const char* kWeights = "weights";  // of model2vec: the weight of each token's row

// The table has sentence-transformers' name or model2vec's.
const TensorInfo& table_of(const Checkpoint& checkpoint) {
  for (const char* name : {"embedding.weight", "embeddings"}) {
    const TensorInfo* tensor = checkpoint.find(name);
    if (tensor == nullptr) continue;
    if (tensor->shape.size() == 2) return *tensor;
    fail(ErrorCode::InvalidFile, "{}: tensor '{}' has shape [{}], not (tokens, features)",
         checkpoint.path().string(), name, fmt::join(tensor->shape, ", "));
  }
  fail(ErrorCode::NotFound, "{}: neither a tensor 'embedding.weight' nor 'embeddings'",
       checkpoint.path().string());
}

// The row of each token.
std::vector<int64_t> mapping_of(const std::shared_ptr<const Checkpoint>& checkpoint, int64_t rows) {
  const TensorInfo& tensor = checkpoint->at(kMapping);
  const nn::PackedPart part(checkpoint, kMapping, {tensor.num_elements()},
                            {Dtype::I32, Dtype::I64, Dtype::U32});
  std::vector<int64_t> mapping;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const int64_t row = part.integer(i);
    if (row < 0 || row >= rows) {
      fail(ErrorCode::InvalidFile, "{}: mapping[{}] is {}, the table has {} rows",
           checkpoint->path().string(), i, row, rows);
    }
    mapping.push_back(row);
  }
  return mapping;
}

std::string name_of(const fs::path& source) {
  const fs::path config = source / "config.json";
  return model_name(source, fs::exists(config) ? Json::load(config, kPythonJson)
                                               : Json::parse("{}", "config.json"));
}

}  // namespace

mil::Model build_static_embedding(const fs::path& source, const EncoderBuildOptions& options) {
  const SentenceTransformer modules = read_sentence_transformer(source, false);
  const bool is_model2vec = !is_sentence_transformer(source);
  const int64_t most = is_model2vec ? kModel2VecTokens : modules.max_tokens.value_or(kMostTokens);
  if (options.context > kMostTokens || options.context < 0) {
    fail(ErrorCode::InvalidArgument, "texts of {} tokens: up to {} are possible", options.context,
         kMostTokens);
  }
  const int64_t context = options.context > 0 ? options.context : std::min(most, kMostTokens);
  BuildOptions build;
  build.compute = options.compute;
  const nn::Precision precise = precision(build);
  const auto checkpoint = std::make_shared<const Checkpoint>(Checkpoint::open(modules.transformer));
  const TensorInfo& table = table_of(*checkpoint);
  const nn::Parameters parameters(checkpoint, precise);

  EncoderRecorder recorder(context, options);
  Array ids = recorder.input(family::kIds, "Token ids of the texts");
  const Array mask = recorder.input(family::kMask, "1 for tokens, 0 for padding");
  int64_t vocabulary = table.shape[0];
  Array rows = ids;
  if (checkpoint->contains(kMapping)) {
    const std::vector<int64_t> mapping = mapping_of(checkpoint, table.shape[0]);
    vocabulary = static_cast<int64_t>(mapping.size());
    rows = array::gather(array::constant(mapping), ids);
  }
  Array states = as_float(array::gather(parameters.get(table.name, table.shape), rows));
  if (checkpoint->contains(kWeights)) {
    const Array weights = parameters.get(kWeights, {vocabulary});
    states = states * array::expand_dims(as_float(array::gather(weights, ids)), {2});
  }
  const Array x = apply_modules(modules, nn::pool({nn::Pooling::Mean}, states, mask), precise);
  recorder.output(family::kEmbedding, "Embeddings of the texts", x);
  mil::Model model = recorder.finish();
  const std::string name = name_of(source);
  model.metadata.short_description = fmt::format("{} (static embeddings)", name);
  auto& values = model.metadata.user_defined;
  values[families::kMadeFromKey] = name;
  values[families::kArchitectureKey] = "StaticEmbedding";
  values[families::kVersionKey] = PIPPIN_VERSION;
  values[families::kFamilyKey] = family::kName;
  values[family::kMaxTokensKey] = std::to_string(std::min(context, most));
  values[family::kVocabularyKey] = std::to_string(vocabulary);
  values[family::kTokensKey] = is_model2vec ? family::kKnown : family::kPlain;
  return model;
}

}  // namespace pippin::models
