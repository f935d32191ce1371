// The outputs of classifiers and regressors.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "pippin/tabular/interface.h"
#include "pippin/tabular/stage.h"

namespace pippin::tabular {

// The labels of a classifier, and its outputs: the predicted label and, if it is declared, the
// dictionary of probabilities.
class Classes {
 public:
  // Throws InvalidFile unless the labels are distinct and the outputs are declared in their type.
  Classes(Labels labels, const Interface& interface);

  size_t size() const { return size_; }
  const Labels& labels() const { return labels_; }
  // One probability per label.
  std::vector<Value> outputs(size_t predicted, const std::vector<double>& probabilities) const;
  // The same with the first of the most probable labels.
  std::vector<Value> outputs(const std::vector<double>& probabilities) const;

 private:
  Value label(size_t index) const;

  Labels labels_;
  size_t size_;
  size_t num_outputs_;
  size_t label_output_;
  std::optional<size_t> probabilities_output_;
};

// The position of the first of the largest values.
size_t first_largest(const std::vector<double>& values);

// The only output of a regressor. Throws InvalidFile if it cannot hold `size` numbers.
const Field& regressor_output(const Interface& interface, int64_t size);

}  // namespace pippin::tabular
