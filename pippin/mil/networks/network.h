// State of a translation: the values that layers have produced so far, by name.
//
// Core ML's networks compute on floats alone. Here indices, shapes and conditions keep the types of
// MIL's ops, and are cast when a layer needs floats.
//
// In networks with the rank-5 mapping a tensor has the axes [sequence, batch, channel, height,
// width]. While the sequence axis is known to have size 1, it is left out of the program: images
// then pass from op to op with rank 4, as in ML Programs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pippin/mil/model.h"
#include "pippin/mil/networks/graph.h"
#include "pippin/mil/networks/sizes.h"
#include "pippin/mil/networks/weights.h"

namespace pippin::mil::networks {

// A value of the network. `led`: the network's tensor has another axis of size 1 in front.
struct Slot {
  Var* var = nullptr;
  bool led = false;
};

struct Layer {
  std::string name;
  std::string_view type;  // "convolution"
  Fields parameters;
  std::vector<std::string> inputs, outputs;
};

// A field of WeightParams that no file has: the position of the weights in `given_weights`.
inline constexpr Field kGivenWeights{1U << 20, "given weights"};

class Network {
 public:
  Network(Graph& graph, bool rank5, bool image_rank5, Owner owner)
      : graph(graph), rank5(rank5), image_rank5(image_rank5), owner(std::move(owner)) {}

  Graph& graph;
  const bool rank5;        // arrays have 5 axes
  const bool image_rank5;  // images have 5 axes
  const Owner owner;       // of the file's bytes
  bool has_images = false;
  std::map<std::string, Slot, std::less<>> values;
  // The number of reads of each name by layers, at any depth, and by the model's outputs.
  std::map<std::string, int, std::less<>> reads;
  int64_t budget = 0;  // layers that may still be translated
  // Weights outside of the message, which kGivenWeights counts.
  std::vector<std::shared_ptr<const TensorSource>> given_weights;

  // ---- Inputs of a layer; throw InvalidFile if it has no such input ----

  // The value in its type in the program, without a sequence axis if it is led.
  Slot slot(const Layer& layer, size_t index) const;
  // The same as fp32.
  Slot floats(const Layer& layer, size_t index);
  // The network's tensor with all its axes: in any type, fp32, int32, bool.
  Var* any(const Layer& layer, size_t index);
  Var* real(const Layer& layer, size_t index);
  Var* integral(const Layer& layer, size_t index);
  Var* truth(const Layer& layer, size_t index);

  Var* full(const Slot& slot);
  Var* to_truth(Var* var);

  // ---- Outputs ----

  // Defines an output; a rank of 0 becomes 1.
  void set(const Layer& layer, size_t index, Var* var);
  // The same for a value that is led as the slot is.
  void set(const Layer& layer, Var* var, const Slot& like);

  // ---- Planes [N, channel, height, width] of any tensor with these last axes ----

  Var* planes(const Slot& slot);
  void set_planes(const Layer& layer, Var* planes, const Slot& like);

  // ---- Weights ----

  // Whether the layer has weights in the field.
  static bool has_weights(const Fields& parameters, const Field& field);
  // A constant of the weights in the field.
  Var* weights(const Fields& parameters, const Field& field, const std::vector<int64_t>& shape,
               size_t channel_axis = 0);
  std::shared_ptr<const TensorSource> weight_source(const Fields& parameters, const Field& field,
                                                    const std::vector<int64_t>& shape,
                                                    size_t channel_axis = 0);
  Var* constant(std::shared_ptr<const TensorSource> source, const std::vector<int64_t>& shape);
  Value literal(const std::vector<float>& values, const std::vector<int64_t>& shape);
};

// Throws InvalidFile if the layer has fewer inputs.
void require_inputs(const Layer& layer, size_t count);
// The number of elements of an axis; throws Unsupported if it is not known when the file is read.
int64_t known_size(const Graph& graph, const Var* var, int64_t axis);

}  // namespace pippin::mil::networks
