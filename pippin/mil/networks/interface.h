// The inputs and outputs of a network: features of the model on one side, values on the other.
#pragma once

#include "pippin/mil/networks/network.h"

namespace pippin::mil::networks {

// Adds an input of the function for every feature and defines it as a value of the network. With
// `sequences`, arrays of the rank-5 mapping have sequence and batch axes of any size.
void define_inputs(Network& network, std::vector<Feature>& features, bool sequences);

// Applies NeuralNetworkPreprocessing messages to the images that they name.
void preprocess(Network& network, const std::vector<Fields>& messages,
                const std::vector<Feature>& features);

// The value of an output that is an array or an image, under the feature's name; the feature gets
// the shape and the type, and another name if an input with another value has its name.
Var* make_output(Network& network, Feature& feature);

}  // namespace pippin::mil::networks
