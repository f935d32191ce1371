// Layers of old converters that become one operation of the translated program.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "pippin/api/network_testing.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/package.h"

namespace pippin {
namespace {

using namespace network_testing;

constexpr uint64_t kChannels = 4, kOutputs = 6;

std::vector<float> numbers(size_t count, float start) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = start + std::sin(static_cast<float>(i) + start);
  return values;
}

std::string border(uint64_t amount) {
  const std::string edge = field(10, field(1, amount) + field(2, amount));
  return edge + edge;
}
std::string padding(const std::string& x, const std::string& y, float value, uint64_t amount = 1) {
  return layer("pad_" + y, {x}, {y}, 200, field(1, single(1, value)) + field(10, border(amount)));
}
std::string convolution(const std::string& x, const std::string& y, bool biased) {
  return layer("conv_" + y, {x}, {y}, 100,
               field(1, kOutputs) + field(2, kChannels) + field(30, uint64_t{2}) +
                   field(30, uint64_t{2}) + field(50, "") +
                   field(70, static_cast<uint64_t>(biased)) +
                   field(90, floats(1, numbers(kOutputs * kChannels * 9, 0.1F))) +
                   (biased ? field(91, floats(1, numbers(kOutputs, 1))) : std::string()));
}
std::string norm(const std::string& x, const std::string& y) {
  return layer("norm_" + y, {x}, {y}, 160,
               field(1, kOutputs) + single(10, 1e-3F) +
                   field(15, floats(1, numbers(kOutputs, 1.5F))) +
                   field(16, floats(1, numbers(kOutputs, 0.3F))) +
                   field(17, floats(1, numbers(kOutputs, -0.5F))) +
                   field(18, floats(1, numbers(kOutputs, 2))));
}
std::string scale(const std::string& x, const std::string& y) {
  return layer("scale_" + y, {x}, {y}, 245,
               field(1, kOutputs) + field(2, floats(1, numbers(kOutputs, 0.7F))) +
                   field(3, uint64_t{1}) + field(4, kOutputs) +
                   field(5, floats(1, numbers(kOutputs, -0.2F))));
}
std::string activation(const std::string& x, const std::string& y, uint32_t kind,
                       const std::string& parameters = "") {
  return layer("act_" + y, {x}, {y}, 130, field(kind, parameters));
}
std::string negation(const std::string& x, const std::string& y) {
  return activation(x, y, 5, single(1, -1));
}
std::string threshold(const std::string& x, const std::string& y, float least) {
  return layer("least_" + y, {x}, {y}, 220,
               field(1, uint64_t{7}) + single(2, least) + single(5, 1));
}
std::string max_pool(const std::string& x, const std::string& y) {
  return layer("pool_" + y, {x}, {y}, 120,
               field(10, uint64_t{3}) + field(10, uint64_t{3}) + field(20, uint64_t{2}) +
                   field(20, uint64_t{2}) + field(30, ""));
}

// A network from x [channels, 9, 9] to y and other outputs.
std::string images(const std::string& layers, const std::vector<std::string>& others) {
  const std::string type = wire::array_type({}, wire::kFloat);
  std::vector<wire::Feature> outputs = {{"y", type}};
  for (const std::string& name : others) outputs.push_back({name, type});
  return wire::model(
      wire::description({{"x", wire::array_type({kChannels, 9, 9}, wire::kFloat)}}, outputs),
      kNetwork, layers);
}

// The types of the operations that compute something.
std::string operations(const std::string& file) {
  constexpr std::string_view kOthers[] = {"const", "expand_dims", "squeeze", "identity"};
  const mil::Model model = mil::read_package(file);
  std::string names;
  for (const auto& operation : model.program.functions.begin()->second->block().operations()) {
    const std::string& type = operation->type();
    if (std::find(std::begin(kOthers), std::end(kOthers), type) == std::end(kOthers)) {
      names += type + " ";
    }
  }
  return names;
}

// The operations if nothing else reads the values in between. y must be the same as if they are
// outputs, which keeps the layers apart.
std::string simplified(const std::string& layers, const std::vector<std::string>& between) {
  std::vector<double> x(kChannels * 81);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 3 * std::cos(0.7 * static_cast<double>(i));
  const std::vector<int64_t> shape = {static_cast<int64_t>(kChannels), 9, 9};
  const TempDir folder, apart;
  const std::string file = written(folder, images(layers, {}));
  const std::vector<double> found = predict_file(file, x, shape);
  const std::vector<double> wanted =
      predict_file(written(apart, images(layers, between)), x, shape);
  EXPECT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < std::min(found.size(), wanted.size()); ++i) {
    EXPECT_NEAR(found[i], wanted[i], 1e-5 * std::max(1.0, std::abs(wanted[i]))) << i;
  }
  EXPECT_NE(operations(file), operations(apart / "m.mlmodel"));
  return operations(file);
}

TEST(NetworkForms, NormsAreFolded) {
  for (const bool biased : {false, true}) {
    EXPECT_EQ(simplified(convolution("x", "c", biased) + norm("c", "y"), {"c"}), "conv ");
    EXPECT_EQ(simplified(convolution("x", "c", biased) + scale("c", "y"), {"c"}), "conv ");
  }
  EXPECT_EQ(simplified(convolution("x", "c", false) + norm("c", "n") + scale("n", "s") +
                           activation("s", "y", 10),
                       {"c", "n", "s"}),
            "conv relu ");
}

TEST(NetworkForms, BordersAreFolded) {
  EXPECT_EQ(simplified(padding("x", "p", 0) + convolution("p", "y", true), {"p"}), "conv ");
  const std::string before = convolution("x", "c", true) + activation("c", "r", 10);
  EXPECT_EQ(simplified(before + padding("r", "p", 0) + max_pool("p", "y"), {"p"}),
            "conv relu max_pool ");
}

TEST(NetworkForms, OtherBordersStay) {
  const auto kept = [](const std::string& layers) {
    const TempDir folder;
    return operations(written(folder, images(layers, {})));
  };
  EXPECT_EQ(kept(padding("x", "p", 1) + convolution("p", "y", true)), "pad conv ");
  // Zeros are larger than some elements.
  EXPECT_EQ(kept(padding("x", "p", 0) + max_pool("p", "y")), "pad max_pool ");
  // A maximum of zeros only.
  EXPECT_EQ(kept(activation("x", "r", 10) + padding("r", "p", 0, 3) + max_pool("p", "y")),
            "relu pad max_pool ");
}

TEST(NetworkForms, ClampsAreFolded) {
  const auto clamp = [](const std::string& x, float least) {
    return negation(x, "a") + threshold("a", "b", least) + negation("b", "y");
  };
  EXPECT_EQ(simplified(activation("x", "r", 10) + clamp("r", -6), {"r", "a", "b"}), "relu6 ");
  EXPECT_EQ(simplified(activation("x", "r", 10) + clamp("r", -2), {"r", "a", "b"}), "clip ");
  EXPECT_EQ(simplified(clamp("x", -1), {"a", "b"}), "minimum ");
}

}  // namespace
}  // namespace pippin
