// Rules about weights: their number, form, and effect on magnitudes.
#include <fmt/format.h>

#include "pippin/doctor/doctor_testing.h"

namespace pippin::doctor {
namespace {

std::string blob_at(const std::string& name, const std::string& type, const std::string& shape,
                    int offset) {
  const std::string tensor = fmt::format("tensor<{}, [{}]>", type, shape);
  return fmt::format(
      "{0} {1} = const()[val = {0}(BLOBFILE(path = string(\"@model_path/weights/w.bin\"), offset = "
      "uint64({2})))]; ",
      tensor, name, offset);
}

// A product with a weight of the given number of rows and columns.
std::string product(const std::string& weight, int rows, int columns,
                    const std::string& opset = "ios18") {
  return main_of(
      fmt::format("tensor<fp16, [1, {}]> x", columns),
      fmt::format("{}tensor<fp16, [1, {}]> y = linear(x = x, weight = w);", weight, rows), opset);
}

std::string fp16_product(int rows, int columns) {
  return product(blob_at("w", "fp16", fmt::format("{}, {}", rows, columns), 64), rows, columns);
}

std::string int4_product(int blocks) {
  return product(blob_at("d", "int4", "8, 64", 64) +
                     blob_at("s", "fp16", fmt::format("8, {}", blocks), 640) +
                     "tensor<fp16, [8, 64]> w = constexpr_blockwise_shift_scale(data = d, scale = "
                     "s)[name = string(\"w\")]; ",
                 8, 64);
}

// The form of iOS 16.
std::string palette_product() {
  return product(
      "tensor<fp16, [8, 64]> w = constexpr_lut_to_dense()[name = string(\"w\"), indices "
      "= tensor<uint8, [64]>(BLOBFILE(path = string(\"@model_path/weights/w.bin\"), "
      "offset = uint64(64))), lut = tensor<fp16, [2]>([0x0p+0, 0x1p+0]), shape = "
      "tensor<uint32, [2]>([8, 64])]; ",
      8, 64, "ios16");
}

// A palette of 16 numbers for all rows, and a scale for each of them.
std::string scaled_palette(const std::string& type) {
  return product(blob_at("i", "uint4", "8, 64", 64) + blob_at("l", type, "1, 1, 16, 1", 640) +
                     blob_at("s", "fp16", "8, 1", 1280) + "tensor<" + type +
                     ", [8, 64]> p = constexpr_lut_to_dense(indices = i, lut = l)[name = "
                     "string(\"p\")]; tensor<fp16, [8, 64]> w = "
                     "constexpr_blockwise_shift_scale(data = p, scale = s)[name = string(\"w\")]; ",
                 8, 64);
}

std::string sum_of(int terms) {
  return main_of(fmt::format("tensor<fp16, [1, {}]> x", terms),
                 "tensor<fp16, [1, 1]> y = reduce_sum(x = x, axes = tensor<int32, [1]>([-1]), "
                 "keep_dims = bool(true));");
}

// The sum of exp(x), or of exp of x minus its maximum.
std::string exponentials(bool shifted) {
  const std::string type = "tensor<fp16, [1, 64]>", one = "tensor<fp16, [1, 1]>";
  const std::string reduced = "(x = {}, axes = tensor<int32, [1]>([-1]), keep_dims = bool(true))";
  return main_of(type + " x", one + " m = reduce_max" + fmt::format(fmt::runtime(reduced), "x") +
                                  "; " + type + " h = sub(x = x, y = m); " + type +
                                  " e = exp(x = " + (shifted ? "h" : "x") + "); " + one +
                                  " y = reduce_sum" + fmt::format(fmt::runtime(reduced), "e") +
                                  ";");
}

std::string layer_norm(const std::string& epsilon) {
  return main_of("tensor<fp16, [1, 64]> x",
                 "tensor<fp16, [1, 64]> y = layer_norm(x = x, axes = tensor<int32, [1]>([-1]), "
                 "epsilon = " +
                     epsilon + ");");
}

// x times a number, squared, and the mean over a row.
std::string norm_of(const std::string& factor, const std::string& squares = "mul(x = h, y = h)") {
  const std::string type = "tensor<fp16, [1, 8, 64]>";
  return main_of(type + " x",
                 fmt::format("{0} h = mul(x = x, y = fp16({1})); {0} s = {2}; tensor<fp16, [1, 8, "
                             "1]> y = reduce_mean(x = s, axes = tensor<int32, [1]>([-1]), "
                             "keep_dims = bool(true));",
                             type, factor, squares));
}

// The same for x divided by its own maximum.
std::string scaled_norm() {
  return main_of("tensor<fp16, [1, 8, 64]> x",
                 "tensor<fp16, [1, 8, 64]> a = abs(x = x); tensor<fp16, [1, 8, 1]> m = "
                 "reduce_max(x = a, axes = tensor<int32, [1]>([-1]), keep_dims = bool(true)); "
                 "tensor<fp16, [1, 8, 64]> h = real_div(x = x, y = m); tensor<fp16, [1, 8, 64]> s "
                 "= mul(x = h, y = h); tensor<fp16, [1, 8, 1]> y = reduce_mean(x = s, axes = "
                 "tensor<int32, [1]>([-1]), keep_dims = bool(true));");
}

}  // namespace

std::vector<RuleCase> number_cases() {
  return {
      {"compression-version", int4_product(2), palette_product(), "ios17"},
      {"expanded-at-load", palette_product(), palette_product(), "ios16", {}, {}, "ios17"},
      {"linear-blocks", int4_product(2), int4_product(1)},
      {"palette-scale", scaled_palette("fp16"), scaled_palette("int8")},
      {"sum-overflow", sum_of(65536), sum_of(1024)},
      {"exp-sum", exponentials(false), exponentials(true)},
      {"exp-sum", main_of("tensor<fp16, [1, 64]> x", "tensor<fp16, [1, 64]> y = softplus(x = x);"),
       main_of("tensor<fp16, [1, 64]> x", "tensor<fp16, [1, 64]> y = softsign(x = x);")},
      {"epsilon-zero", layer_norm("fp16(0x0p+0)"), layer_norm("fp16(0x1p-10)")},
      {"epsilon-zero", layer_norm("fp16(0x0p+0)"), layer_norm("fp32(0x1.19799ap-40)")},
      {"norm-overflow", norm_of("0x1p+4"), norm_of("0x1p+2")},
      {"norm-squares", norm_of("0x1p+0", "pow(x = h, y = fp16(0x1p+1))"), scaled_norm()},
      {"weights-over-limit", fp16_product(16384, 32768), fp16_product(16384, 16384), "ios18"},
      {"parameters", fp16_product(32768, 32768), fp16_product(16384, 32768)},
  };
}

}  // namespace pippin::doctor
