// For tests only: writes networks in the published form and in that of Core ML's compiler.
#pragma once

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "pippin/api/model.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/compiled_testing.h"
#include "pippin/mil/proto/wire_testing.h"

namespace pippin {

namespace wire = mil::wire;
using Sizes = std::vector<uint64_t>;

// Blobs are numbered 1, 3, 5 ...; the others are empty.
inline std::string blob_file(const std::vector<std::string>& blobs) {
  std::string table = mil::little_endian(2 * blobs.size(), 8), data;
  for (size_t i = 0; i < blobs.size(); ++i) {
    table += mil::little_endian(2 * i, 8) + mil::little_endian(0, 8);
    table += mil::little_endian(2 * i + 1, 8) + mil::little_endian(blobs[i].size(), 8);
    data += blobs[i];
  }
  return table + data;
}

inline std::string float_bytes(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) bytes += wire::four_bytes(value);
  return bytes;
}

// The sizes of a tensor, with its rank if `ranked`.
inline std::string shape_entry(const std::string& name, const Sizes& sizes, bool ranked) {
  constexpr std::string_view kNames[] = {"w", "h", "k", "n", "seq"};
  std::string text;
  for (size_t axis = 0; axis < 4; ++axis) {
    text += fmt::format("\"{}\": {}, ", kNames[axis],
                        axis < sizes.size() ? sizes[sizes.size() - 1 - axis] : 1);
  }
  if (sizes.size() == 5) text += fmt::format("\"seq\": {}, ", sizes[0]);
  if (ranked) text += fmt::format("\"_rank\": {}, ", sizes.size());
  text.resize(text.size() - 2);
  return fmt::format("\"{}\": {{{}}}", name, text);
}

struct CompiledNetwork {
  uint32_t kind = 500;
  std::string description;         // ModelDescription
  std::string net = "{}", shapes;  // of all tensors, separated by commas
  std::vector<std::string> blobs;
  std::string labels;  // behind the description

  void write(const std::filesystem::path& folder) const {
    std::string data = mil::coreml_data(kind, 4, description);
    data.resize(data.size() - 16);
    mil::put_file(folder / "coremldata.bin", data + mil::little_endian(kind, 8) + labels +
                                                 mil::little_endian(1, 8) + mil::counted("y"));
    mil::put_file(folder / "model.espresso.net", net);
    mil::put_file(folder / "model.espresso.shape",
                  fmt::format("{{\"layer_shapes\": {{{}}}}}", shapes));
    mil::put_file(folder / "model.espresso.weights", blob_file(blobs));
  }
};

// A layer from x (and z, of the same shape) to y in both forms.
struct LayerForms {
  std::string name;
  uint32_t type;
  std::string published;  // its parameters
  std::string fields;     // JSON: "type" and the others
  Sizes x = {1, 2, 4, 4}, y = {1, 2, 4, 4};
  std::vector<std::string> blobs = {};
  size_t inputs = 1, outputs = 1;
  Sizes u = {};  // of the second output, if it differs
};

inline std::vector<std::string> names_of(char first, size_t count, const char* rest) {
  std::vector<std::string> names = {std::string(1, first)};
  for (size_t i = 1; i < count; ++i) names.emplace_back(1, rest[i - 1]);
  return names;
}

inline std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ","));
}

inline std::string interface_of(const LayerForms& layer) {
  std::vector<wire::Feature> inputs, outputs;
  for (const std::string& name : names_of('x', layer.inputs, "zc")) {
    inputs.push_back({name, wire::array_type(layer.x, wire::kFloat)});
  }
  for (const std::string& name : names_of('y', layer.outputs, "uv")) {
    outputs.push_back({name, wire::array_type({}, wire::kFloat)});
  }
  return wire::description(inputs, outputs);
}

inline CompiledNetwork compiled(const LayerForms& layer) {
  const auto inputs = names_of('x', layer.inputs, "zc"),
             outputs = names_of('y', layer.outputs, "uv");
  CompiledNetwork network;
  network.description = interface_of(layer);
  network.net = fmt::format(
      R"({{"format_version": 200, "layers": [{{"name": "l", "bottom": "{}", "top": "{}", {}}}]}})",
      joined(inputs), joined(outputs), layer.fields);
  for (const std::string& name : inputs) network.shapes += shape_entry(name, layer.x, true) + ", ";
  for (const std::string& name : outputs) {
    const bool differs = name == "u" && !layer.u.empty();
    network.shapes += shape_entry(name, differs ? layer.u : layer.y, true) + ", ";
  }
  network.shapes.resize(network.shapes.size() - 2);
  network.blobs = layer.blobs;
  return network;
}

inline Values sample_inputs(const Function& function) {
  Values values;
  float next = -0.9F;
  for (const FeatureInfo& input : function.inputs()) {
    std::vector<double> numbers(static_cast<size_t>(
        std::accumulate(input.shape.begin(), input.shape.end(), int64_t{1}, std::multiplies<>())));
    for (double& number : numbers) number = static_cast<double>(next += 0.0625F);
    values.emplace(input.name, Tensor::from(numbers, input.shape));
  }
  return values;
}

inline void expect_same(const Model& one, const Model& other) {
  const Function function = one.function();
  const Values inputs = sample_inputs(function);
  const Values wanted = function.predict(inputs), found = other.function().predict(inputs);
  for (const auto& [name, value] : wanted) {
    const Tensor& a = std::get<Tensor>(value);
    const Tensor& b = tensor_at(found, name);
    EXPECT_EQ(a.shape(), b.shape()) << name;
    const std::vector<double> x = a.to_doubles(), y = b.to_doubles();
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i]) && std::isnan(y[i])) continue;
      EXPECT_NEAR(x[i], y[i], 1e-6 * std::max(1.0, std::abs(x[i]))) << name << " " << i;
    }
  }
}

inline void expect_same_outputs(const LayerForms& layer) {
  SCOPED_TRACE(layer.name);
  const TempDir folder;
  const std::string body =
      wire::layer("l", names_of('x', layer.inputs, "zc"), names_of('y', layer.outputs, "uv"),
                  layer.type, layer.published) +
      wire::field(5, uint64_t{1});
  mil::put_file(folder / "m.mlmodel", wire::model(interface_of(layer), 500, body));
  compiled(layer).write(folder / "m.mlmodelc");
  try {
    LoadOptions options;
    options.num_threads = 1;
    expect_same(Model::load(folder / "m.mlmodel", options),
                Model::load(folder / "m.mlmodelc", options));
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
}

inline std::string integers(uint32_t number, const std::vector<int64_t>& values) {
  std::string bytes;
  for (const int64_t value : values) bytes += wire::field(number, static_cast<uint64_t>(value));
  return bytes;
}

inline std::string border(uint32_t number, const std::vector<uint64_t>& amounts) {
  const auto edge = [](uint64_t start, uint64_t end) {
    return wire::field(10, wire::field(1, start) + wire::field(2, end));
  };
  return wire::field(number, edge(amounts[0], amounts[1]) + edge(amounts[2], amounts[3]));
}

inline std::vector<float> ramp(size_t count, float from = -0.5F) {
  std::vector<float> values(count);
  for (float& value : values) value = from += 0.0625F;
  return values;
}

}  // namespace pippin
