#include "pippin/nn/vision/projector.h"

#include <vector>

#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;

namespace {

std::optional<Norm> projector_norm(const Parameters& parameters, const ProjectorOptions& options) {
  if (options.norm.name.empty()) return std::nullopt;
  return Norm(parameters.at(options.norm.name), options.features, options.norm.norm);
}

// An absent tensor gets some size, and is then reported as missing.
int64_t outputs_of(const Parameters& parameters, int64_t outputs) {
  if (outputs > 0) return outputs;
  const std::vector<int64_t> dims = parameters.shape("weight");
  return dims.empty() ? 1 : dims.front();
}

}  // namespace

Linear projection_of(const Parameters& parameters, int64_t features, int64_t outputs, bool bias) {
  return Linear(parameters, features, outputs_of(parameters, outputs), bias);
}

Projector::Projector(const Parameters& parameters, const ProjectorOptions& options)
    : options_(options),
      norm_(projector_norm(parameters, options)),
      first_(projection_of(parameters.at(options.first), options.features, options.hidden_features,
                           options.bias)),
      second_(projection_of(parameters.at(options.second),
                            outputs_of(parameters.at(options.first), options.hidden_features) /
                                (options.gated ? 2 : 1),
                            options.output_features, options.bias)) {}

Array Projector::operator()(const Array& x) const {
  Array y = first_(norm_ ? (*norm_)(x) : x);
  if (options_.gated) {
    const int64_t half = y.dim(2).constant() / 2;
    const Array values = array::slice_axis(y, 2, 0, half);
    y = values * apply(options_.activation, array::slice_axis(y, 2, half, 2 * half));
  } else {
    y = apply(options_.activation, y);
  }
  return second_(y);
}

}  // namespace pippin::nn
