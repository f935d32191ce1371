// Neural network models, encoded byte by byte: rejected files, and features that other tools' cases
// do not cover.
#include <gtest/gtest.h>

#include "pippin/api/model.h"
#include "pippin/api/network_testing.h"
#include "pippin/base/error_testing.h"
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

// Values of a loop are unknown to patterns of later operations.
TEST(Networks, ResultsOfLoopsAreJoined) {
  const std::string body =
      layer("double", {"z"}, {"t"}, 231, single(1, 2)) + layer("back", {"t"}, {"z"}, 600, "");
  const std::string loop = layer("start", {"x"}, {"z"}, 600, "") +
                           layer("loop", {}, {}, 615, field(1, uint64_t{2}) + field(4, body));
  const std::string bytes =
      network(std::vector<uint64_t>{1, 2},
              loop + layer("join", {"z", "x"}, {"y"}, 980, field(1, uint64_t{0})));
  EXPECT_EQ(predict(bytes, {1, 3}, {1, 2}), (std::vector<double>{4, 12, 1, 3}));
}

// `t` has one axis in a branch and two in the other one.
TEST(Networks, BranchesMayUseANameDifferently) {
  const std::string positive = layer("positive", {"x"}, {"c"}, 830, "");
  const std::string sum = field(3, uint64_t{1});
  const std::string yes =
      layer("sum", {"x"}, {"t"}, 1270, sum) + layer("twice", {"t"}, {"y"}, 231, single(1, 2));
  const std::string no = layer("wide", {"x"}, {"t"}, 1125, field(1, uint64_t{0})) +
                         layer("least", {"t"}, {"y"}, 1265, sum);
  const std::string all = layer("any", {"c"}, {"d"}, 1260, sum) +
                          layer("if", {"d"}, {}, 605, field(1, yes) + field(2, no));
  EXPECT_EQ(predict(network(2, positive + all), {1, 3}), (std::vector<double>{8}));
  EXPECT_EQ(predict(network(2, positive + all), {-1, -3}), (std::vector<double>{-3}));
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

TEST(Networks, AbsentStatesHaveTheBatchOfTheInput) {
  const auto matrix = [](uint32_t number, std::vector<float> values) {
    return field(number, floats(1, values));
  };
  std::string weights;
  for (const uint32_t gate : {1U, 3U, 4U}) {  // coupled: the forget gate has none
    weights += matrix(gate, {0}) + matrix(gate + 19, {0}) + matrix(gate + 39, {1});
  }
  const std::string lstm =
      layer("lstm", {"x", "h", "c"}, {"y"}, 420,
            field(1, uint64_t{1}) + field(2, uint64_t{1}) +
                field(15, field(20, uint64_t{1}) + field(50, uint64_t{1})) + field(20, weights));
  const std::string state = wire::array_type({1}, wire::kFloat);
  const std::string bytes =
      wire::model(wire::description({{"x", wire::array_type({1}, wire::kFloat)},
                                     {"h", wire::optional(state)},
                                     {"c", wire::optional(state)}},
                                    {{"y", wire::array_type({}, wire::kFloat)}}),
                  kNetwork, lstm);
  const TempDir folder;
  const Model model = Model::load(written(folder, bytes), {.num_threads = 1});
  const Values outputs = model.function().predict(
      {{"x", Tensor::from(std::vector<double>{1, 2, 3}, {1, 3, 1, 1, 1})}});
  const Tensor& y = std::get<Tensor>(outputs.at("y"));
  EXPECT_EQ(y.shape(), (std::vector<int64_t>{1, 3, 1, 1, 1}));
  const double gate = 1 / (1 + std::exp(-1.0)), cell = gate * std::tanh(1.0);
  for (const double value : y.to_doubles()) EXPECT_NEAR(value, gate * std::tanh(cell), 1e-6);
}

TEST(Networks, TheDefaultShapeIsAllowedWithOthers) {
  const std::string others =
      field(21, field(1, field(1, std::string("\x05"))) + field(1, field(1, std::string("\x07"))));
  const std::string bytes = wire::model(
      wire::description(
          {{"x", field(5, field(1, std::string("\x03")) + field(2, wire::kFloat) + others)}},
          {{"y", wire::array_type({}, wire::kFloat)}}),
      kNetwork, layer("twice", {"x"}, {"y"}, 231, single(1, 2)) + field(5, uint64_t{1}));
  EXPECT_EQ(predict(bytes, {1, 2, 3}), (std::vector<double>{2, 4, 6}));
  EXPECT_EQ(predict(bytes, {1, 2, 3, 4, 5}), (std::vector<double>{2, 4, 6, 8, 10}));
  EXPECT_ERROR(predict(bytes, {1, 2, 3, 4}), ErrorCode::InvalidArgument, "shape");
}

TEST(Networks, SuppressionDropsScoresAtTheThreshold) {
  const std::string bytes =
      wire::model(wire::description({{"boxes", wire::array_type({1, 3, 4}, wire::kFloat)},
                                     {"scores", wire::array_type({1, 3, 1}, wire::kFloat)}},
                                    {{"n", wire::array_type({}, wire::kFloat)}}),
                  kNetwork,
                  layer("nms", {"boxes", "scores"}, {"b", "s", "i", "n"}, 1400,
                        single(1, 0.5F) + single(2, 0.5F) + field(3, uint64_t{3})) +
                      field(5, uint64_t{1}));
  const TempDir folder;
  const Model model = Model::load(written(folder, bytes), {.num_threads = 1});
  const std::vector<double> boxes = {0, 0, 1, 1, 5, 5, 1, 1, 9, 9, 1, 1}, scores = {0.9, 0.5, 0.6};
  const Values outputs = model.function().predict(
      {{"boxes", Tensor::from(boxes, {1, 3, 4})}, {"scores", Tensor::from(scores, {1, 3, 1})}});
  EXPECT_EQ(std::get<Tensor>(outputs.at("n")).to_doubles(), (std::vector<double>{2}));
}

TEST(Networks, FaultsAreNamed) {
  const auto error = [](const std::string& layers, const std::vector<uint64_t>& shape = {3}) {
    const TempDir folder;
    const std::string path = written(folder, network(shape, layers));
    return thrown_message([&] { Model::load(path); });
  };
  EXPECT_EQ(error(layer("mine", {"x"}, {"y"}, 500, field(10, "MyLayer"))),
            "m.mlmodel: neuralNetwork: layer 'mine': custom layers are not supported "
            "(class 'MyLayer', which only its app has)");
  EXPECT_NE(error(layer("most", {"x"}, {"y"}, 1015, field(2, uint64_t{1} << 32 | 1)))
                .find("the number 4294967297 has more than 32 bits"),
            std::string::npos);
  EXPECT_NE(error(layer("swap", {"x"}, {"y"}, 985, field(1, uint64_t{0}) + field(1, uint64_t{0})))
                .find("'swap' (transpose)"),
            std::string::npos);
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
  for (const auto& [type, field_number] : {std::pair(210, 5), std::pair(301, 1)}) {
    EXPECT_NE(error(layer("mode", {"x"}, {"y"}, static_cast<uint32_t>(type),
                          field(static_cast<uint32_t>(field_number), uint64_t{2})),
                    {1, 2, 2})
                  .find("unknown mode 2"),
              std::string::npos);
  }
  std::string nested;
  for (int i = 0; i < 40; ++i) nested = layer("if", {"x"}, {"y"}, 605, field(1, nested));
  EXPECT_NE(error(nested).find("nest deeper than"), std::string::npos);
}

// The name of an input becomes that of another value, which an ML Program cannot express.
TEST(Networks, OutputsMayReplaceInputs) {
  const std::string layers =
      layer("twice", {"x"}, {"t"}, 231, single(1, 2)) + layer("back", {"t"}, {"x"}, 600, "");
  const auto model_of = [&](const std::string& mapping) {
    return wire::model(wire::description({{"x", wire::array_type({3}, wire::kFloat)}},
                                         {{"x", wire::array_type({3}, wire::kFloat)},
                                          {"t", wire::array_type({3}, wire::kFloat)}}),
                       kNetwork, layers + mapping);
  };
  const auto x_of = [](const std::filesystem::path& path) {
    const Model model = Model::load(path, {.num_threads = 1});
    const Values outputs =
        model.function().predict({{"x", Tensor::from(std::vector<double>{1, 2, 3}, {3})}});
    EXPECT_EQ(outputs.size(), 2u);
    return std::get<Tensor>(outputs.at("x")).to_doubles();
  };
  for (const std::string& mapping : {std::string(), field(5, uint64_t{1})}) {
    const TempDir folder;
    const std::string path = written(folder, model_of(mapping));
    EXPECT_EQ(x_of(path), (std::vector<double>{2, 4, 6}));
    mil::write_package(mil::read_package(path), folder / "new.mlpackage");
    EXPECT_EQ(x_of(folder / "new.mlpackage"), (std::vector<double>{2, 4, 6}));
  }
}

TEST(Networks, HaveTheVersionOfTheirFile) {
  const TempDir folder;
  const Model model =
      Model::load(written(folder, network(3, layer("relu", {"x"}, {"y"}, 130, field(10, "")))));
  EXPECT_EQ(model.metadata().specification_version, 5);
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
