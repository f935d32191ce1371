// A layer of a compiled network, and the network of the published format that is made of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/json.h"
#include "pippin/mil/networks/espresso_blobs.h"
#include "pippin/mil/networks/message.h"
#include "pippin/mil/networks/translate.h"

namespace pippin::mil::networks {

class EspressoLayer {
 public:
  explicit EspressoLayer(const Json& fields);

  std::string name, type;
  std::vector<std::string> inputs, outputs;
  Json fields;

  bool has(std::string_view key) const { return fields.has(key); }
  // Flags count as 0 and 1. Throw InvalidFile for other types, and if there is neither the field
  // nor a default.
  int64_t number(std::string_view key) const;
  int64_t number(std::string_view key, int64_t absent) const;
  bool flag(std::string_view key) const { return number(key, 0) != 0; }
  float real(std::string_view key) const;
  float real(std::string_view key, float absent) const;
  // Throw Unsupported if the field has another value, whose effect on the result is unknown.
  void require(std::string_view key, int64_t value) const;
  void require_real(std::string_view key, float value) const;
  // Throws Unsupported for a field that is not in the list of names and is not 0.
  void require_known(std::string_view names) const;
  // Throws InvalidFile for another number of inputs.
  void require_inputs(size_t count) const;
};

// Axes are named from the last one: w, h, k, n, seq.
inline constexpr std::string_view kSizeNames[] = {"w", "h", "k", "n", "seq"};

class EspressoNetwork {
 public:
  // Sizes by tensor, as model.espresso.shape lists them.
  explicit EspressoNetwork(const Json& shapes, const EspressoBlobs& blobs);

  // Adds a layer with the field and the parameters of the published format, and the layer's
  // activation if it has one (fused_relu, has_tanh ...).
  void add(const EspressoLayer& layer, uint32_t field, const Message& parameters);
  // Whether tensors have the ranks of the file of shapes; otherwise all have five axes.
  bool has_ranks() const { return has_ranks_; }
  // The rank of a tensor; throws InvalidFile if the file of shapes does not tell it.
  size_t rank(const std::string& name) const;
  const std::vector<int64_t>& sizes(const std::string& name) const;
  // A WeightParams message with these weights.
  Message weights(std::shared_ptr<const TensorSource> source);

  const EspressoBlobs& blobs;
  Message message;
  NetworkParts parts;

 private:
  bool has_ranks_ = false;
};

// The weights of a convolution or a matrix with this many outputs, as a WeightParams message.
Message espresso_weights(EspressoNetwork& network, const EspressoLayer& layer,
                         const std::vector<int64_t>& shape);
// The field of biases; false if the layer has none.
bool add_espresso_biases(EspressoNetwork& network, const EspressoLayer& layer, int64_t count,
                         uint32_t field, Message& parameters);

struct EspressoKind {
  std::string_view type;
  void (*translate)(EspressoNetwork& network, const EspressoLayer& layer);
  std::string_view fields;  // the known ones, besides those of all layers
};

// The families, one file each.
std::span<const EspressoKind> espresso_image_layers();
std::span<const EspressoKind> espresso_value_layers();
std::span<const EspressoKind> espresso_shape_layers();
std::span<const EspressoKind> espresso_weight_layers();

}  // namespace pippin::mil::networks
