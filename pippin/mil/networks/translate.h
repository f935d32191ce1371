// Translation of neural networks, Core ML's format before ML Programs, into programs. Facts: Core
// ML's NeuralNetwork.proto, and the expectations of coremltools' tests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pippin/mil/model.h"
#include "pippin/mil/networks/weights.h"

namespace pippin::mil::networks {

enum class NetworkKind : uint8_t { Network, Classifier, Regressor };

// Parts of a network in other files than that of its message.
struct NetworkParts {
  std::vector<std::shared_ptr<const TensorSource>> weights;  // for kGivenWeights (network.h)
  // The sizes of tensors by name, which those of the layers must match.
  std::map<std::string, std::vector<int64_t>, std::less<>> shapes;
};

// Returns the program of a NeuralNetwork, NeuralNetworkClassifier or NeuralNetworkRegressor
// message: one function with the description's name, which computes in fp32. Weights are read from
// the message's bytes on demand; `owner` keeps these valid. Arrays of doubles in the description
// become arrays of fp32, and outputs get their shapes. Throws InvalidFile if the network is not
// valid, and Unsupported, with the layer's name, if only the network's app can compute it.
Program translate_network(ByteSpan message, NetworkKind kind, FunctionDescription& description,
                          const Owner& owner, const NetworkParts& parts = {});

}  // namespace pippin::mil::networks
