// Neural network models, encoded byte by byte: rejected files, and features that other tools' cases
// do not cover.
#include <gtest/gtest.h>

#include "pippin/api/model.h"
#include "pippin/api/network_testing.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/package.h"

namespace pippin {
namespace {

using namespace network_testing;

TEST(Networks, WeightsOfFewBits) {
  // 3 bits each, most significant first: 1 2 3 | 4 1 2.
  const std::string raw = field(30, std::string("\x29\xc2\x80", 3));
  const std::string linear =
      field(40, field(1, uint64_t{3}) + field(101, floats(1, {0.5F, 2}) + floats(2, {1, -1})));
  const std::string bytes = network(3, inner_product(3, 2, raw + linear));
  EXPECT_EQ(predict(bytes, {1, 10, 100}), (std::vector<double>{1.5 + 20 + 250, 7 + 10 + 300}));
  const std::string table =
      field(40, field(1, uint64_t{3}) + field(102, floats(1, {9, 10, 20, 30, 40, 50, 60, 70})));
  EXPECT_EQ(predict(network(3, inner_product(3, 2, raw + table)), {1, 0, 0}),
            (std::vector<double>{10, 40}));
}

TEST(Networks, LoopsEndWhereTheyAreLeft) {
  // y = x; up to 10 times: y = 2 y; leave the loop if y[0] > 20.
  const std::string doubled = layer("double", {"y"}, {"t"}, 231, single(1, 2));
  const std::string back = layer("back", {"t"}, {"y"}, 600, "");
  const std::string first = layer("first", {"t"}, {"m"}, 1260, field(3, uint64_t{1}));
  const std::string test = layer("test", {"m"}, {"c"}, 830, single(2, 20));
  const std::string leave = layer("if", {"c"}, {}, 605, field(1, layer("leave", {}, {}, 620, "")));
  const std::string more = layer("more", {"y"}, {"y2"}, 600, "");
  const std::string loop =
      layer("loop", {}, {}, 615,
            field(1, uint64_t{10}) + field(4, doubled + back + first + test + leave + more));
  const std::string start = layer("start", {"x"}, {"y"}, 600, "");
  EXPECT_EQ(predict(network(2, start + loop), {1, 3}), (std::vector<double>{8, 24}));
  EXPECT_EQ(predict(network(2, start + loop), {0, 0}), (std::vector<double>{0, 0}));
}

TEST(Networks, MayHaveTwoAxesInFront) {
  // The softmax of channels, in the mapping to five axes.
  const std::string bytes =
      wire::model(wire::description({{"x", wire::array_type({2}, wire::kFloat)}},
                                    {{"y", wire::array_type({2}, wire::kFloat)}}),
                  kNetwork, layer("scale", {"x"}, {"y"}, 231, single(1, 3)));
  const TempDir folder;
  const Model model = Model::load(written(folder, bytes), {.num_threads = 1});
  const auto run = [&](const std::vector<int64_t>& shape) {
    return std::get<Tensor>(model.function()
                                .predict({{"x", Tensor::from(std::vector<double>{1, 2}, shape)}})
                                .at("y"))
        .to_doubles();
  };
  EXPECT_EQ(run({2}), (std::vector<double>{3, 6}));
  EXPECT_EQ(run({1, 1, 2, 1, 1}), (std::vector<double>{3, 6}));
  EXPECT_ERROR(run({2, 1, 1, 1, 1}), ErrorCode::InvalidArgument, "shape");
}

TEST(Networks, FaultsAreNamed) {
  const auto error = [](const std::string& layers) {
    const TempDir folder;
    const std::string path = written(folder, network(3, layers));
    try {
      Model::load(path);
    } catch (const Error& found) {
      return std::string(found.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error(layer("mine", {"x"}, {"y"}, 500, field(10, "MyLayer"))),
            "m.mlmodel: neuralNetwork: layer 'mine': custom layers are not supported "
            "(class 'MyLayer', which only its app has)");
  EXPECT_EQ(error(inner_product(3, 2, floats(1, {1, 2, 3}))),
            "m.mlmodel: neuralNetwork: layer 'fc' (innerProduct): weights: there are 3 "
            "weights, the layer needs 6");
  EXPECT_NE(error(layer("new", {"x"}, {"y"}, 1999, "")).find("unknown type (field 1999)"),
            std::string::npos);
  EXPECT_NE(
      error(layer("loop", {}, {"y"}, 615, "")).find("the loop has no limit, condition or break"),
      std::string::npos);
  EXPECT_NE(
      error(layer("relu", {"z"}, {"y"}, 130, field(10, ""))).find("no earlier layer produces 'z'"),
      std::string::npos);
  std::string nested;
  for (int i = 0; i < 40; ++i) nested = layer("if", {"x"}, {"y"}, 605, field(1, nested));
  EXPECT_NE(error(nested).find("nest deeper than"), std::string::npos);
}

TEST(Networks, AreWrittenAsPrograms) {
  const TempDir folder;
  const std::string path =
      written(folder, network(3, inner_product(3, 2, floats(1, {1, 2, 3, 4, 5, 6}))));
  mil::write_package(mil::read_package(path), folder / "new.mlpackage");
  const Model model = Model::load(folder / "new.mlpackage", {.num_threads = 1});
  const Values outputs =
      model.function().predict({{"x", Tensor::from(std::vector<double>{1, 1, 1}, {3})}});
  EXPECT_EQ(std::get<Tensor>(outputs.at("y")).to_doubles(), (std::vector<double>{6, 15}));
}

}  // namespace
}  // namespace pippin
