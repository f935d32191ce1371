// Kinds that only Apple's systems or an app can compute: their parameters are shown, and run()
// throws the reason.
#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/tabular/readers.h"

namespace pippin::tabular {
namespace {

struct ClosedParts {
  std::string refusal;
  Stage::Parameters parameters;
  std::optional<Labels> labels = std::nullopt;
};

class Closed : public Stage {
 public:
  explicit Closed(ClosedParts parts) : parts_(std::move(parts)) {}

  std::vector<Value> run(std::span<const Value> /*inputs*/) const override {
    fail(ErrorCode::Unsupported, "{}", parts_.refusal);
  }
  std::string refusal() const override { return parts_.refusal; }
  const Labels* labels() const override { return parts_.labels ? &*parts_.labels : nullptr; }
  Parameters parameters() const override { return parts_.parameters; }

 private:
  const ClosedParts parts_;
};

StagePtr closed(ClosedParts parts) {
  return std::make_unique<Closed>(std::move(parts));
}

// Models of Apple's Natural Language framework, whose parameters have a proprietary format.
StagePtr text_model(std::string_view kind, const proto::TextModel& message) {
  ClosedParts parts;
  parts.refusal = fmt::format(
      "{}: computed by Apple's Natural Language framework; the format of its parameters is not "
      "published",
      kind);
  parts.parameters = {{"revision", fmt::format("{}", message.revision())},
                      {"language", read_text(message.language(), "the language")},
                      {"parameters", format_bytes(message.data().size())}};
  if (message.has_labels()) parts.labels = read_labels(&message.labels(), nullptr);
  return closed(std::move(parts));
}

std::string text_of(const proto::CustomValue& value) {
  switch (value.value_case()) {
    case proto::CustomValue::kDoubleValue:
      return fmt::format("{}", value.double_value());
    case proto::CustomValue::kStringValue:
      return read_text(value.string_value(), "a parameter");
    case proto::CustomValue::kIntValue:
      return fmt::format("{}", value.int_value());
    case proto::CustomValue::kLongValue:
      return fmt::format("{}", value.long_value());
    case proto::CustomValue::kBoolValue:
      return value.bool_value() ? "true" : "false";
    case proto::CustomValue::kBytesValue:
      return format_bytes(value.bytes_value().size());
    case proto::CustomValue::VALUE_NOT_SET:
      break;
  }
  return "none";
}

}  // namespace

StagePtr read_vision_print(const proto::VisionFeaturePrint& message,
                           const Interface& /*interface*/) {
  const bool objects = message.has_objects();
  const int32_t version = objects ? message.objects().version() : message.scene().version();
  return closed(
      {"visionFeaturePrint: computed by Apple's Vision framework; its network is not in "
       "the file",
       {{"print", objects ? "objects" : "scene"}, {"version", fmt::format("{}", version)}}});
}

StagePtr read_audio_print(const proto::AudioFeaturePrint& message, const Interface& /*interface*/) {
  return closed(
      {"audioFeaturePrint: computed by Apple's Sound Analysis framework; its network is "
       "not in the file",
       {{"version", fmt::format("{}", message.sound().version())}}});
}

StagePtr read_sound_preprocessing(const proto::Empty& /*message*/, const Interface& /*interface*/) {
  return closed(
      {"soundAnalysisPreprocessing: computed by Apple's Sound Analysis framework; its "
       "constants are not in the file",
       {{"preprocessing", "vggish"}}});
}

StagePtr read_text_classifier(const proto::TextModel& message, const Interface& /*interface*/) {
  return text_model("textClassifier", message);
}

StagePtr read_word_tagger(const proto::TextModel& message, const Interface& /*interface*/) {
  return text_model("wordTagger", message);
}

StagePtr read_gazetteer(const proto::TextModel& message, const Interface& /*interface*/) {
  return text_model("gazetteer", message);
}

StagePtr read_word_embedding(const proto::TextModel& message, const Interface& /*interface*/) {
  return text_model("wordEmbedding", message);
}

StagePtr read_recommender(const proto::Recommender& message, const Interface& /*interface*/) {
  size_t pairs = 0;
  for (const proto::SimilarItems& item : message.items()) {
    pairs += static_cast<size_t>(item.similar_size());
  }
  return closed({"itemSimilarityRecommender: its inputs are sequences, which cannot be given",
                 {{"items", fmt::format("{}", message.items_size())},
                  {"similarities", fmt::format("{}", pairs)}}});
}

StagePtr read_custom_model(const proto::CustomModel& message, const Interface& /*interface*/) {
  const std::string name = read_text(message.class_name(), "the class name");
  ClosedParts parts;
  parts.refusal = fmt::format(
      "customModel: computed by the class '{}' of an app, which is not in the file", name);
  parts.parameters = {{"class", name}};
  const std::string description = read_text(message.description(), "the description");
  if (!description.empty()) parts.parameters.emplace_back("description", description);
  for (const proto::CustomParameter& parameter : message.parameters()) {
    parts.parameters.emplace_back(read_text(parameter.name(), "a parameter's name"),
                                  text_of(parameter.value()));
  }
  return closed(std::move(parts));
}

StagePtr read_linked_model(const proto::LinkedModel& message, const Interface& /*interface*/) {
  const std::string name = read_text(message.file().name().default_value(), "the file name");
  const std::string path =
      read_text(message.file().search_path().default_value(), "the search path");
  return closed({fmt::format("linkedModel: the model is in another file, '{}', which an app "
                             "provides",
                             name),
                 {{"file", name}, {"search path", path}}});
}

StagePtr read_serialized_model(const proto::SerializedModel& message,
                               const Interface& /*interface*/) {
  const std::string identifier = read_text(message.identifier(), "the identifier");
  return closed(
      {fmt::format("serializedModel: of the type '{}', whose format is not published", identifier),
       {{"identifier", identifier}, {"parameters", format_bytes(message.model().size())}}});
}

StagePtr read_bayesian_probit(const proto::BayesianProbitRegressor& message,
                              const Interface& /*interface*/) {
  return closed(
      {"bayesianProbitRegressor: the published format has no field for the steepness of "
       "its link function",
       {{"features", fmt::format("{}", message.num_features())}}});
}

}  // namespace pippin::tabular
