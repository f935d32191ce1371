// Convolutions and pooling against the reference.
#include "pippin/engine/fusion/fusion_testing.h"

namespace pippin::engine {
namespace {

std::string type_of(const std::vector<int64_t>& shape) {
  std::string text = "tensor<fp32, [";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + (shape[i] < 0 ? "?" : std::to_string(shape[i]));
  }
  return text + "]>";
}

using Sizes = std::vector<int64_t>;

struct Case {
  std::string op;
  Sizes x, weight, y;  // -1: of any size
  Sizes strides, dilations, pad;
  std::string pad_type;
  int64_t groups;
  bool bias;
  Sizes called;  // the shape passed for x
};

Case conv(Sizes x, Sizes weight, Sizes y, Sizes strides, Sizes dilations, Sizes pad,
          std::string pad_type = "custom", int64_t groups = 1, bool bias = true,
          Sizes called = {}) {
  return {"conv",         std::move(x),        std::move(weight),
          std::move(y),   std::move(strides),  std::move(dilations),
          std::move(pad), std::move(pad_type), groups,
          bias,           std::move(called)};
}

Case transposed(Case item) {
  item.op = "conv_transpose";
  return item;
}

ProgramText text_of(const Case& item) {
  ProgramText text(type_of(item.x) + " x");
  text.integers("strides", item.strides).integers("dilations", item.dilations);
  text.integers("pad", item.pad).array("weight", item.weight);
  text.number("type", "string", "\"" + item.pad_type + "\"");
  text.number("groups", "int32", std::to_string(item.groups));
  text.array("bias", {item.op == "conv_transpose" ? item.weight[1] * item.groups : item.weight[0]});
  return text.op("y", type_of(item.y),
                 item.op +
                     "(x = x, weight = weight, strides = strides, dilations = dilations, pad = "
                     "pad, pad_type = type, groups = groups" +
                     (item.bias ? ", bias = bias)" : ")"));
}

void expect_same(const Case& item,
                 const std::vector<Fill>& fills = {Fill::Ordinary, Fill::Extremes}) {
  SCOPED_TRACE(fmt::format("{} of {} by {}, strides {}, dilations {}, pad {}, groups {}", item.op,
                           item.x, item.weight, item.strides, item.dilations, item.pad,
                           item.groups));
  expect_same_values(text_of(item).returns("y"), {{item.called.empty() ? item.x : item.called}},
                     fills);
}

TEST(Planes, Convolutions) {
  for (const Case& item : std::vector<Case>{
           // More places than a panel has, more channels than a piece; odd outputs.
           conv({1, 5, 9, 13}, {11, 5, 3, 3}, {1, 11, 9, 13}, {1, 1}, {1, 1}, {1, 1, 1, 1}),
           conv({2, 3, 12, 11}, {4, 3, 3, 5}, {2, 4, 6, 3}, {2, 3}, {1, 1}, {1, 1, 0, 2}),
           conv({1, 4, 10, 9}, {6, 2, 2, 3}, {1, 6, 9, 3}, {1, 1}, {1, 3}, {0, 0, 0, 0}, "custom",
                2, false),
           conv({1, 300, 3, 3}, {2, 300, 3, 3}, {1, 2, 3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}, "same"),
           conv({1, 2, 7, 7}, {3, 2, 2, 2}, {1, 3, 4, 4}, {2, 2}, {1, 1}, {0, 0, 0, 0},
                "same_lower"),
           // One element at every place: a product of lists of places.
           conv({1, 3, 7, 9}, {9, 3, 1, 1}, {1, 9, 7, 9}, {1, 1}, {1, 1}, {0, 0, 0, 0}),
           conv({1, 3, 7, 9}, {2, 3, 1, 1}, {1, 2, 3, 3}, {3, 4}, {1, 1}, {0, 0, 0, 0}),
           // More outputs than one job takes at so few places; every second element of wide rows.
           conv({1, 64, 7, 7}, {200, 64, 1, 1}, {1, 200, 7, 7}, {1, 1}, {1, 1}, {0, 0, 0, 0}),
           conv({2, 20, 9, 9}, {131, 20, 3, 3}, {2, 131, 5, 5}, {2, 2}, {1, 1}, {1, 1, 1, 1}),
           conv({1, 5, 9, 71}, {7, 5, 3, 3}, {1, 7, 5, 36}, {2, 2}, {1, 1}, {1, 1, 1, 1}),
           // A kernel larger than its input; windows that see only padding.
           conv({1, 2, 2, 1}, {2, 2, 3, 3}, {1, 2, 3, 2}, {1, 1}, {1, 1}, {2, 1, 1, 2}),
           conv({1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}),
           // One and three axes.
           conv({2, 3, 50}, {4, 3, 5}, {2, 4, 24}, {2}, {1}, {2, 0}),
           conv({1, 2, 60}, {3, 2, 2}, {1, 3, 40}, {1}, {20}, {0, 0}),
           conv({1, 2, 4, 5, 6}, {3, 2, 2, 3, 2}, {1, 3, 4, 3, 4}, {1, 2, 2}, {1, 1, 1},
                {1, 0, 1, 1, 1, 1}),
           // Of any size.
           conv({-1, 2, -1, -1}, {3, 2, 3, 3}, {-1, 3, -1, -1}, {2, 1}, {1, 1}, {1, 1, 1, 1},
                "custom", 1, true, {2, 2, 5, 64})}) {
    expect_same(item);
  }
}

bool is_by_winograd(const mil::Model& model, Precision precision) {
  PlanOptions options;
  options.compute.precision = precision;
  return Plan::make(model, "main", options)->describe().find("Winograd") != std::string::npos;
}

// Few products in `fast`: maps that end within a tile, tiles over all edges, odd channels.
TEST(Planes, ConvolutionsByWinograd) {
  for (const Case& item : std::vector<Case>{
           conv({1, 20, 26, 37}, {19, 20, 3, 3}, {1, 19, 26, 37}, {1, 1}, {1, 1}, {1, 1, 1, 1}),
           conv({2, 24, 19, 22}, {33, 24, 3, 3}, {2, 33, 17, 25}, {1, 1}, {1, 1}, {0, 0, 2, 3},
                "custom", 1, false),
           conv({1, 24, 24, 24}, {70, 24, 3, 3}, {1, 70, 24, 24}, {1, 1}, {1, 1}, {0, 0, 0, 0},
                "same"),
           // Tiles that lie outside x.
           conv({1, 32, 3, 60}, {32, 32, 3, 3}, {1, 32, 13, 60}, {1, 1}, {1, 1}, {9, 3, 1, 1})}) {
    ProgramText text = text_of(item);
    text.op("z", type_of(item.y), "relu(x = y)");
    const mil::Model model = text.returns("z");
    EXPECT_TRUE(is_by_winograd(model, Precision::Fast));
    EXPECT_FALSE(is_by_winograd(model, Precision::Exact));
    SCOPED_TRACE(fmt::format("{} by {}", item.x, item.weight));
    expect_same_values(model, {{item.x}}, {Fill::Ordinary, Fill::Zeros, Fill::Large}, 5e-5,
                       Precision::Fast);
  }
}

TEST(Planes, OthersAreDirectInFast) {
  for (const Case& item : std::vector<Case>{
           // Few places, few channels, dilated taps or strided windows, groups.
           conv({1, 64, 4, 4}, {64, 64, 3, 3}, {1, 64, 4, 4}, {1, 1}, {1, 1}, {1, 1, 1, 1}),
           conv({1, 2, 40, 40}, {5, 2, 3, 3}, {1, 5, 40, 40}, {1, 1}, {1, 1}, {1, 1, 1, 1}),
           conv({1, 32, 24, 24}, {32, 32, 3, 3}, {1, 32, 12, 12}, {2, 2}, {1, 1}, {1, 1, 1, 1}),
           conv({1, 32, 24, 24}, {32, 32, 3, 3}, {1, 32, 24, 24}, {1, 1}, {2, 2}, {2, 2, 2, 2}),
           conv({1, 64, 24, 24}, {64, 32, 3, 3}, {1, 64, 24, 24}, {1, 1}, {1, 1}, {1, 1, 1, 1},
                "custom", 2)}) {
    const mil::Model model = text_of(item).returns("y");
    EXPECT_FALSE(is_by_winograd(model, Precision::Fast));
    expect_same_values(model, {{item.x}}, {Fill::Ordinary, Fill::Extremes}, 2e-5, Precision::Fast);
  }
}

TEST(Planes, DepthwiseConvolutions) {
  for (const Case& item :
       std::vector<Case>{conv({1, 3, 9, 70}, {3, 1, 3, 3}, {1, 3, 9, 70}, {1, 1}, {1, 1},
                              {1, 1, 1, 1}, "custom", 3),
                         conv({2, 2, 8, 9}, {4, 1, 5, 3}, {2, 4, 4, 5}, {2, 2}, {1, 1},
                              {2, 2, 1, 1}, "custom", 2, false),
                         conv({1, 2, 9, 9}, {2, 1, 3, 2}, {1, 2, 9, 2}, {1, 3}, {2, 4},
                              {2, 2, 1, 0}, "custom", 2),
                         conv({1, 2, 2100}, {2, 1, 3}, {1, 2, 2099}, {1}, {2}, {1, 2}, "custom", 2),
                         conv({1, 2, 3, 4, 5}, {2, 1, 2, 2, 2}, {1, 2, 2, 3, 3}, {1, 1, 2},
                              {1, 1, 1}, {0, 0, 0, 0, 1, 0}, "custom", 2)}) {
    expect_same(item);
  }
}

// With channels last: tiles that end within a row and within a panel, sums of several pieces,
// windows over all edges and larger than x, dilated taps and strided windows, groups, few channels
// whose rows of taps become channels, sizes that are known only at run time.
TEST(Planes, ConvolutionsOfPlaces) {
  const std::vector<int64_t> once = {1, 1}, twice = {2, 2};
  for (const Case& item : std::vector<Case>{
           conv({1, 13, 9, 10}, {17, 13, 3, 3}, {1, 17, 4, 8}, {2, 1}, {1, 2}, {1, 0, 0, 2}),
           conv({2, 18, 5, 5}, {16, 9, 3, 3}, {2, 16, 5, 5}, once, once, {0, 0, 0, 0}, "same", 2),
           conv({1, 9, 2, 3}, {8, 9, 5, 5}, {1, 8, 4, 5}, once, once, {3, 3, 3, 3}),
           conv({1, 9, 2, 3}, {8, 9, 2, 2}, {1, 8, 3, 2}, once, {9, 9}, {5, 5, 4, 4}),
           conv({1, 300, 6, 7}, {20, 300, 1, 1}, {1, 20, 6, 7}, once, once, {0, 0, 0, 0}),
           conv({1, 70, 6, 6}, {33, 70, 3, 3}, {1, 33, 3, 3}, twice, once, {1, 1, 1, 1}),
           conv({1, 3, 9, 11}, {16, 3, 3, 3}, {1, 16, 5, 6}, twice, once, {1, 1, 1, 1}),
           conv({1, 3, 9, 12}, {16, 3, 3, 3}, {1, 16, 5, 6}, twice, once, {0, 0, 0, 0}, "same"),
           conv({2, 1, 7, 12}, {9, 1, 7, 5}, {2, 9, 7, 4}, {1, 3}, once, {3, 3, 2, 0}),
           conv({2, 2, 9, 9}, {8, 2, 3, 3}, {2, 8, 9, 7}, once, {1, 2}, {1, 1, 1, 1}),
           conv({1, 4, 6, 6}, {8, 4, 1, 1}, {1, 8, 6, 6}, once, once, {0, 0, 0, 0}),
           conv({1, 12, 40}, {10, 12, 3}, {1, 10, 20}, {2}, {1}, {1, 1}),
           conv({1, 9, 3, 4, 5}, {8, 9, 2, 2, 2}, {1, 8, 3, 3, 4}, {1, 1, 1}, {1, 1, 1},
                {1, 0, 0, 0, 0, 0}, "custom", 1, false),
           conv({1, 3, -1, -1}, {8, 3, 3, 3}, {1, 8, -1, -1}, once, once, {1, 1, 1, 1}, "custom", 1,
                true, {1, 3, 6, 7}),
           conv({1, 19, 7, 8}, {19, 1, 3, 3}, {1, 19, 4, 4}, twice, once, {1, 1, 1, 1}, "custom",
                19),
           conv({2, 8, 9, 9}, {8, 1, 5, 5}, {2, 8, 9, 9}, once, once, {0, 0, 0, 0}, "same", 8),
           // Rows so wide that places inside x are computed together.
           conv({2, 9, 4, 31}, {9, 1, 3, 3}, {2, 9, 4, 31}, once, once, {0, 0, 0, 0}, "same", 9),
           conv({1, 8, 5, 250}, {8, 1, 5, 5}, {1, 8, 5, 250}, once, once, {0, 0, 0, 0}, "same", 8),
           conv({1, 8, 5, 41}, {8, 1, 3, 3}, {1, 8, 3, 21}, twice, once, {1, 1, 1, 1}, "custom", 8),
           conv({1, 8, 7, 41}, {8, 1, 3, 3}, {1, 8, 3, 37}, once, twice, {0, 0, 0, 0}, "custom", 8),
           conv({1, 8, 3, 40}, {8, 1, 2, 3}, {1, 8, 2, 20}, twice, twice, {1, 1, 0, 3}, "custom",
                8),
           conv({1, 9, 3, 4}, {9, 1, 3, 2}, {1, 9, 3, 6}, once, {4, 5}, {4, 4, 3, 4}, "custom", 9),
           conv({1, 160, 7, 7}, {160, 1, 3, 3}, {1, 160, 7, 7}, once, once, {1, 1, 1, 1}, "custom",
                160)}) {
    EXPECT_NE(described(text_of(item).returns("y")).find("channels-last"), std::string::npos);
    expect_same(item);
  }
}

// Convolutions, their finishes, pools, joins, halves and means of maps pass channels last to each
// other: no map is copied except x and the program's outputs.
TEST(Planes, MapsKeepTheirLayout) {
  const auto maps = [](int64_t channels, int64_t height, int64_t width) {
    return type_of({2, channels, height, width});
  };
  ProgramText text(maps(5, 8, 10) + " x");
  text.integers("one", {1, 1}).integers("two", {2, 2}).integers("three", {3, 3});
  text.integers("around", {1, 1, 1, 1}).integers("places", {2, 3});
  text.array("first", {12, 5, 3, 3}).array("alpha", {12}, 0.3).array("variance", {12}, 1.5);
  text.array("own", {12, 1, 3, 3}).array("last", {9, 12, 1, 1}).array("gate", {12, 12, 1, 1});
  text.number("same", "string", "\"same\"").number("custom", "string", "\"custom\"");
  text.number("twelve", "int32", "12").number("axis", "int32", "1");
  text.number("factor", "int32", "2");
  text.op("a", maps(12, 8, 10), "conv(x = x, weight = first, pad_type = same)");
  text.op("b", maps(12, 8, 10),
          "batch_norm(x = a, mean = alpha, variance = variance, gamma = variance, beta = alpha)");
  text.op("c", maps(12, 8, 10), "prelu(x = b, alpha = alpha)");
  text.op("d", maps(12, 4, 5),
          "max_pool(x = c, kernel_sizes = three, strides = two, pad = around, "
          "pad_type = custom)");
  text.op("e", maps(12, 4, 5), "conv(x = d, weight = own, groups = twelve, pad_type = same)");
  text.op("f", maps(12, 4, 5), "silu(x = e)");
  text.op("g", maps(12, 4, 5), "add(x = d, y = f)");
  text.op("h", maps(12, 4, 5),
          "avg_pool(x = g, kernel_sizes = three, strides = one, pad = around, pad_type = custom)");
  text.op("i", maps(12, 4, 5),
          "avg_pool(x = h, kernel_sizes = three, strides = one, pad = around, pad_type = custom, "
          "exclude_padding_from_average = yes)");
  text.op("j", maps(12, 1, 1), "reduce_mean(x = i, axes = places, keep_dims = yes)");
  text.op("k", maps(12, 4, 5), "mul(x = i, y = j)");
  text.op("l", maps(12, 8, 10),
          "upsample_nearest_neighbor(x = k, scale_factor_height = factor, "
          "scale_factor_width = factor)");
  text.op("m", maps(24, 8, 10), "concat(values = (l, c), axis = axis, interleave = no)");
  text.array("mixed", {9, 24, 1, 1});
  text.op("y", maps(9, 8, 10), "conv(x = m, weight = mixed, pad_type = same)");
  const mil::Model model = text.returns("y");
  const std::string steps = described(model);
  size_t copies = 0;
  for (size_t at = steps.find("copy"); at != std::string::npos; at = steps.find("copy", at + 1)) {
    ++copies;
  }
  EXPECT_LE(copies, 4U) << steps;  // of x, both parts of the join, y
  expect_same_values(model, {{{2, 5, 8, 10}}}, {Fill::Ordinary, Fill::Zeros, Fill::Extremes});
}

TEST(Planes, TransposedConvolutions) {
  for (const Case& item : std::vector<Case>{
           transposed(
               conv({1, 3, 4, 5}, {3, 2, 2, 2}, {1, 2, 8, 10}, {2, 2}, {1, 1}, {0, 0, 0, 0})),
           // Phases with different taps, without taps, and one with dilated taps.
           transposed(
               conv({2, 2, 4, 5}, {2, 3, 3, 4}, {2, 3, 7, 10}, {2, 2}, {1, 1}, {1, 1, 1, 1})),
           transposed(conv({1, 2, 3, 3}, {2, 2, 2, 1}, {1, 2, 8, 7}, {3, 3}, {1, 1}, {0, 0, 0, 0})),
           transposed(conv({1, 4, 5}, {4, 1, 3}, {1, 2, 15}, {3}, {2}, {1, 1}, "custom", 2)),
           transposed(conv({1, 2, 6, 4}, {2, 3, 3, 3}, {1, 3, 6, 4}, {1, 1}, {1, 1}, {1, 1, 1, 1},
                           "custom", 1, false)),
           // By channel.
           transposed(conv({1, 3, 4, 4}, {3, 1, 4, 4}, {1, 3, 8, 8}, {2, 2}, {1, 1}, {1, 1, 1, 1},
                           "custom", 3)),
           transposed(conv({1, 2, 3, 2, 3}, {2, 2, 2, 1, 3}, {1, 2, 6, 2, 5}, {2, 1, 1}, {1, 1, 1},
                           {0, 0, 0, 0, 0, 0}))}) {
    expect_same(item);
  }
}

TEST(Planes, WeightsThatAreComputed) {
  ProgramText text("tensor<fp32, [1, 4, 5, 6]> x, tensor<fp32, [6, 2, 3, 3]> w");
  text.number("type", "string", "\"same\"").number("groups", "int32", "2");
  text.op("y", "tensor<fp32, [1, 6, 5, 6]>",
          "conv(x = x, weight = w, pad_type = type, groups = groups)");
  expect_same_values(text.returns("y"), {{{1, 4, 5, 6}, {6, 2, 3, 3}}}, {Fill::Ordinary});
}

TEST(Planes, ViewsThatAreNotContiguous) {
  ProgramText text("tensor<fp32, [1, 9, 11, 5]> x");
  text.integers("perm", {0, 3, 1, 2}).array("weight", {3, 5, 2, 2});
  text.number("type", "string", "\"valid\"");
  text.op("turned", "tensor<fp32, [1, 5, 9, 11]>", "transpose(x = x, perm = perm)");
  text.part("part", "tensor<fp32, [1, 5, 9, 6]>", "turned", 4, 3, 2, 8);
  text.op("y", "tensor<fp32, [1, 3, 8, 5]>", "conv(x = part, weight = weight, pad_type = type)");
  expect_same_values(text.returns("y"), {{{1, 9, 11, 5}}});
}

TEST(Planes, Pooling) {
  struct Pool {
    std::vector<int64_t> x, kernel, strides, pad, y;
    bool ceil = false;
    std::string pad_type = "custom";
  };
  const std::vector<Pool> pools = {
      {{1, 3, 8, 9}, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 3, 4, 4}},
      {{2, 2, 9, 70}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {2, 2, 9, 70}},
      {{1, 2, 7, 8}, {3, 2}, {2, 3}, {1, 1, 0, 1}, {1, 2, 4, 3}, true},
      {{1, 2, 7, 8}, {7, 8}, {1, 1}, {0, 0, 0, 0}, {1, 2, 1, 1}},
      {{1, 2, 33}, {4}, {3}, {1, 2}, {1, 2, 11}},
      {{1, 2, 3, 4, 5}, {2, 2, 2}, {1, 2, 2}, {1, 0, 0, 0, 1, 0}, {1, 2, 3, 2, 3}},
      {{1, 1, 5, 5}, {3, 3}, {2, 2}, {0, 0, 0, 0}, {1, 1, 3, 3}, false, "same"}};
  for (const Pool& pool : pools) {
    for (const std::string op : {"max_pool", "avg_pool", "l2_pool", "inside"}) {
      SCOPED_TRACE(fmt::format("{} of {}, kernel {}", op, pool.x, pool.kernel));
      ProgramText text(type_of(pool.x) + " x");
      text.integers("kernel", pool.kernel).integers("strides", pool.strides);
      text.integers("pad", pool.pad).number("ceil", "bool", pool.ceil ? "true" : "false");
      text.number("type", "string", "\"" + pool.pad_type + "\"");
      text.op("y", type_of(pool.y),
              fmt::format("{}(x = x, kernel_sizes = kernel, strides = strides, pad = pad, pad_type "
                          "= type, ceil_mode = ceil{})",
                          op == "inside" ? "avg_pool" : op,
                          op == "inside" ? ", exclude_padding_from_average = yes" : ""));
      expect_same_values(text.returns("y"), {{pool.x}},
                         {Fill::Ordinary, Fill::Zeros, Fill::Extremes});
    }
  }
}

}  // namespace
}  // namespace pippin::engine
