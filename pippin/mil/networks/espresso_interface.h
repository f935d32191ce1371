// The interface of compiled networks: how pixels become numbers, and class labels.
#pragma once

#include "pippin/io/json.h"
#include "pippin/mil/model.h"
#include "pippin/mil/networks/message.h"

namespace pippin::mil::networks {

// Adds the preprocessing of images ("transform_params") to a NeuralNetwork message. Throws
// Unsupported for other properties than a scale and biases.
void add_transforms(const Json& net, const std::vector<Feature>& inputs, Message& message);

// Adds class labels to a NeuralNetworkClassifier message. The bytes behind the description of
// coremldata.bin are: u64 kind; u64 100 for texts or 101 for numbers; u64 count and the labels, u64
// or texts; the name of the tensor of scores; u64 count and the names of the outputs. A text is u64
// length and bytes.
void add_labels(ByteSpan bytes, Message& message);

}  // namespace pippin::mil::networks
