// The kinds of Core ML models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pippin::mil {

// The values are the numbers of the kinds' fields in the format's Model message.
enum class ModelKind : int32_t {
  PipelineClassifier = 200,
  PipelineRegressor = 201,
  Pipeline = 202,
  GlmRegressor = 300,
  SupportVectorRegressor = 301,
  TreeEnsembleRegressor = 302,
  NeuralNetworkRegressor = 303,
  BayesianProbitRegressor = 304,
  GlmClassifier = 400,
  SupportVectorClassifier = 401,
  TreeEnsembleClassifier = 402,
  NeuralNetworkClassifier = 403,
  NearestNeighborsClassifier = 404,
  NeuralNetwork = 500,
  ItemSimilarityRecommender = 501,
  MlProgram = 502,
  CustomModel = 555,
  LinkedModel = 556,
  ClassConfidenceThresholding = 560,
  OneHotEncoder = 600,
  Imputer = 601,
  FeatureVectorizer = 602,
  DictVectorizer = 603,
  Scaler = 604,
  CategoricalMapping = 606,
  Normalizer = 607,
  ArrayFeatureExtractor = 609,
  NonMaximumSuppression = 610,
  Identity = 900,
  TextClassifier = 2000,
  WordTagger = 2001,
  VisionFeaturePrint = 2002,
  SoundAnalysisPreprocessing = 2003,
  Gazetteer = 2004,
  WordEmbedding = 2005,
  AudioFeaturePrint = 2006,
  SerializedModel = 3000,
};

// "ML Program", "pipeline", ...
std::string_view to_string(ModelKind kind);

bool is_pipeline_kind(ModelKind kind);
// The kind of a field in Model; nullopt for a field that is not a kind.
std::optional<ModelKind> model_kind(int64_t field);
// The kind with the format's name ("neuralNetworkClassifier"); nullopt for other names.
std::optional<ModelKind> model_kind(std::string_view name);
int64_t model_kind_field(ModelKind kind);
bool is_model_kind(int64_t field);
// "neuralNetworkClassifier" for the field of Model's oneof, or "kind 123".
std::string model_kind_name(int64_t field);

}  // namespace pippin::mil
