// Compiled neural networks: pictures, class labels, and rejected files.
#include <algorithm>

#include <gtest/gtest.h>

#include "pippin/api/compiled_network_testing.h"
#include "pippin/base/error_testing.h"

namespace pippin {
namespace {

using wire::field;

TEST(CompiledNetworks, FusedActivations) {
  LayerForms layer{"fused",
                   140,
                   "",
                   R"("type": "inner_product", "nB": 3, "nC": 2, "has_relu": 1,
                                        "has_biases": 0, "blob_weights": 1)",
                   {4, 3},
                   {4, 2},
                   {float_bytes(ramp(6))}};
  const TempDir folder;
  compiled(layer).write(folder / "m.mlmodelc");
  const Function function = Model::load(folder / "m.mlmodelc").function();
  bool any = false;
  for (const double value :
       tensor_at(function.predict(sample_inputs(function)), "y").to_doubles()) {
    EXPECT_GE(value, 0);
    any = any || value > 0;
  }
  EXPECT_TRUE(any);
}

// A picture of 2 x 1 pixels to its mean by channel, times 2 minus 1.
CompiledNetwork picture_network(uint64_t space, const std::string& transform) {
  const std::string picture =
      field(4, field(1, uint64_t{2}) + field(2, uint64_t{1}) + field(3, space));
  CompiledNetwork network;
  network.kind = 403;
  network.description = wire::description(
      {{"x", picture}}, {{"y", wire::int64_type()}, {"p", wire::dictionary_type(false)}}, "y", "p");
  const uint64_t channels = space == 10 ? 1 : 3;
  network.net = fmt::format(
      R"({{"transform_params": {{"x": {{{}}}}},
           "layers": [{{"type": "pool", "name": "l", "bottom": "x", "top": "s", "avg_or_max": 0,
                        "is_global": 1}}]}})",
      transform);
  network.shapes = shape_entry("x", {1, channels, 1, 2}, false) + ", " +
                   shape_entry("s", {1, channels, 1, 1}, false);
  network.labels = mil::little_endian(101, 8) + mil::little_endian(channels, 8);
  for (uint64_t i = 0; i < channels; ++i) network.labels += mil::little_endian(10 + i, 8);
  network.labels += mil::counted("s");
  return network;
}

TEST(CompiledNetworks, PicturesAndLabels) {
  const std::string biases =
      R"("scale": 0.5, "bias_r": 1, "bias_g": -1, "bias_b": 3, "bias_a": 0, "center_mean": 0)";
  const auto run = [](const CompiledNetwork& network, int64_t channels,
                      std::vector<uint8_t> pixels) {
    const TempDir folder;
    network.write(folder / "m.mlmodelc");
    const auto* bytes = reinterpret_cast<const std::byte*>(pixels.data());
    const Image image{
        2, 1, static_cast<int>(channels), DataType::UInt8, {bytes, bytes + pixels.size()}};
    return Model::load(folder / "m.mlmodelc").function().predict({{"x", image}});
  };
  // Channels in the network's order; biases by color.
  const std::vector<double> by_color = {0.5 * 20 + 1, 0.5 * 40 - 1, 0.5 * 60 + 3};
  for (const bool bgr : {false, true}) {
    const Values values =
        run(picture_network(bgr ? 30 : 20, fmt::format("{}, \"is_network_bgr\": {}", biases, bgr)),
            3, {10, 30, 50, 30, 50, 70});
    std::vector<double> wanted = by_color;
    if (bgr) std::reverse(wanted.begin(), wanted.end());
    const auto& odds = std::get<Dictionary>(values.at("p"));
    EXPECT_EQ(odds.values.to_doubles(), wanted);
    EXPECT_EQ(odds.keys.data<int64_t>()[1], 11);
    EXPECT_EQ(tensor_at(values, "y").data<int64_t>()[0], bgr ? 10 : 12);
  }
  const Values gray = run(picture_network(10, R"("scale": 2)"), 1, {4, 6});
  EXPECT_EQ(std::get<Dictionary>(gray.at("p")).values.to_doubles(), std::vector<double>{10});
}

std::string load_error(const CompiledNetwork& network) {
  const TempDir folder;
  network.write(folder / "m.mlmodelc");
  return thrown_message([&] { Model::load(folder / "m.mlmodelc"); });
}

TEST(CompiledNetworks, FaultsAreNamed) {
  const auto expect = [](const std::string& found, std::string_view wanted) {
    EXPECT_NE(found.find(wanted), std::string::npos) << found;
    EXPECT_EQ(found.find('\n'), std::string::npos) << found;
  };
  const auto error = [](const std::string& fields, std::vector<std::string> blobs = {},
                        const Sizes& y = {1, 2, 4, 4}) {
    return load_error(compiled({"", 0, "", fields, {1, 2, 4, 4}, y, std::move(blobs)}));
  };
  expect(error(R"("type": "lrn", "local_size": 5)"),
         "layer 'l' (lrn): layers of this type are not supported in compiled networks");
  expect(error(R"("type": "activation", "mode": 25)"),
         "layer 'l' (activation): mode 25 is not supported");
  expect(error(R"("type": "elementwise", "operation": 9)"), "operation 9 of one tensor");
  expect(error(R"("type": "copy", "scale": 2)"), "the property 'scale' is not supported");
  expect(error(R"("type": "copy", "attributes": {"is_lookup": 1})"),
         "the attribute 'is_lookup' is not supported");
  expect(error(R"("type": "transpose", "axis_w": 9, "axis_h": 0, "axis_k": 1, "axis_n": 2)"),
         "axis 9 of a tensor of rank 4");
  const std::string conv = R"("type": "convolution", "C": 2, "K": 2, "Nx": 1, "Ny": 1, )";
  expect(error(conv + R"("blob_weights": 7)"), "blob 7 is not in model.espresso.weights");
  expect(error(conv + R"("blob_weights": 1)", {float_bytes({1, 2, 3})}),
         "blob 1 has 12 bytes, 4 elements of 4 are needed");
  expect(error(R"("type": "convolution", "C": 0, "K": 2, "Nx": 1, "Ny": 1, "blob_weights": 1)"),
         "C is 0");
  expect(error(conv + R"("weights": {"W_int8": 1})"), "weights in the form 'W_int8'");
  expect(error(R"("type": "copy")", {}, {1, 2, 4, 5}),
         "'y' has the shape [1, 2, 4, 4] by its layer, [1, 2, 4, 5] by the file of shapes");

  CompiledNetwork network = compiled({"", 0, "", R"("type": "copy")"});
  // Two layers that need each other.
  network.net = R"({"layers": [{"type": "copy", "name": "a", "bottom": "b", "top": "y"},
                               {"type": "copy", "name": "b", "bottom": "y", "top": "b"}]})";
  expect(load_error(network), "layer 'a' (copy): no earlier layer produces 'b'");
  network.net = std::string(100000, '[');
  expect(load_error(network), "model.espresso.net");
  network.net = "{}";
  expect(load_error(network), "layers");

  CompiledNetwork picture = picture_network(20, R"("center_mean": 1)");
  expect(load_error(picture), "transform_params of 'x': center_mean is not supported");
  picture = picture_network(20, R"("is_network_bgr": 1)");
  expect(load_error(picture), "is_network_bgr is true for an image in RGB");
  picture = picture_network(20, "");
  picture.labels.resize(20);
  expect(load_error(picture), "class labels");
  picture.labels = mil::little_endian(100, 8) + mil::little_endian(1ULL << 40, 8);
  expect(load_error(picture), "1099511627776 class labels in ");
}

}  // namespace
}  // namespace pippin
