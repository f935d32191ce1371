// Readers of all kinds, each in the file of its kind. Internal to the folder.
#pragma once

#include <memory>

#include "kinds.pb.h"
#include "pippin/tabular/stage.h"

namespace pippin::tabular {

namespace proto = tabular_proto;

using StagePtr = std::unique_ptr<const Stage>;

StagePtr read_linear_regressor(const proto::LinearModel& message, const Interface& interface);
StagePtr read_linear_classifier(const proto::LinearModel& message, const Interface& interface);
StagePtr read_tree_regressor(const proto::TreeModel& message, const Interface& interface);
StagePtr read_tree_classifier(const proto::TreeModel& message, const Interface& interface);
StagePtr read_vector_regressor(const proto::VectorRegressor& message, const Interface& interface);
StagePtr read_vector_classifier(const proto::VectorClassifier& message, const Interface& interface);
StagePtr read_neighbors(const proto::NeighborsClassifier& message, const Interface& interface);

StagePtr read_feature_vectorizer(const proto::FeatureVectorizer& message,
                                 const Interface& interface);
StagePtr read_dict_vectorizer(const proto::DictVectorizer& message, const Interface& interface);
StagePtr read_one_hot_encoder(const proto::OneHotEncoder& message, const Interface& interface);
StagePtr read_imputer(const proto::Imputer& message, const Interface& interface);
StagePtr read_categorical_mapping(const proto::CategoricalMapping& message,
                                  const Interface& interface);
StagePtr read_scaler(const proto::Scaler& message, const Interface& interface);
StagePtr read_normalizer(const proto::Normalizer& message, const Interface& interface);
StagePtr read_array_extractor(const proto::ArrayFeatureExtractor& message,
                              const Interface& interface);
StagePtr read_identity(const proto::Empty& message, const Interface& interface);

StagePtr read_vision_print(const proto::VisionFeaturePrint& message, const Interface& interface);
StagePtr read_audio_print(const proto::AudioFeaturePrint& message, const Interface& interface);
StagePtr read_sound_preprocessing(const proto::Empty& message, const Interface& interface);
StagePtr read_text_classifier(const proto::TextModel& message, const Interface& interface);
StagePtr read_word_tagger(const proto::TextModel& message, const Interface& interface);
StagePtr read_gazetteer(const proto::TextModel& message, const Interface& interface);
StagePtr read_word_embedding(const proto::TextModel& message, const Interface& interface);
StagePtr read_recommender(const proto::Recommender& message, const Interface& interface);
StagePtr read_custom_model(const proto::CustomModel& message, const Interface& interface);
StagePtr read_linked_model(const proto::LinkedModel& message, const Interface& interface);
StagePtr read_serialized_model(const proto::SerializedModel& message, const Interface& interface);
StagePtr read_bayesian_probit(const proto::BayesianProbitRegressor& message,
                              const Interface& interface);
StagePtr read_thresholding(const proto::Thresholding& message, const Interface& interface);

// A text of a message. Throws InvalidFile, naming `what`, if it is not UTF-8.
std::string read_text(const std::string& bytes, std::string_view what);
// Texts or whole numbers; both may be null.
Labels read_labels(const proto::Texts* texts, const proto::Ints* numbers);

}  // namespace pippin::tabular
