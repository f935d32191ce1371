// For tests only: neural network models, encoded byte by byte.
#pragma once

#include <bit>
#include <fstream>
#include <string>
#include <vector>

#include "pippin/api/model.h"
#include "pippin/base/testing.h"
#include "pippin/mil/proto/wire_testing.h"

namespace pippin::network_testing {

namespace wire = mil::wire;
using wire::field;

inline constexpr uint32_t kNetwork = 500;

inline std::string floats(uint32_t number, const std::vector<float>& values) {
  std::string packed;
  for (const float value : values) {
    for (int i = 0; i < 32; i += 8)
      packed += static_cast<char>(std::bit_cast<uint32_t>(value) >> i);
  }
  return field(number, packed);
}

inline std::string single(uint32_t number, float value) {
  std::string bytes = floats(number, {value});
  const size_t length = bytes.size() - sizeof(float) - 1;  // a single float has no length
  bytes.erase(length, 1);
  bytes[length - 1] = static_cast<char>((bytes[length - 1] & ~7) | 5);
  return bytes;
}

inline std::string layer(const std::string& name, const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs, uint32_t type,
                         const std::string& parameters) {
  std::string body = field(1, name);
  for (const std::string& input : inputs) body += field(2, input);
  for (const std::string& output : outputs) body += field(3, output);
  return field(1, body + field(type, parameters));
}

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
