#include "pippin/mil/networks/class_labels.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/text.h"

namespace pippin::mil::networks {
namespace {

constexpr Field kStringLabels{100, "stringClassLabels"}, kIntegerLabels{101, "int64ClassLabels"},
    kScores{200, "labelProbabilityLayerName"}, kVector{1, "vector"};

Value integer_label(int64_t label) {
  Value value;
  value.type = ValueType::scalar(DataType::Int64);
  const auto bytes = std::as_bytes(std::span(&label, 1));
  value.bytes.assign(bytes.begin(), bytes.end());
  return value;
}

Value read_labels(const Fields& message) {
  const bool integers = message.has(kIntegerLabels);
  Value list;
  list.type.kind = ValueType::Kind::List;
  list.type.parameters = {ValueType::scalar(integers ? DataType::Int64 : DataType::String)};
  if (integers) {
    for (const int64_t label : message.message(kIntegerLabels).integers(kVector)) {
      list.elements.push_back(integer_label(label));
    }
  } else {
    for (std::string& label : message.message(kStringLabels).texts(kVector)) {
      if (!is_valid_utf8(label)) fail(ErrorCode::InvalidFile, "a class label is not UTF-8");
      list.elements.push_back(Value::of_string(std::move(label)));
    }
  }
  list.type.list_length = std::ssize(list.elements);
  if (list.elements.empty()) fail(ErrorCode::InvalidFile, "a classifier without class labels");
  return list;
}

}  // namespace

ClassLabels::ClassLabels(const Fields& message, bool is_classifier,
                         const FunctionDescription& description,
                         std::span<const ListedLayer> layers)
    : is_classifier_(is_classifier) {
  if (!is_classifier) return;
  labels_ = read_labels(message);
  label_ = description.predicted_feature_name;
  probabilities_ = description.predicted_probabilities_name;
  scores_ = message.text(kScores);
  if (scores_.empty() && !layers.empty() && !layers.back().layer.outputs.empty()) {
    scores_ = layers.back().layer.outputs.front();
  }
  const DataType key = labels_.type.parameters.front().data_type;
  const auto& outputs = description.outputs;
  const auto declared = [&](const std::string& name) {
    return std::find_if(outputs.begin(), outputs.end(),
                        [&](const Feature& feature) { return feature.name == name; });
  };
  const auto label = declared(label_);
  if (label == outputs.end()) {
    fail(ErrorCode::InvalidFile, "no output '{}', the description's output for the label", label_);
  }
  if (label->kind != (key == DataType::String ? Feature::Kind::String : Feature::Kind::Int64)) {
    fail(ErrorCode::InvalidFile, "the output '{}' differs in type from the class labels", label_);
  }
  const auto dictionary = declared(probabilities_);
  if (dictionary == outputs.end()) {
    probabilities_.clear();
  } else if (dictionary->kind != Feature::Kind::Dictionary ||
             dictionary->string_keys != (key == DataType::String)) {
    fail(ErrorCode::InvalidFile, "the output '{}' is not a dictionary of the class labels",
         probabilities_);
  }
}

bool ClassLabels::produces(const Feature& feature) const {
  return is_classifier_ &&
         (feature.name == label_ || (!probabilities_.empty() && feature.name == probabilities_));
}

void ClassLabels::add_outputs(Network& network, std::vector<Var*>& outputs) const {
  if (!is_classifier_) return;
  const auto value = network.values.find(scores_);
  if (value == network.values.end()) {
    fail(ErrorCode::InvalidFile, "no layer produces the probabilities '{}'", scores_);
  }
  Graph& graph = network.graph;
  Var* scores = graph.cast(value->second.var, DataType::Float32);
  scores = flattened(graph, scores);
  Var* classes = graph.add_constant(labels_);
  std::vector<Var*> results = graph.add_named(
      "classify", {{"probabilities", {scores}}, {"classes", {classes}}}, {label_, probabilities_});
  outputs.push_back(results[0]);
  if (!probabilities_.empty()) outputs.push_back(results[1]);
}

}  // namespace pippin::mil::networks
