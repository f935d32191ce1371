#include "pippin/mil/model_kind.h"

#include <algorithm>

#include <fmt/format.h>

namespace pippin::mil {
namespace {

struct KindName {
  ModelKind kind;
  std::string_view name;   // in the format
  std::string_view title;  // for people
};
constexpr KindName kKinds[] = {
    {ModelKind::PipelineClassifier, "pipelineClassifier", "pipeline classifier"},
    {ModelKind::PipelineRegressor, "pipelineRegressor", "pipeline regressor"},
    {ModelKind::Pipeline, "pipeline", "pipeline"},
    {ModelKind::GlmRegressor, "glmRegressor", "GLM regressor"},
    {ModelKind::SupportVectorRegressor, "supportVectorRegressor", "support vector regressor"},
    {ModelKind::TreeEnsembleRegressor, "treeEnsembleRegressor", "tree ensemble regressor"},
    {ModelKind::NeuralNetworkRegressor, "neuralNetworkRegressor", "neural network regressor"},
    {ModelKind::BayesianProbitRegressor, "bayesianProbitRegressor", "Bayesian probit regressor"},
    {ModelKind::GlmClassifier, "glmClassifier", "GLM classifier"},
    {ModelKind::SupportVectorClassifier, "supportVectorClassifier", "support vector classifier"},
    {ModelKind::TreeEnsembleClassifier, "treeEnsembleClassifier", "tree ensemble classifier"},
    {ModelKind::NeuralNetworkClassifier, "neuralNetworkClassifier", "neural network classifier"},
    {ModelKind::NearestNeighborsClassifier, "kNearestNeighborsClassifier",
     "nearest neighbors classifier"},
    {ModelKind::NeuralNetwork, "neuralNetwork", "neural network"},
    {ModelKind::ItemSimilarityRecommender, "itemSimilarityRecommender",
     "item similarity recommender"},
    {ModelKind::MlProgram, "mlProgram", "ML Program"},
    {ModelKind::CustomModel, "customModel", "custom model"},
    {ModelKind::LinkedModel, "linkedModel", "linked model"},
    {ModelKind::ClassConfidenceThresholding, "classConfidenceThresholding",
     "class confidence thresholding"},
    {ModelKind::OneHotEncoder, "oneHotEncoder", "one-hot encoder"},
    {ModelKind::Imputer, "imputer", "imputer"},
    {ModelKind::FeatureVectorizer, "featureVectorizer", "feature vectorizer"},
    {ModelKind::DictVectorizer, "dictVectorizer", "dictionary vectorizer"},
    {ModelKind::Scaler, "scaler", "scaler"},
    {ModelKind::CategoricalMapping, "categoricalMapping", "categorical mapping"},
    {ModelKind::Normalizer, "normalizer", "normalizer"},
    {ModelKind::ArrayFeatureExtractor, "arrayFeatureExtractor", "array feature extractor"},
    {ModelKind::NonMaximumSuppression, "nonMaximumSuppression", "non-maximum suppression"},
    {ModelKind::Identity, "identity", "identity"},
    {ModelKind::TextClassifier, "textClassifier", "text classifier"},
    {ModelKind::WordTagger, "wordTagger", "word tagger"},
    {ModelKind::VisionFeaturePrint, "visionFeaturePrint", "vision feature print"},
    {ModelKind::SoundAnalysisPreprocessing, "soundAnalysisPreprocessing",
     "sound analysis preprocessing"},
    {ModelKind::Gazetteer, "gazetteer", "gazetteer"},
    {ModelKind::WordEmbedding, "wordEmbedding", "word embedding"},
    {ModelKind::AudioFeaturePrint, "audioFeaturePrint", "audio feature print"},
    {ModelKind::SerializedModel, "serializedModel", "serialized model"},
};

const KindName* find_kind(int64_t field) {
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const KindName& kind) {
    return model_kind_field(kind.kind) == field;
  });
  return found == std::end(kKinds) ? nullptr : found;
}

}  // namespace

int64_t model_kind_field(ModelKind kind) {
  return static_cast<int64_t>(kind);
}

std::string_view to_string(ModelKind kind) {
  const KindName* found = find_kind(model_kind_field(kind));
  return found == nullptr ? "model" : found->title;
}

bool is_pipeline_kind(ModelKind kind) {
  return kind == ModelKind::Pipeline || kind == ModelKind::PipelineClassifier ||
         kind == ModelKind::PipelineRegressor;
}

std::optional<ModelKind> model_kind(int64_t field) {
  const KindName* found = find_kind(field);
  if (found == nullptr) return std::nullopt;
  return found->kind;
}

std::optional<ModelKind> model_kind(std::string_view name) {
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const KindName& kind) { return kind.name == name; });
  if (found == std::end(kKinds)) return std::nullopt;
  return found->kind;
}

bool is_model_kind(int64_t field) {
  return find_kind(field) != nullptr;
}

std::string model_kind_name(int64_t field) {
  const KindName* found = find_kind(field);
  return found == nullptr ? fmt::format("kind {}", field) : std::string(found->name);
}

}  // namespace pippin::mil
