// Rules about versions, inputs, outputs, states and shapes.
#include "pippin/doctor/doctor_testing.h"

namespace pippin::doctor {
namespace {

// An input and a result of element type `type`, shape [1, 64].
std::string relu(const std::string& type, const std::string& opset = "ios18") {
  return main_of("tensor<" + type + ", [1, 64]> x",
                 "tensor<" + type + ", [1, 64]> y = relu(x = x);", opset);
}

std::string relu_of(const std::string& shape) {
  return main_of("tensor<fp16, [" + shape + "]> x",
                 "tensor<fp16, [" + shape + "]> y = relu(x = x);");
}

std::string with_state(const std::string& shape, const std::string& type = "fp16") {
  const std::string tensor = "tensor<" + type + ", [" + shape + "]>";
  return main_of(tensor + " x, state<" + tensor + "> s",
                 tensor + " r = read_state(input = s); " + tensor + " y = add(x = x, y = r);");
}

void set_range(mil::Model& model, int64_t lower, int64_t upper) {
  model.functions.at(0).inputs.at(0).ranges = {{1, 1}, {lower, upper}};
}

void set_shapes(mil::Model& model, std::vector<std::vector<int64_t>> shapes) {
  model.functions.at(0).inputs.at(0).enumerated_shapes = std::move(shapes);
}

std::string norm() {
  return main_of("tensor<fp16, [1, ?]> x",
                 "tensor<fp16, [1, ?]> y = layer_norm(x = x, axes = tensor<int32, [1]>([-1]), "
                 "epsilon = fp16(0x1p-10));");
}

// An image scaled in the form that Core ML Tools writes, and operations on it.
std::string scaled_image(const std::string& rest) {
  const std::string type = "tensor<fp32, [1, 3, 4, 4]>";
  return main_of(type + " x", type + " s = mul(x = x, y = fp32(0x1.010102p-8)); " + type +
                                  " b = add(x = s, y = fp32(-0x1p-1)); " + rest);
}

void make_image(mil::Model& model) {
  mil::Feature& feature = model.functions.at(0).inputs.at(0);
  feature.kind = mil::Feature::Kind::Image;
  feature.image.size = {4, 4};
}

// `size` rows of a table, starting at a position given by the input.
std::string slice(const std::string& size, const std::string& result) {
  return main_of("tensor<fp16, [1, 512]> x, tensor<int32, [2]> at",
                 "tensor<fp16, [1, " + result +
                     "]> y = slice_by_size(x = x, begin = at, size = " + size + ");");
}

}  // namespace

std::vector<RuleCase> interface_cases() {
  const auto versions = [](int version) {
    return [version](mil::Model& model) { model.specification_version = version; };
  };
  const auto range = [](int64_t lower, int64_t upper) {
    return [=](mil::Model& model) { set_range(model, lower, upper); };
  };
  const std::string flexible =
      main_of("tensor<fp16, [1, ?]> x", "tensor<fp16, [1, ?]> y = relu(x = x);");
  const std::string two =
      "func other<ios18>(tensor<fp16, [1]> x) { tensor<fp16, [1]> y = relu(x = "
      "x); } -> (y);";
  const auto one_shape = [](mil::Model& model) { set_shapes(model, {{1, 64}}); };
  const auto two_shapes = [](mil::Model& model) { set_shapes(model, {{1, 64}, {1, 128}}); };
  const auto described = [](mil::Model& model) { model.metadata.short_description = "A model"; };
  return {
      {"specification-version", relu("fp16", "ios16"), relu("fp16", "ios16"), "ios16", versions(9),
       versions(7)},
      {"opset", relu("fp16", "ios18"), relu("fp16", "ios17"), "macos14"},
      {"states-version", with_state("1, 64"), with_state("1, 64"), "ios17", {}, {}, "ios18"},
      {"functions-version", relu("fp16") + two, relu("fp16"), "ios17"},
      {"interface-types", relu("fp16", "ios15"), relu("fp32", "ios15"), "ios15"},
      {"fp32-compute", relu("fp32"), relu("fp16")},
      {"fp32-compute",
       scaled_image("tensor<fp32, [1, 3, 4, 4]> y = relu(x = b);"),
       scaled_image("tensor<fp16, [1, 3, 4, 4]> c = cast(x = b, dtype = string(\"fp16\")); "
                    "tensor<fp16, [1, 3, 4, 4]> y = relu(x = c);"),
       {},
       make_image,
       make_image},
      {"interface-fp32", relu("fp32"), relu("fp16")},
      {"integer-compute",
       main_of("tensor<int32, [64]> x", "tensor<int32, [64]> y = add(x = x, y = x);"),
       main_of("tensor<int32, [4]> x", "tensor<int32, [4]> y = add(x = x, y = x);")},
      {"rank-over-5", relu_of("1, 2, 2, 2, 2, 2"), relu_of("1, 2, 2, 2, 2")},
      {"rank-5", relu_of("2, 2, 2, 2, 2"), relu_of("2, 2, 1, 2, 2")},
      {"axis-over-16384", relu_of("1, 16385"), relu_of("1, 16384")},
      {"last-axis", relu_of("1, 256, 512, 1"), relu_of("1, 256, 1, 512")},
      {"state-last-axis", with_state("4, 270"), with_state("4, 256")},
      {"state-type", with_state("4, 64", "fp32"), with_state("4, 64")},
      {"range-shape", flexible, flexible, {}, range(1, 512), range(64, 64)},
      {"unbounded-range", flexible, flexible, {}, range(1, -1), range(1, 512)},
      {"range-from-zero", flexible, flexible, {}, range(0, 512), range(1, 512)},
      {"enumerated-shapes", flexible, flexible, {}, two_shapes, one_shape},
      {"enumerated-layer-norm", norm(), norm(), {}, two_shapes, range(1, 512)},
      {"dynamic-slice",
       main_of("tensor<fp16, [1, 512]> x, tensor<int32, [2]> at",
               "tensor<fp16, [1, ?]> y = slice_by_index(x = x, begin = tensor<int32, [2]>([0, 0]), "
               "end = at, end_mask = tensor<bool, [2]>([true, false]));"),
       slice("tensor<int32, [2]>([1, 64])", "64")},
      {"data-dependent-shape",
       main_of("tensor<fp16, [1, 64]> x", "tensor<int32, [?, 2]> y = non_zero(x = x);"),
       relu("fp16")},
      {"missing-metadata", relu("fp16"), relu("fp16"), {}, {}, described},
  };
}

}  // namespace pippin::doctor
