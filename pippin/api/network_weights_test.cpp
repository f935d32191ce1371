// Weights of networks in few bits: their values, and the constants of programs that they become.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "pippin/api/network_testing.h"
#include "pippin/base/error_testing.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/package.h"

namespace pippin {
namespace {

using namespace network_testing;

enum class Coding : uint8_t { Linear, PerChannel, Table };

struct Product {
  const char* name;
  std::vector<uint64_t> weight;  // the shape as stored
  size_t channel_axis;
  std::vector<uint64_t> input;
  std::string (*layer)(const std::string& weights);
};

std::string convolution(uint64_t outputs, uint64_t inputs, bool transposed,
                        const std::string& weights) {
  return layer("conv", {"x"}, {"y"}, 100,
               field(1, outputs) + field(2, inputs) + field(50, "") +
                   field(60, static_cast<uint64_t>(transposed)) + field(90, weights));
}

const Product kProducts[] = {
    {"fc", {32, 40}, 0, {40}, [](const std::string& w) { return inner_product(40, 32, w); }},
    {"conv",
     {16, 8, 3, 3},
     0,
     {8, 6, 5},
     [](const std::string& w) { return convolution(16, 8, false, w); }},
    {"deconv",
     {8, 16, 3, 3},
     1,
     {8, 6, 5},
     [](const std::string& w) { return convolution(16, 8, true, w); }},
};

size_t count_of(const std::vector<uint64_t>& shape) {
  size_t count = 1;
  for (const uint64_t size : shape) count *= size;
  return count;
}

// Random numbers of an element each.
std::vector<uint8_t> random_numbers(size_t count, int bits) {
  std::mt19937 random(static_cast<uint32_t>(bits));
  std::vector<uint8_t> numbers(count);
  for (uint8_t& number : numbers) number = static_cast<uint8_t>(random() & ((1U << bits) - 1));
  return numbers;
}

// The most significant bit first.
std::string packed(const std::vector<uint8_t>& numbers, int bits) {
  std::string bytes((numbers.size() * static_cast<size_t>(bits) + 7) / 8, '\0');
  size_t bit = 0;
  for (const uint8_t number : numbers) {
    for (int i = bits - 1; i >= 0; --i, ++bit) {
      if ((number >> i & 1) != 0)
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] | 128 >> bit % 8);
    }
  }
  return bytes;
}

struct Weights {
  std::string quantized, plain;  // WeightParams
};

Weights make_weights(const Product& product, int bits, Coding coding) {
  const std::vector<uint8_t> numbers = random_numbers(count_of(product.weight), bits);
  const size_t channels = product.weight[product.channel_axis];
  size_t inner = 1;
  for (size_t i = product.channel_axis + 1; i < product.weight.size(); ++i) {
    inner *= product.weight[i];
  }
  std::vector<float> scale, bias, table;
  for (size_t i = 0; i < (coding == Coding::PerChannel ? channels : 1); ++i) {
    scale.push_back(0.01F * static_cast<float>(i + 1));
    bias.push_back(0.3F - 0.07F * static_cast<float>(i));
  }
  for (size_t i = 0; i < size_t{1} << bits; ++i) table.push_back(std::sin(static_cast<float>(i)));
  std::vector<float> values;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t channel = coding == Coding::PerChannel ? i / inner % channels : 0;
    values.push_back(coding == Coding::Table
                         ? table[numbers[i]]
                         : static_cast<float>(numbers[i]) * scale[channel] + bias[channel]);
  }
  const std::string how = coding == Coding::Table ? field(102, floats(1, table))
                                                  : field(101, floats(1, scale) + floats(2, bias));
  return {field(30, packed(numbers, bits)) + field(40, field(1, static_cast<uint64_t>(bits)) + how),
          floats(1, values)};
}

void expect_near(const std::vector<double>& found, const std::vector<double>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], wanted[i], 1e-5 * std::max(1.0, std::abs(wanted[i]))) << i;
  }
}

// The names of the operations of compressed constants.
std::string compressed_ops(const mil::Model& model) {
  std::string names;
  for (const auto& operation : model.program.functions.begin()->second->block().operations()) {
    if (operation->type().starts_with("constexpr_")) names += operation->type() + " ";
  }
  return names;
}

struct Form {
  std::string ops;
  double bits;  // of a stored weight
  mil::Opset opset;
};

Form wanted_form(int bits, Coding coding) {
  constexpr const char *kAffine = "constexpr_affine_dequantize ",
                       *kBlocks = "constexpr_blockwise_shift_scale ",
                       *kPalette = "constexpr_lut_to_dense ";
  using mil::Opset;
  if (coding == Coding::PerChannel) {
    return bits <= 4 ? Form{bits < 3 ? "" : kBlocks, 4, Opset::CoreML8}
                     : Form{kAffine, 8, Opset::CoreML6};
  }
  if (bits == 3) return {kPalette, 3, Opset::CoreML8};
  if (bits == 5) return {kPalette, 6, Opset::CoreML6};
  if (bits >= 7) return {coding == Coding::Table ? kPalette : kAffine, 8, Opset::CoreML6};
  return {kPalette, static_cast<double>(bits), Opset::CoreML6};
}

TEST(NetworkWeights, StayCompressed) {
  for (const Product& product : kProducts) {
    std::vector<double> x(count_of(product.input));
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::cos(static_cast<double>(i));
    const std::vector<int64_t> shape(product.input.begin(), product.input.end());
    for (int bits = 1; bits <= 8; ++bits) {
      for (const Coding coding : {Coding::Linear, Coding::PerChannel, Coding::Table}) {
        SCOPED_TRACE(
            fmt::format("{} of {} bits, coding {}", product.name, bits, static_cast<int>(coding)));
        const Weights weights = make_weights(product, bits, coding);
        const std::vector<double> wanted =
            predict(network(product.input, product.layer(weights.plain)), x, shape);
        const TempDir folder;
        const std::string file =
            written(folder, network(product.input, product.layer(weights.quantized)));
        expect_near(predict_file(file, x, shape), wanted);
        const mil::Model model = mil::read_package(file);
        const Form form = wanted_form(bits, coding);
        if (!form.ops.empty()) {
          EXPECT_EQ(compressed_ops(model), form.ops);
        }
        EXPECT_EQ(model.program.functions.begin()->second->opset, mil::to_string(form.opset));
        const auto count = static_cast<double>(count_of(product.weight));
        constexpr double kParameters = 1024 + 5 * 64;  // a palette of 8 bits; the records of blobs
        EXPECT_LE(static_cast<double>(mil::weight_file_bytes(model)),
                  count * form.bits / 8 + kParameters);
        const std::string package = (folder / "new.mlpackage").string();
        mil::write_package(model, package);
        expect_near(predict_file(package, x, shape), wanted);
      }
    }
  }
}

std::string signed_bytes(const std::vector<int>& values, float scale) {
  std::string bytes;
  for (const int value : values) bytes += static_cast<char>(value);
  return field(31, bytes) + field(40, field(101, floats(1, {scale})));
}

TEST(NetworkWeights, SignedBytesHaveNoOffset) {
  std::vector<int> numbers(80);
  std::vector<float> values(80);
  for (int i = 0; i < 80; ++i) {
    numbers[static_cast<size_t>(i)] = 3 * i - 120;
    values[static_cast<size_t>(i)] = 0.5F * static_cast<float>(3 * i - 120);
  }
  const TempDir folder;
  const std::string dynamic =
      layer("fc", {"x"}, {"y"}, 140,
            field(1, uint64_t{8}) + field(2, uint64_t{10}) +
                field(20, signed_bytes(numbers, 0.5F)) + field(22, uint64_t{1}));
  const std::string file = written(folder, network(8, dynamic));
  // Inputs that 8 bits hold exactly.
  const std::vector<double> x = {127, -127, 3, 0, 1, 2, -5, 100};
  expect_near(predict_file(file, x),
              predict(network(8, inner_product(8, 10, floats(1, values))), x));
  EXPECT_EQ(compressed_ops(mil::read_package(file)), "constexpr_affine_dequantize ");
}

std::string halves(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) {
    const uint16_t half = to_float16(value).bits;
    bytes += static_cast<char>(half & 255);
    bytes += static_cast<char>(half >> 8);
  }
  return field(2, bytes);
}

TEST(NetworkWeights, HalvesStayHalves) {
  std::vector<float> values(120);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.125F * static_cast<float>(i) - 3;
  const std::vector<double> x = {1, -2, 3, 0.5, 0, 1, 7, -1};
  const TempDir folder;
  const std::string file = written(folder, network(8, inner_product(8, 15, halves(values))));
  const std::vector<double> wanted =
      predict(network(8, inner_product(8, 15, floats(1, values))), x);
  expect_near(predict_file(file, x), wanted);
  const mil::Model model = mil::read_package(file);
  EXPECT_EQ(compressed_ops(model), "constexpr_cast ");
  EXPECT_LE(mil::weight_file_bytes(model), 240U + 3 * 64);
  const std::string package = (folder / "new.mlpackage").string();
  mil::write_package(model, package);
  expect_near(predict_file(package, x), wanted);
}

// Words of an embedding are columns of the stored matrix, its channels become the inner axis.
TEST(NetworkWeights, EmbeddingsAreTransposed) {
  const Product table{"", {12, 30}, 0, {1}, nullptr};
  for (const Coding coding : {Coding::Linear, Coding::PerChannel, Coding::Table}) {
    for (const int bits : {2, 4, 5, 8}) {
      SCOPED_TRACE(fmt::format("{} bits, coding {}", bits, static_cast<int>(coding)));
      const Weights weights = make_weights(table, bits, coding);
      const auto bytes = [](const std::string& w) {
        return network(std::vector<uint64_t>{3, 1},
                       layer("words", {"x"}, {"y"}, 1040,
                             field(1, uint64_t{30}) + field(2, uint64_t{12}) + field(20, w)));
      };
      const std::vector<double> x = {4, 29, 0};
      const TempDir folder;
      const std::string file = written(folder, bytes(weights.quantized));
      const std::vector<double> wanted = predict(bytes(weights.plain), x, {3, 1});
      expect_near(predict_file(file, x, {3, 1}), wanted);
      const mil::Model model = mil::read_package(file);
      EXPECT_FALSE(compressed_ops(model).empty());
      const std::string package = (folder / "new.mlpackage").string();
      mil::write_package(model, package);
      expect_near(predict_file(package, x, {3, 1}), wanted);
    }
  }
}

// The matrices of an LSTM's gates are one constant.
TEST(NetworkWeights, GatesAreStacked) {
  struct Case {
    Coding coding;
    int bits;
    const char* op;
  };
  for (const Case& one : {Case{Coding::Linear, 8, "constexpr_affine_dequantize "},
                          Case{Coding::PerChannel, 8, "constexpr_affine_dequantize "},
                          Case{Coding::PerChannel, 4, "constexpr_blockwise_shift_scale "},
                          Case{Coding::Linear, 2, "constexpr_lut_to_dense "},
                          Case{Coding::Table, 4, "constexpr_lut_to_dense "}}) {
    SCOPED_TRACE(fmt::format("{} bits, coding {}", one.bits, static_cast<int>(one.coding)));
    const Weights input = make_weights({"", {16, 12}, 0, {}, nullptr}, one.bits, one.coding);
    const Weights recursion = make_weights({"", {16, 16}, 0, {}, nullptr}, one.bits, one.coding);
    const std::vector<uint64_t> shape = {5, 1, 12, 1, 1};
    const auto bytes = [&](const std::string& w, const std::string& r) {
      std::string gates;
      for (uint32_t gate = 0; gate < 4; ++gate) gates += field(1 + gate, w) + field(20 + gate, r);
      return network(shape, layer("lstm", {"x"}, {"y"}, 420,
                                  field(1, uint64_t{12}) + field(2, uint64_t{16}) +
                                      field(15, field(10, uint64_t{1})) + field(20, gates)));
    };
    std::vector<double> x(60);
    for (size_t i = 0; i < x.size(); ++i) x[i] = 0.1 * std::cos(static_cast<double>(i));
    const std::vector<int64_t> dims(shape.begin(), shape.end());
    const TempDir folder;
    const std::string file = written(folder, bytes(input.quantized, recursion.quantized));
    const std::vector<double> wanted = predict(bytes(input.plain, recursion.plain), x, dims);
    expect_near(predict_file(file, x, dims), wanted);
    const mil::Model model = mil::read_package(file);
    EXPECT_EQ(compressed_ops(model), std::string(one.op) + one.op);
    const std::string package = (folder / "new.mlpackage").string();
    mil::write_package(model, package);
    expect_near(predict_file(package, x, dims), wanted);
  }
}

// Quantizers store channels of equal weights with a scale of 0.
TEST(NetworkWeights, ChannelsOfOneValue) {
  std::vector<uint8_t> numbers = random_numbers(80, 8);
  std::vector<float> values(80), scale = {0, 0.5F}, bias = {0.25F, -1};
  for (size_t i = 0; i < 80; ++i) {
    if (i < 40) numbers[i] = 7;
    values[i] = static_cast<float>(numbers[i]) * scale[i / 40] + bias[i / 40];
  }
  std::vector<double> x(40, 1);
  x[3] = -5;
  const auto file_of = [&](const TempDir& folder) {
    return written(
        folder,
        network(40,
                inner_product(40, 2,
                              field(30, packed(numbers, 8)) +
                                  field(40, field(1, uint64_t{8}) +
                                                field(101, floats(1, scale) + floats(2, bias))))));
  };
  const std::vector<double> wanted =
      predict(network(40, inner_product(40, 2, floats(1, values))), x);
  const TempDir folder;
  expect_near(predict_file(file_of(folder), x), wanted);
  EXPECT_EQ(compressed_ops(mil::read_package(folder / "m.mlmodel")),
            "constexpr_affine_dequantize ");
  // Different numbers with a scale of 0 stand for the same value, which no offset expresses.
  numbers[5] = 9;
  expect_near(predict_file(file_of(folder), x), wanted);
  EXPECT_EQ(compressed_ops(mil::read_package(folder / "m.mlmodel")), "");
}

TEST(NetworkWeights, FaultsAreNamed) {
  const auto error = [](const std::string& weights) {
    const TempDir folder;
    return thrown_message(
        [&] { Model::load(written(folder, network(40, inner_product(40, 24, weights)))); });
  };
  const std::string start = "m.mlmodel: neuralNetwork: layer 'fc' (innerProduct): weights: ";
  for (int bits = 1; bits <= 8; ++bits) {
    const size_t bytes = (static_cast<size_t>(960 * bits) + 7) / 8;
    const std::string how = field(40, field(1, static_cast<uint64_t>(bits)) + field(101, ""));
    for (const size_t size : {bytes - 1, bytes + 1}) {
      EXPECT_EQ(error(field(30, std::string(size, '\1')) + how),
                fmt::format("{}the quantized weights have {} bytes, 960 of {} bits need {}", start,
                            size, bits, bytes));
    }
  }
  EXPECT_EQ(error(field(30, "") + field(40, field(1, uint64_t{9}))),
            start + "numberOfBits is 9, not 1 to 8");
  const std::string bytes(960, '\1');
  EXPECT_EQ(
      error(field(30, bytes) + field(40, field(1, uint64_t{8}) + field(102, floats(1, {1, 2})))),
      start + "the look-up table has 2 values, 8 bits need 256");
  EXPECT_EQ(
      error(field(30, bytes) + field(40, field(1, uint64_t{8}) + field(101, floats(1, {1, 2, 3})))),
      start + "scale has 3 values, not 1 or one for each of 24 channels");
}

}  // namespace
}  // namespace pippin
