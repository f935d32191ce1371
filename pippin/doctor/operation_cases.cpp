// Rules about single operations and sequences of them.
#include <fmt/format.h>

#include "pippin/doctor/doctor_testing.h"

namespace pippin::doctor {
namespace {

constexpr const char* kRow = "tensor<fp16, [1, 1, 4, 64]> x";

std::string on_row(const std::string& call) {
  return main_of(kRow, "tensor<fp16, [1, 1, 4, 64]> y = " + call + ";");
}

std::string blob(const std::string& name, const std::string& shape,
                 const std::string& type = "fp16") {
  const std::string tensor = "tensor<" + type + ", [" + shape + "]>";
  return tensor + " " + name + " = const()[val = " + tensor +
         "(BLOBFILE(path = string(\"@model_path/weights/w.bin\"), offset = uint64(64)))]; ";
}

std::string gather(const std::string& rows) {
  return main_of("tensor<int32, [4]> x",
                 blob("t", rows + ", 64") +
                     "tensor<fp16, [4, 64]> y = gather(x = t, indices = x, axis = int32(0), "
                     "batch_dims = int32(0), validate_indices = bool(false));");
}

// `count` products over (1, 8, 64), one after another.
std::string linears(int count, const std::string& axes = "1, 8") {
  const std::string type = "tensor<fp16, [" + axes + ", 64]>";
  std::string body = blob("w", "64, 64"), last = "x";
  for (int i = 0; i < count; ++i) {
    const std::string name = i + 1 == count ? "y" : "h" + std::to_string(i);
    body += fmt::format("{} {} = linear(x = {}, weight = w); ", type, name, last);
    last = name;
  }
  return main_of(type + " x", body);
}

// Scores plus or times a mask, through a softmax.
std::string masked(const std::string& op, const std::string& mask) {
  return main_of(kRow, "tensor<fp16, [1, 1, 4, 64]> m = " + op + "(x = x, y = " + mask +
                           "); tensor<fp16, [1, 1, 4, 64]> y = softmax(x = m, axis = int32(-1));");
}

std::string after_softmax(const std::string& op) {
  return main_of(kRow,
                 "tensor<fp16, [1, 1, 4, 64]> s = softmax(x = x, axis = int32(-1)); "
                 "tensor<fp16, [1, 1, 4, 64]> y = " +
                     op + ";");
}

// Pads one element on both sides of the last `axes` axes.
std::string reflected(int axes) {
  const std::string sizes = axes == 3 ? "1, 6, 6, 6" : "1, 4, 6, 6";
  std::string ones = "1, 1";
  for (int i = 1; i < axes; ++i) ones += ", 1, 1";
  return main_of("tensor<fp16, [1, 4, 4, 4]> x",
                 fmt::format("tensor<fp16, [{}]> y = pad(x = x, pad = tensor<int32, [{}]>([{}]), "
                             "mode = string(\"reflect\"), constant_val = fp16(0x0p+0));",
                             sizes, 2 * axes, ones));
}

std::string batch_norm(const std::string& shape) {
  const std::string type = "tensor<fp16, [" + shape + "]>";
  const std::string numbers = "tensor<fp16, [2]>([0x1p+0, 0x1p+0])";
  return main_of(type + " x", type + " y = batch_norm(x = x, mean = " + numbers +
                                  ", variance = " + numbers + ", epsilon = fp16(0x1p-10));");
}

std::string one_index(const std::string& shape, const std::string& rest) {
  return main_of("tensor<fp16, [" + shape + "]> x",
                 "tensor<fp16, [" + rest +
                     "]> y = gather(x = x, indices = int32(0), axis = int32(1), batch_dims = "
                     "int32(0), validate_indices = bool(false));");
}

}  // namespace

std::vector<RuleCase> operation_cases() {
  return {
      {"unsupported-operation",
       on_row("cumsum(x = x, axis = int32(3), exclusive = bool(false), reverse = bool(false))"),
       on_row("relu(x = x)")},
      {"unsupported-operation", reflected(2), on_row("relu(x = x)")},
      {"unsupported-operation", reflected(2), reflected(3)},  // an error, which takes precedence
      {"pad-axes", reflected(3), reflected(2)},
      {"norm-rank-5", batch_norm("1, 2, 2, 2, 2"), batch_norm("1, 2, 2, 2")},
      {"gather-rank-5", one_index("1, 2, 2, 2, 2", "1, 2, 2, 2"),
       one_index("1, 2, 2, 2", "1, 2, 2")},
      {"slow-operation", on_row("sin(x = x)"), on_row("tanh(x = x)")},
      {"gather", gather("16384"), on_row("relu(x = x)")},
      {"gather-size", gather("16385"), gather("16384")},
      {"layout", linears(4), linears(3)},
      {"softmax-mask", masked("mul", "fp16(-inf)"), masked("mul", "fp16(-0x1p+15)")},
      {"infinite-mask", masked("add", "fp16(-inf)"), masked("add", "fp16(-0x1p+15)")},
      {"log-softmax", after_softmax("log(x = s, epsilon = fp16(0x0p+0))"),
       after_softmax("exp(x = s)")},
  };
}

}  // namespace pippin::doctor
