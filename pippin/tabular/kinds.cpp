// The table of kinds, and helpers for their readers.
#include <algorithm>

#include <google/protobuf/io/coded_stream.h>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/tabular/readers.h"

namespace pippin::tabular {
namespace {

using Reader = StagePtr (*)(ByteSpan content, const Interface& interface);

template <typename Message, StagePtr (*kRead)(const Message&, const Interface&)>
StagePtr read_as(ByteSpan content, const Interface& interface) {
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(content.data()),
                                               static_cast<int>(content.size()));
  Message message;
  if (!message.ParseFromCodedStream(&input) || !input.ConsumedEntireMessage()) {
    fail(ErrorCode::InvalidFile, "the protobuf message is cut off or damaged");
  }
  return kRead(message, interface);
}

struct Kind {
  int64_t field;  // in Core ML's Model
  Reader read;
};

constexpr Kind kKinds[] = {
    {300, read_as<proto::LinearModel, read_linear_regressor>},
    {301, read_as<proto::VectorRegressor, read_vector_regressor>},
    {302, read_as<proto::TreeModel, read_tree_regressor>},
    {304, read_as<proto::BayesianProbitRegressor, read_bayesian_probit>},
    {400, read_as<proto::LinearModel, read_linear_classifier>},
    {401, read_as<proto::VectorClassifier, read_vector_classifier>},
    {402, read_as<proto::TreeModel, read_tree_classifier>},
    {404, read_as<proto::NeighborsClassifier, read_neighbors>},
    {501, read_as<proto::Recommender, read_recommender>},
    {555, read_as<proto::CustomModel, read_custom_model>},
    {556, read_as<proto::LinkedModel, read_linked_model>},
    {560, read_as<proto::Thresholding, read_thresholding>},
    {600, read_as<proto::OneHotEncoder, read_one_hot_encoder>},
    {601, read_as<proto::Imputer, read_imputer>},
    {602, read_as<proto::FeatureVectorizer, read_feature_vectorizer>},
    {603, read_as<proto::DictVectorizer, read_dict_vectorizer>},
    {604, read_as<proto::Scaler, read_scaler>},
    {606, read_as<proto::CategoricalMapping, read_categorical_mapping>},
    {607, read_as<proto::Normalizer, read_normalizer>},
    {609, read_as<proto::ArrayFeatureExtractor, read_array_extractor>},
    {900, read_as<proto::Empty, read_identity>},
    {2000, read_as<proto::TextModel, read_text_classifier>},
    {2001, read_as<proto::TextModel, read_word_tagger>},
    {2002, read_as<proto::VisionFeaturePrint, read_vision_print>},
    {2003, read_as<proto::Empty, read_sound_preprocessing>},
    {2004, read_as<proto::TextModel, read_gazetteer>},
    {2005, read_as<proto::TextModel, read_word_embedding>},
    {2006, read_as<proto::AudioFeaturePrint, read_audio_print>},
    {3000, read_as<proto::SerializedModel, read_serialized_model>},
};

const Kind* find_kind(int64_t field) {
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const Kind& kind) { return kind.field == field; });
  return found == std::end(kKinds) ? nullptr : found;
}

}  // namespace

bool is_tabular_kind(int64_t field) {
  return find_kind(field) != nullptr;
}

StagePtr read_stage(int64_t field, ByteSpan content, const Interface& interface) {
  const Kind* kind = find_kind(field);
  if (kind == nullptr) fail(ErrorCode::InvalidArgument, "{} is not a tabular kind", field);
  return kind->read(content, interface);
}

std::string read_text(const std::string& bytes, std::string_view what) {
  if (!is_valid_utf8(bytes)) fail(ErrorCode::InvalidFile, "{} is not UTF-8", what);
  return bytes;
}

Labels read_labels(const proto::Texts* texts, const proto::Ints* numbers) {
  if (numbers != nullptr) {
    return std::vector<int64_t>(numbers->values().begin(), numbers->values().end());
  }
  std::vector<std::string> labels;
  if (texts == nullptr) return labels;
  labels.reserve(static_cast<size_t>(texts->values_size()));
  for (const std::string& text : texts->values()) labels.push_back(read_text(text, "a label"));
  return labels;
}

}  // namespace pippin::tabular
