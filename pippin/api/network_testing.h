// For tests only: neural network models, encoded byte by byte.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "pippin/api/model.h"
#include "pippin/base/testing.h"
#include "pippin/mil/proto/wire_testing.h"

namespace pippin::network_testing {

namespace wire = mil::wire;
using wire::field;
using wire::floats;
using wire::layer;
using wire::single;

inline constexpr uint32_t kNetwork = 500;

// A network from x to y, with exact shapes.
inline std::string network(const std::vector<uint64_t>& shape, const std::string& layers) {
  return wire::model(wire::description({{"x", wire::array_type(shape, wire::kFloat)}},
                                       {{"y", wire::array_type({}, wire::kFloat)}}),
                     kNetwork, layers + field(5, uint64_t{1}));
}

inline std::string written(const TempDir& folder, const std::string& bytes) {
  const auto path = folder / "m.mlmodel";
  std::ofstream(path, std::ios::binary) << bytes;
  return path.string();
}

inline std::string network(uint64_t size, const std::string& layers) {
  return network(std::vector<uint64_t>{size}, layers);
}

// y of x; the shape of x is one axis if it is not given.
inline std::vector<double> predict_file(const std::string& path, const std::vector<double>& x,
                                        std::vector<int64_t> shape = {}) {
  if (shape.empty()) shape = {std::ssize(x)};
  const Model model = Model::load(path, {.num_threads = 1});
  const Values outputs = model.function().predict({{"x", Tensor::from(x, shape)}});
  return std::get<Tensor>(outputs.at("y")).to_doubles();
}

inline std::vector<double> predict(const std::string& bytes, const std::vector<double>& x,
                                   const std::vector<int64_t>& shape = {}) {
  const TempDir folder;
  return predict_file(written(folder, bytes), x, shape);
}

inline std::string inner_product(uint64_t inputs, uint64_t outputs, const std::string& weights) {
  return layer("fc", {"x"}, {"y"}, 140, field(1, inputs) + field(2, outputs) + field(20, weights));
}

}  // namespace pippin::network_testing
