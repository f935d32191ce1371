// The layers of compiled networks, by the type's name.
#pragma once

#include "pippin/io/json.h"
#include "pippin/mil/networks/espresso_blobs.h"
#include "pippin/mil/networks/network.h"

namespace pippin::mil::networks {

struct EspressoLayer {
  Json fields;
  std::vector<std::string> inputs, outputs;
  const EspressoBlobs& blobs;

  int64_t number(std::string_view key, int64_t absent = 0) const;
  float real(std::string_view key, float absent = 0) const;
  // Throws Unsupported if the field has another value, whose effect on the result is unknown.
  void require(std::string_view key, int64_t value) const;
};

// The value of an input as fp32; throws InvalidFile if there is none.
Slot espresso_input(Network& network, const EspressoLayer& layer, size_t index);
// The layer's outputs, as those of a layer of the published format.
Layer espresso_outputs(const EspressoLayer& layer);

// Translates layers without weights: elementwise, concat, softmax, shapes. Returns false for other
// types.
bool translate_espresso_tensor_layer(Network& network, const EspressoLayer& layer,
                                     std::string_view type);

// Throws Unsupported for unknown types and properties.
void translate_espresso_layer(Network& network, const EspressoLayer& layer);

}  // namespace pippin::mil::networks
