#include "pippin/tabular/classes.h"

#include <algorithm>

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::tabular {
namespace {

template <typename Label>
void check_distinct(const std::vector<Label>& labels) {
  std::vector<Label> sorted = labels;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return;
  fail(ErrorCode::InvalidFile, "the class label '{}' is repeated", *twice);
}

// The output of that name; for an empty name, the first of a matching type.
template <typename Matches>
std::optional<size_t> find_output(const Interface& interface, const std::string& name,
                                  Matches&& matches) {
  const auto& outputs = interface.outputs;
  const auto found = std::find_if(outputs.begin(), outputs.end(), [&](const Field& output) {
    return name.empty() ? matches(output.type) : output.name == name;
  });
  if (found == outputs.end()) return std::nullopt;
  return static_cast<size_t>(found - outputs.begin());
}

[[noreturn]] void fail_prediction(const Interface& interface) {
  if (interface.predicted_feature.empty()) {
    fail(ErrorCode::InvalidFile, "the description names no output for the prediction");
  }
  fail(ErrorCode::InvalidFile, "no output '{}', the description's output for the prediction",
       interface.predicted_feature);
}

bool is_text(const Labels& labels) {
  return std::holds_alternative<std::vector<std::string>>(labels);
}

}  // namespace

Classes::Classes(Labels labels, const Interface& interface)
    : labels_(std::move(labels)),
      size_(std::visit([](const auto& list) { return list.size(); }, labels_)),
      num_outputs_(interface.outputs.size()) {
  if (size_ == 0) fail(ErrorCode::InvalidFile, "the classifier has no class labels");
  std::visit([](const auto& list) { check_distinct(list); }, labels_);
  const auto label = find_output(interface, interface.predicted_feature, [](Field::Type type) {
    return type == Field::Type::String || type == Field::Type::Int64;
  });
  if (!label) fail_prediction(interface);
  label_output_ = *label;
  const Field& predicted = interface.outputs[*label];
  if (predicted.type != (is_text(labels_) ? Field::Type::String : Field::Type::Int64)) {
    fail(ErrorCode::InvalidFile, "the output '{}' differs in type from the class labels",
         predicted.name);
  }
  probabilities_output_ =
      find_output(interface, interface.predicted_probabilities,
                  [](Field::Type type) { return type == Field::Type::Dictionary; });
  if (probabilities_output_) {
    const Field& output = interface.outputs[*probabilities_output_];
    if (output.type != Field::Type::Dictionary || output.string_keys != is_text(labels_)) {
      fail(ErrorCode::InvalidFile, "the output '{}' is not a dictionary of the class labels",
           output.name);
    }
  }
  for (size_t i = 0; i < num_outputs_; ++i) {
    if (i == label_output_ || i == probabilities_output_) continue;
    fail(ErrorCode::InvalidFile, "the output '{}' is neither the label nor the probabilities",
         interface.outputs[i].name);
  }
}

Value Classes::label(size_t index) const {
  return std::visit([&](const auto& list) -> Value { return list[index]; }, labels_);
}

std::vector<Value> Classes::outputs(size_t predicted,
                                    const std::vector<double>& probabilities) const {
  std::vector<Value> result(num_outputs_);
  result[label_output_] = label(predicted);
  if (probabilities_output_) result[*probabilities_output_] = Dictionary{labels_, probabilities};
  return result;
}

std::vector<Value> Classes::outputs(const std::vector<double>& probabilities) const {
  return outputs(first_largest(probabilities), probabilities);
}

size_t first_largest(const std::vector<double>& values) {
  size_t best = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i] > values[best]) best = i;
  }
  return best;
}

const Field& regressor_output(const Interface& interface, int64_t size) {
  const auto index = find_output(interface, interface.predicted_feature, [](Field::Type type) {
    return type == Field::Type::Double || type == Field::Type::Array || type == Field::Type::Int64;
  });
  if (!index) fail_prediction(interface);
  const Field& output = interface.outputs[*index];
  for (const Field& other : interface.outputs) {
    if (&other != &output) {
      fail(ErrorCode::InvalidFile, "the output '{}' is not the prediction", other.name);
    }
  }
  check_number_output(output, size);
  return output;
}

}  // namespace pippin::tabular
