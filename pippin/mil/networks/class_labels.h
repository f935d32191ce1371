// The label and the probabilities that a classifier returns.
#pragma once

#include <span>

#include "pippin/mil/networks/layer_list.h"

namespace pippin::mil::networks {

class ClassLabels {
 public:
  // Reads the labels of a NeuralNetworkClassifier message; other kinds have none.
  ClassLabels(const Fields& message, bool is_classifier, const FunctionDescription& description,
              std::span<const ListedLayer> layers);

  // Whether the feature is the label or the dictionary of probabilities.
  bool produces(const Feature& feature) const;
  void add_outputs(Network& network, std::vector<Var*>& outputs) const;

 private:
  bool is_classifier_;
  std::string label_, probabilities_;  // names of outputs; probabilities_ may be empty
  std::string scores_;                 // the name of the tensor
  Value labels_;                       // a list
};

}  // namespace pippin::mil::networks
