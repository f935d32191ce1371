#include "pippin/compress/compress.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/testing.h"
#include "pippin/mil/check/evaluate.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/tensor.h"
#include "pippin/mil/text/text.h"

namespace pippin::compress {
namespace {

namespace fs = std::filesystem;
using mil::Tensor;

// Constants, and the results of constexpr operations on them, by the value rules.
class Constants : public mil::Environment {
 public:
  const Tensor& tensor_of(const mil::Var* var) override {
    if (const auto found = tensors_.find(var); found != tensors_.end()) return found->second;
    if (const mil::Value* value = mil::constant_of(var)) {
      return tensors_[var] = mil::to_tensor(*value);
    }
    const mil::Operation& operation = *var->producer;
    auto results = mil::evaluate_operation(operation, opset, *this);
    for (size_t i = 0; i < results.size(); ++i) {
      tensors_[operation.outputs()[i].get()] = std::move(results[i]);
    }
    return tensors_.at(var);
  }
  mil::Opset opset = mil::Opset::CoreML8;

 private:
  std::map<const mil::Var*, Tensor> tensors_;
};

// The expanded weights of every linear and conv of a function, in order.
std::vector<Tensor> weights_of(const mil::Model& model, const std::string& function = "main") {
  Constants constants;
  const mil::Function& from = model.program.function(function);
  constants.opset = from.opset_version();
  std::vector<Tensor> result;
  mil::for_each_operation(from.block(), [&](const mil::Operation& operation) {
    if (operation.type() != "linear" && operation.type() != "conv") return;
    result.push_back(constants.tensor_of(operation.input_var("weight")));
  });
  return result;
}

double squared_error(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape, b.shape);
  double error = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    error += (a.values[i] - b.values[i]) * (a.values[i] - b.values[i]);
  }
  return error;
}

// coremltools' dense layers as a program of a later opset.
mil::Model dense_model(const fs::path& root, mil::Opset opset) {
  mil::Model model = mil::read_package(root / "c_ios15_dense_fp16.mlpackage");
  mil::Function& function = model.program.function("main");
  auto block = std::move(function.specializations.begin()->second);
  function.specializations.clear();
  function.opset = to_string(opset);
  function.specializations.emplace(function.opset, std::move(block));
  model.specification_version = mil::specification_version(opset);
  return model;
}

Recipe recipe(std::string_view scheme) {
  Recipe result;
  result.scheme = parse_scheme(scheme);
  return result;
}

struct Form {
  std::string package, scheme;
};

// coremltools' results, and our requests for the same.
std::vector<Form> forms() {
  std::vector<Form> result = {{"ios16_affine_int8_sym", "int8:channel"},
                              {"ios16_affine_uint8_asym", "uint8:asymmetric:channel"},
                              {"ios17_affine_int8_sym", "int8:channel"},
                              {"ios16_sparse50", "prune:0.5"},
                              {"ios17_sparse50", "prune:0.5"},
                              {"ios18_sparse60", "prune:0.6"},
                              {"ios18_joint_sparse_int4", "int4:block:16:prune:0.6"},
                              {"ios18_joint_sparse_int8", "int8:channel:prune:0.6"},
                              {"ios18_joint_sparse_lut4", "lut4:prune:0.6"},
                              {"ios18_joint_lut4_int8lut", "lut4:16:lut_dtype:int8"},
                              {"ios17_sparse_nm", "n_m_ratio:2:4"}};
  for (const char* bits : {"1", "2", "4", "6", "8"}) {
    result.push_back({std::string("ios16_lut") + bits, std::string("lut") + bits});
  }
  for (const char* bits : {"1", "2", "3", "4", "6", "8"}) {
    result.push_back({std::string("ios18_lut") + bits + "_tensor", std::string("lut") + bits});
    if (*bits == '3') continue;
    result.push_back(
        {std::string("ios18_lut") + bits + "_grouped16", std::string("lut") + bits + ":16"});
  }
  for (const std::string type : {"int4", "uint4", "int8", "uint8"}) {
    for (const std::string zero : {"sym", "asym"}) {
      for (const std::string per : {"tensor", "channel", "block"}) {
        result.push_back({"ios18_q_" + type + "_" + zero + "_per_" + per,
                          type + ":" + zero + "metric:" + per + (per == "block" ? ":16" : "")});
      }
    }
  }
  return result;
}

TEST(Compress, NoWorseThanCoremltools) {
  PIPPIN_SHARED_OR_SKIP(root, "coremltools");
  TempDir scratch;
  const std::vector<Tensor> dense = weights_of(dense_model(root, mil::Opset::CoreML8));
  ASSERT_EQ(dense.size(), 2u);
  int compared = 0;
  for (const Form& form : forms()) {
    SCOPED_TRACE(form.package);
    const fs::path package = root / ("c_" + form.package + ".mlpackage");
    if (!fs::exists(package)) continue;
    const mil::Model theirs = mil::read_package(package);
    const mil::Opset opset = theirs.program.function("main").opset_version();
    mil::Model model = dense_model(root, opset);
    const Result result = compress(model, recipe(form.scheme), 2);
    ASSERT_EQ(result.compressed.size(), 2u);
    const fs::path path = scratch / "m.mlpackage";
    write_package(model, path);
    const mil::Model ours = mil::read_package(path);
    const auto their_weights = weights_of(theirs), our_weights = weights_of(ours);
    for (size_t i = 0; i < dense.size(); ++i) {
      const double error = squared_error(our_weights[i], dense[i]);
      EXPECT_LE(error, squared_error(their_weights[i], dense[i]) * (1 + 1e-9));
      const Measure measure = result.compressed[i].job->measure().value();
      // The expanded values are rounded to fp16, which the measure does not include.
      EXPECT_NEAR(measure.squared_error, error, 1e-2 * error + 1e-9);
      double energy = 0;
      for (const double value : dense[i].values) energy += value * value;
      EXPECT_NEAR(measure.energy, energy, 1e-6 * energy);
    }
    // The same operations with the same types, except for constants that iOS 15 spells out.
    const auto types = [](const mil::Model& from) {
      std::vector<std::string> found;
      for (const auto& operation : from.program.function("main").block().operations()) {
        if (operation->type().rfind("constexpr", 0) != 0) continue;
        found.push_back(operation->type());
        for (const auto& [name, argument] : operation->inputs()) {
          if (const auto* value = std::get_if<mil::Value>(&argument[0])) {
            found.push_back(name + " " + to_string(value->type));
          }
        }
        for (const auto& [name, value] : operation->attributes()) {
          found.push_back(name + " " + to_string(value.type));
        }
      }
      return found;
    };
    // (coremltools rounds the number of elements to keep differently, and uses one scale for all
    // palettes.)
    if (form.scheme.find("prune") == form.scheme.npos &&
        form.scheme.find("lut_dtype") == form.scheme.npos) {
      EXPECT_EQ(types(ours), types(theirs));
    }
    ++compared;
  }
  EXPECT_GE(compared, 40);
}

// "tensor<fp32, [2, 3]>([[...], [...]])"
std::string literal(const std::vector<int64_t>& dims) {
  size_t next = 0;
  const std::function<std::string(size_t)> level = [&](size_t axis) {
    if (axis == dims.size()) {
      const double i = static_cast<double>(next++);
      return fmt::format("{:a}", static_cast<float>(std::sin(0.37 * i) * (1 + std::sin(i))));
    }
    std::string text = "[";
    for (int64_t i = 0; i < dims[axis]; ++i) text += (i > 0 ? ", " : "") + level(axis + 1);
    return text + "]";
  };
  return fmt::format("tensor<fp32, [{}]>({})", fmt::join(dims, ", "), level(0));
}

mil::Model model_of(const std::string& text) {
  mil::Model model;
  model.program = mil::parse_text(text, "test");
  model.functions.emplace_back().name = "main";
  return model;
}

std::string weight(const std::string& name, const std::vector<int64_t>& dims) {
  return fmt::format("tensor<fp32, [{}]> {} = const()[name = string(\"{}\"), val = {}];",
                     fmt::join(dims, ", "), name, name, literal(dims));
}

// A program with weights in every kind of use.
std::string uses() {
  return "program(1.3) { func main<ios18>(tensor<fp32, [1, 64]> x, tensor<fp32, [1, 32, 5]> c, "
         "tensor<int32, [3]> ids) {" +
         weight("plain", {64, 96}) + weight("turned", {96, 64}) + weight("left", {96, 64}) +
         weight("lin", {64, 64}) + weight("up", {32, 64, 2}) + weight("table", {70, 32}) +
         weight("sum", {64, 128}) + weight("small", {8, 64}) +
         "string pad = const()[name = string(\"pad\"), val = string(\"valid\")];"
         "bool yes = const()[name = string(\"yes\"), val = bool(true)];"
         "bool no = const()[name = string(\"no\"), val = bool(false)];"
         "int32 zero = const()[name = string(\"zero\"), val = int32(0)];"
         "string equation = const()[name = string(\"equation\"), val = string(\"ab,bc->ac\")];"
         "tensor<fp32, [1, 96]> a = matmul(x = x, y = plain, transpose_x = no, transpose_y = no);"
         "tensor<fp32, [1, 96]> b = matmul(x = x, y = turned, transpose_x = no, transpose_y = yes);"
         "tensor<fp32, [96, 1]> d = matmul(x = left, y = x, transpose_x = no, transpose_y = yes);"
         "tensor<fp32, [1, 64]> e = linear(x = x, weight = lin);"
         "tensor<fp32, [1, 64, 6]> f = conv_transpose(x = c, weight = up, pad_type = pad);"
         "tensor<fp32, [3, 32]> g = gather(x = table, indices = ids, axis = zero, batch_dims = "
         "zero, validate_indices = no);"
         "tensor<fp32, [1, 128]> logits = einsum(values = (x, sum), equation = equation);"
         "tensor<fp32, [1, 8]> i = linear(x = x, weight = small);"
         "} -> (a, b, d, e, f, g, logits, i); }";
}

// The operation that defines the value of this name.
const mil::Operation& producer_of(const mil::Model& model, std::string_view name) {
  for (const auto& operation : model.program.function("main").block().operations()) {
    for (const auto& output : operation->outputs()) {
      if (output->name == name) return *operation;
    }
  }
  throw std::runtime_error("no " + std::string(name));
}

Dims scale_dims(const mil::Model& model, std::string_view name) {
  return producer_of(model, name).constant_input("scale")->type.dims;
}

TEST(Compress, TheUseOfAWeightGivesItsAxes) {
  const mil::Model before = model_of(uses());
  mil::Model model = model_of(uses());
  const Result result = compress(model, recipe("int4:block:32"), 2);
  mil::verify(model.program);
  EXPECT_EQ(scale_dims(model, "plain"), (Dims{2, 96}));
  EXPECT_EQ(scale_dims(model, "turned"), (Dims{96, 2}));
  EXPECT_EQ(scale_dims(model, "left"), (Dims{96, 2}));
  EXPECT_EQ(scale_dims(model, "lin"), (Dims{64, 2}));
  EXPECT_EQ(scale_dims(model, "up"), (Dims{1, 64, 1}));
  EXPECT_EQ(scale_dims(model, "table"), (Dims{70, 1}));
  EXPECT_EQ(scale_dims(model, "sum"), (Dims{2, 128}));
  EXPECT_EQ(producer_of(model, "small").type(), "const");
  ASSERT_EQ(result.compressed.size(), 7u);
  Constants old_values, new_values;
  for (const CompressedWeight& entry : result.compressed) {
    SCOPED_TRACE(entry.name);
    const Tensor& dense = old_values.tensor_of(producer_of(before, entry.name).output());
    const Tensor& now = new_values.tensor_of(producer_of(model, entry.name).output());
    double energy = 0;
    for (const double value : dense.values) energy += value * value;
    EXPECT_LT(squared_error(now, dense), 0.02 * energy);
    EXPECT_NEAR(entry.job->measure()->squared_error, squared_error(now, dense), 1e-4 * energy);
  }
}

TEST(Compress, EveryFormReadsBackAsMeasured) {
  const mil::Model before = model_of(uses());
  Constants old_values;
  const auto palette4 = [&](const char* more) { return std::string("lut4:16") + more; };
  double plain_error = 0;
  const std::vector<std::string> schemes = {
      palette4(""),
      palette4(":lut_dtype:int8"),
      palette4(":per_channel_scale"),
      palette4(":per_channel_scale:lut_dtype:int8"),
      "lut4:per_channel_scale",
      "lut8:16:cluster_dim:2",
      "lut6:cluster_dim:4:lut_dtype:int8",
      "lut4:lut_dtype:int8:prune:0.5",
      "int4:block:8x16",
      "uint8:asymmetric:block:2x32",
      "int4:block:2x16:n_m_ratio:2:4",
      "n_m_ratio:1:3",
      "lut3:n_m_ratio:4:5",
  };
  for (const std::string& scheme : schemes) {
    SCOPED_TRACE(scheme);
    mil::Model model = model_of(uses());
    const Result result = compress(model, recipe(scheme), 2);
    mil::verify(model.program);
    EXPECT_GE(result.compressed.size(), 5u);
    Constants new_values;
    double total = 0;
    for (const CompressedWeight& entry : result.compressed) {
      SCOPED_TRACE(entry.name);
      const Tensor& dense = old_values.tensor_of(producer_of(before, entry.name).output());
      const Tensor& now = new_values.tensor_of(producer_of(model, entry.name).output());
      const double error = squared_error(now, dense);
      EXPECT_NEAR(entry.job->measure()->squared_error, error, 1e-3 * error + 1e-9);
      EXPECT_LT(error, 0.6 * entry.job->measure()->energy);
      EXPECT_GT(error, 0);
      total += error;
    }
    if (scheme == palette4("")) plain_error = total;
    if (scheme == palette4(":lut_dtype:int8")) {
      EXPECT_LT(total, 1.1 * plain_error);
    }
    if (scheme == palette4(":per_channel_scale")) {
      EXPECT_LT(total, 2 * plain_error);
    }
  }
}

// Systems fail on scales over a palette of fp16.
TEST(Compress, ScaledPalettesAreWarnedOf) {
  for (const auto& [scheme, warned] :
       {std::pair("lut4:per_channel_scale", true),
        std::pair("lut4:per_channel_scale:lut_dtype:int8", false), std::pair("lut4", false)}) {
    std::string lines;
    const LogScope log(LogLevel::Warn, [&](LogLevel, std::string_view line) { lines += line; });
    mil::Model model = model_of(uses());
    compress(model, recipe(scheme), 1);
    EXPECT_EQ(lines.find("a scale per channel") != std::string::npos, warned) << scheme << lines;
  }
}

TEST(Compress, CompressedWeightsAreLeftOrDoneAnew) {
  mil::Model model = model_of(uses());
  compress(model, recipe("lut4:lut_dtype:int8"), 1);
  Constants before;
  const Tensor first = before.tensor_of(producer_of(model, "plain").output());
  const Tensor left = before.tensor_of(producer_of(model, "turned").output());
  Recipe again = recipe("int8");
  EXPECT_ERROR(
      compress(model, again, 1), ErrorCode::InvalidArgument,
      "plain: it is compressed already; --recompress starts from that");  // nothing is left to
                                                                          // compress
  again.recompress = true;
  again.except = {"turned"};
  const Result result = compress(model, again, 1);
  mil::verify(model.program);
  EXPECT_EQ(result.compressed.size(), 6u);
  EXPECT_EQ(producer_of(model, "plain").type(), "constexpr_blockwise_shift_scale");
  EXPECT_EQ(producer_of(model, "turned").type(), "constexpr_lut_to_dense");
  Constants after;
  const Tensor& anew = after.tensor_of(producer_of(model, "plain").output());
  double energy = 0;
  for (const double value : first.values) energy += value * value;
  EXPECT_LT(squared_error(anew, first), 1e-3 * energy);
  EXPECT_EQ(after.tensor_of(producer_of(model, "turned").output()).values, left.values);
}

TEST(Compress, RatioPruningLeavesTheLargest) {
  mil::Model model = model_of(uses());
  const Tensor dense = Constants().tensor_of(producer_of(model_of(uses()), "plain").output());
  compress(model, recipe("n_m_ratio:2:4"), 2);
  Constants values;
  const Tensor& now = values.tensor_of(producer_of(model, "plain").output());
  // matmul sums over the first axis of [64, 96].
  for (int64_t column = 0; column < 96; ++column) {
    for (int64_t first = 0; first < 64; first += 4) {
      double kept = 1e30, gone = 0;
      int zeros = 0;
      for (int64_t row = first; row < first + 4; ++row) {
        const auto at = static_cast<size_t>(row * 96 + column);
        const bool is_zero = now.values[at] == 0;
        zeros += is_zero ? 1 : 0;
        if (!is_zero) {
          EXPECT_EQ(now.values[at], dense.values[at]);
        }
        auto& bound = is_zero ? gone : kept;
        const double size = std::abs(dense.values[at]);
        bound = is_zero ? std::max(gone, size) : std::min(kept, size);
      }
      EXPECT_EQ(zeros, 2);
      EXPECT_LE(gone, kept);
    }
  }
}

TEST(Compress, ARecipeNamesWeights) {
  mil::Model model = model_of(uses());
  Recipe some = recipe("int8");
  some.embeddings = parse_scheme("none");
  some.head = parse_scheme("lut4:16");
  some.tensors = {{"*l*n*", parse_scheme("lut2")}, {"plain", parse_scheme("uint4:tensor")}};
  some.except = {"up"};
  some.only = {"*"};
  const Result result = compress(model, some, 1);
  std::map<std::string, std::string> found;
  for (const auto& entry : result.compressed) found[entry.name] = to_string(entry.scheme);
  const std::map<std::string, std::string> expected = {
      {"plain", "uint4 per tensor"},
      {"turned", "int8 per channel"},
      {"left", "int8 per channel"},
      {"lin", "palette of 2 bits per tensor"},
      {"sum", "palette of 4 bits per 16 channels"}};
  EXPECT_EQ(found, expected);
  EXPECT_EQ(producer_of(model, "table").type(), "const");

  const auto refused = [](const Recipe& wrong, const char* part) {
    mil::Model again = model_of(uses());
    EXPECT_ERROR(compress(again, wrong, 1), ErrorCode::InvalidArgument, part);
  };
  some.except = {"upp"};
  refused(some, "the pattern 'upp' matches no weight");
  some.except = {"*"};
  refused(some, "nothing to compress: no fp16 or fp32 weight of 2048 elements or more");
  refused(recipe("int4:block:1000"), "axis 0 of tensor<fp32, [64, 96]> is not a multiple of 1000");
  Recipe large = recipe("int8");
  large.min_elements = 1 << 20;
  refused(large, "nothing to compress: no fp16 or fp32 weight of 1048576 elements or more");
}

TEST(Compress, SharedWeightsAreOne) {
  const std::string body = " func NAME<ios18>(tensor<fp32, [1, 64]> x) {" + weight("w", {96, 64}) +
                           "tensor<fp32, [1, 96]> y = linear(x = x, weight = w); } -> (y); ";
  std::string other = body, text = body;
  text.replace(text.find("NAME"), 4, "main");
  other.replace(other.find("NAME"), 4, "second");
  mil::Model model = model_of("program(1.3) {" + text + other + "}");
  model.functions.clear();
  for (const char* name : {"main", "second"}) {
    mil::FunctionDescription& description = model.functions.emplace_back();
    description.name = name;
    for (auto* features : {&description.inputs, &description.outputs}) {
      mil::Feature& feature = features->emplace_back();
      const bool input = features == &description.inputs;
      feature.name = input ? "x" : "y";
      feature.shape = {1, input ? 64 : 96};
    }
  }
  model.multifunction = true;
  TempDir scratch;
  const auto bytes = [&](const char* name) {
    return fs::file_size(scratch / name / "Data/com.apple.CoreML/weights/weight.bin");
  };
  const auto value = [&](const char* function) -> mil::Value& {
    auto& operations = model.program.function(function).block().operations();
    return operations.at(0)->attributes().at("val");
  };
  value("second").bytes.at(0) ^= std::byte{1};  // separate constants: two blobs
  write_package(model, scratch / "two.mlpackage");
  mil::Model read = mil::read_package(scratch / "two.mlpackage");
  const Result apart = compress(read, recipe("int8"), 1);
  EXPECT_EQ(apart.compressed.size(), 2u);
  write_package(read, scratch / "apart.mlpackage");

  const mil::Model source = mil::read_package(scratch / "two.mlpackage");
  const mil::Value& first =
      *source.program.function("main").block().operations().at(0)->constant_value();
  value("main") = first;
  value("second") = first;
  const Result shared = compress(model, recipe("int8"), 1);
  EXPECT_EQ(shared.compressed.size(), 1u);
  write_package(model, scratch / "shared.mlpackage");
  EXPECT_LT(bytes("shared.mlpackage"), bytes("apart.mlpackage") * 6 / 10);
  const mil::Model again = mil::read_package(scratch / "shared.mlpackage");
  EXPECT_EQ(weights_of(again, "main")[0].values, weights_of(again, "second")[0].values);
}

TEST(Compress, OpsetsHaveTheirForms) {
  const auto attempt = [](const std::string& opset, std::string_view scheme) {
    mil::Model model = model_of("program(1.0) { func main<" + opset +
                                ">(tensor<fp32, [1, 64]> x) {" + weight("w", {96, 64}) +
                                "tensor<fp32, [1, 96]> y = linear(x = x, weight = w); } -> (y); }");
    compress(model, recipe(scheme), 1);
    mil::verify(model.program);
  };
  const auto refused = [&](const std::string& opset, std::string_view scheme) {
    try {
      attempt(opset, scheme);
      ADD_FAILURE() << opset << " " << scheme;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unsupported);
      EXPECT_NE(std::string(error.what()).find("needs opset CoreML"), std::string::npos);
    }
  };
  refused("ios15", "int8");
  for (const char* scheme :
       {"int4", "int8:block:32", "lut3", "lut4:16", "lut4:prune:0.5", "lut4:cluster_dim:2",
        "lut4:lut_dtype:int8", "lut4:per_channel_scale", "int8:block:2x32"}) {
    refused("ios16", scheme);
    refused("ios17", scheme);
    attempt("ios18", scheme);
  }
  for (const char* scheme :
       {"int8", "uint8:asymmetric:tensor", "lut6", "prune:0.5", "n_m_ratio:2:4"}) {
    attempt("ios16", scheme);
  }
}

TEST(Recipe, Patterns) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a*b?c", "a_x_bbzc"));
  EXPECT_TRUE(matches("*aab", "aaaaab"));
  EXPECT_FALSE(matches("a*b", "a_b_"));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_FALSE(matches("a?", "a"));
}

TEST(Recipe, Schemes) {
  EXPECT_EQ(to_string(parse_scheme("uint8:asymmetric:block:64:prune:0.25")),
            "uint8 asymmetric per block of 64, 25% pruned");
  EXPECT_EQ(to_string(parse_scheme("none")), "none");
  EXPECT_EQ(to_string(parse_scheme("lut4:8:lut_dtype:int8:per_channel_scale")),
            "palette of 4 bits of int8 per 8 channels with a scale per channel");
  EXPECT_EQ(to_string(parse_scheme("lut6:cluster_dim:2")),
            "palette of 6 bits of vectors of 2 per tensor");
  EXPECT_EQ(to_string(parse_scheme("int4:block:4x32:n_m_ratio:2:4")),
            "int4 per block of 4x32, 2 of 4 pruned");
  EXPECT_EQ(parse_lut("4,8"), parse_scheme("lut4:8"));
  EXPECT_TRUE(parse_lut("none").is_none());
  const std::pair<const char*, const char*> wrong[] = {
      {"", "unknown part ''"},
      {"int3", "unknown part 'int3'"},
      {"int8:none", "unknown part 'none'"},
      {"lut5", "palettes have 1, 2, 3, 4, 6 or 8 bits"},
      {"lut", "palettes have 1, 2, 3, 4, 6 or 8 bits"},
      {"lut4:0", "unknown part '0'"},
      {"int8:block", "a block is a number of inputs, or CHANNELSxINPUTS"},
      {"prune", "a share is between 0 and 1"},
      {"prune:1", "a share is between 0 and 1"},
      {"prune:nan", "a share is between 0 and 1"},
      {"tensor", "unknown part 'tensor'"},
      {"int8:int4", "unknown part 'int4'"},
      {"lut4:tensor", "unknown part 'tensor'"},
      {"n_m_ratio:4:4", "n_m_ratio:N:M makes N < M of every M elements 0"},
      {"n_m_ratio:2", "n_m_ratio:N:M makes N < M of every M elements 0"},
      {"lut4:cluster_dim:0", "a cluster_dim is 1 to 16"},
      {"lut4:3:cluster_dim:2", "groups of 3 channels are not a multiple of the cluster_dim 2"},
      {"lut4:cluster_dim:2:per_channel_scale", "palettes of vectors have no scales per channel"},
      {"lut4:cluster_dim:2:prune:0.5", "pruning leaves palettes of single values"},
      {"lut4:lut_dtype:int4", "a lut_dtype is int8"},
      {"int4:block:2x", "a block is a number of inputs, or CHANNELSxINPUTS"},
      {"int4:block:1x2x3", "a block is a number of inputs, or CHANNELSxINPUTS"},
      {"prune:0.5:n_m_ratio:2:4", "a share and an n:m ratio exclude each other"},
      {"int8:lut_dtype:int8", "unknown part 'lut_dtype'"}};
  for (const auto& [text, part] : wrong) {
    SCOPED_TRACE(text);
    EXPECT_ERROR(parse_scheme(text), ErrorCode::InvalidArgument, part);
  }
  for (const char* text : {"", "5", "4,", "4,0", "4,8,1", "four"}) {
    SCOPED_TRACE(text);
    EXPECT_ERROR(parse_lut(text), ErrorCode::InvalidArgument,
                 "a palette is none, BITS or BITS,GROUP");
  }
}

}  // namespace
}  // namespace pippin::compress
