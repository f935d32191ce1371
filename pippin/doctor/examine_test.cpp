#include "pippin/doctor/examine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/doctor/compute_plan.h"
#include "pippin/doctor/doctor_testing.h"
#include "pippin/doctor/fix.h"
#include "pippin/doctor/magnitudes.h"
#include "pippin/doctor/report_text.h"
#include "pippin/io/json.h"
#include "pippin/mil/package/package.h"

namespace pippin::doctor {
namespace {

namespace fs = std::filesystem;

std::vector<double> ramp(size_t count, double step) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = step * static_cast<double>(i % 97);
  return values;
}

// A product with a matrix of 64 x 64; its values are `step` apart.
mil::Model product_model(double step = 0x1p-10) {
  mil::Model model = model_of(main_of(
      "tensor<fp16, [1, 64]> x",
      "tensor<fp16, [64, 64]> w = const()[val = tensor<fp16, [64, 64]>(BLOBFILE(path = "
      "string(\"@model_path/weights/weight.bin\"), offset = uint64(64)))]; tensor<fp16, [64, 64]> "
      "v = const()[val = tensor<fp16, [64, 64]>(BLOBFILE(path = "
      "string(\"@model_path/weights/weight.bin\"), offset = uint64(128)))]; tensor<fp16, [1, 64]> "
      "h = linear(x = x, weight = w); tensor<fp16, [1, 64]> y = linear(x = h, weight = v);"));
  auto& operations = model.program.function("main").block().operations();
  double factor = 1;
  for (size_t i = 0; i < 2; ++i, factor = 2) {
    operations[i]->attributes()["val"] =
        mil::Value::of_floats(mil::DataType::Float16, ramp(64 * 64, step * factor), {64, 64});
  }
  model.metadata.short_description = "Two products";
  return model;
}

// Replaces the second weight's blob in the file by the first one's bytes.
void copy_first_weight(const fs::path& package) {
  const fs::path file = package / "Data/com.apple.CoreML/weights/weight.bin";
  std::string bytes = read_file(file);
  const mil::Model model = mil::read_package(package);
  const auto& operations = model.program.function("main").block().operations();
  const auto data = [&](size_t i) { return operations[i]->constant_value()->source->view(); };
  const auto first = data(0), second = data(1);
  const size_t distance = static_cast<size_t>(second.data() - first.data());
  const size_t at = bytes.find(std::string(as_text(second)));
  ASSERT_NE(at, std::string::npos);
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at - distance), first.size(),
              bytes.begin() + static_cast<std::ptrdiff_t>(at));
  fs::remove(file);
  write_file(file, bytes);
}

TEST(Doctor, FindsWeightsThatAreStoredTwiceAndFixesThem) {
  TempDir scratch;
  const fs::path package = scratch / "m.mlpackage", mended = scratch / "n.mlpackage";
  mil::write_package(product_model(), package);
  EXPECT_EQ(examine(package).count(Severity::Warning), 0);
  copy_first_weight(package);
  const Report report = examine(package);
  ASSERT_EQ(report.parts.size(), 1u);
  ASSERT_EQ(report.count(Severity::Warning), 1);
  EXPECT_EQ(report.parts[0].findings.at(0).rule->id, "duplicate-weights");
  EXPECT_EQ(report.parts[0].findings.at(0).package, "m.mlpackage");

  mil::Model model = mil::read_package(package);
  const std::vector<std::string> rules = {"duplicate-weights"};
  EXPECT_EQ(fix(model, rules, "m").size(), 1u);
  mil::write_package(model, mended);
  EXPECT_EQ(examine(mended).count(Severity::Warning), 0);
}

TEST(Doctor, FixesVersionsMetadataAndMasks) {
  mil::Model model = model_of(main_of(
      "tensor<fp16, [1, 4]> x",
      "tensor<fp16, [4]> m = const()[val = tensor<fp16, [4]>([-inf, -inf, -inf, -inf])]; "
      "tensor<fp16, [1, 4]> a = add(x = x, y = m); tensor<fp16, [1, 4]> y = softmax(x = a, axis = "
      "int32(-1));",
      "ios16"));
  model.specification_version = 9;
  const auto found = rules_of(model, "ios16");
  for (const char* rule : {"specification-version", "missing-metadata", "softmax-mask"}) {
    EXPECT_TRUE(found.contains(rule)) << rule;
  }
  const std::vector<std::string> all = {"all"};
  EXPECT_EQ(fix(model, all, "attention").size(), 3u);
  EXPECT_TRUE(rules_of(model, "ios16").empty());
  EXPECT_EQ(model.specification_version, 7);
  EXPECT_EQ(model.metadata.short_description, "attention: main (x -> y)");
  const auto& mask = *model.program.function("main").block().operations()[0];
  EXPECT_EQ(mask.constant_value()->to_doubles(), std::vector<double>(4, -40000));
  EXPECT_TRUE(fix(model, all, "attention").empty());  // nothing is left to do
  const std::vector<std::string> unknown = {"state-last-axis"};
  EXPECT_ERROR(fix(model, unknown, "m"), ErrorCode::InvalidArgument, "there are all, softmax-mask");
}

TEST(Doctor, LooksAtEveryPackageOfAFolder) {
  TempDir scratch;
  EXPECT_ERROR(examine(scratch.path()), ErrorCode::NotFound, "neither a package nor a folder");
  EXPECT_ERROR(examine(scratch / "none"), ErrorCode::NotFound, "no such file");
  mil::write_package(product_model(), scratch / "b.mlpackage");
  mil::write_compiled(product_model(), scratch / "a.mlmodelc");
  const Report report = examine(scratch.path());
  ASSERT_EQ(report.parts.size(), 2u);
  EXPECT_EQ(report.parts[0].name, "a.mlmodelc");
  EXPECT_EQ(report.parts[1].name, "b.mlpackage");
  EXPECT_EQ(report.parts[1].estimate->token_bytes, 2u * 2 * 64 * 64);
  EXPECT_EQ(report.parts[1].estimate->loads, 1);
  EXPECT_NEAR(report.parts[1].estimate->functions.at(0).engine_share, 1, 1e-9);
}

TEST(Doctor, GoesOnAfterAPackageThatCannotBeRead) {
  TempDir scratch;
  mil::write_package(product_model(), scratch / "a.mlpackage");
  mil::write_package(product_model(), scratch / "b.mlpackage");
  write_file(scratch / "a.mlpackage/Data/com.apple.CoreML/model.mlmodel", "\x08\xff\xff\xff");
  write_file(scratch / "c.mlmodel", "\x08\xff\xff\xff");
  const Report report = examine(scratch.path());
  ASSERT_EQ(report.parts.size(), 3u);
  for (const size_t broken : {0, 2}) {
    const PartReport& part = report.parts[broken];
    EXPECT_EQ(part.kind, "no readable package");
    ASSERT_EQ(part.findings.size(), 1u);
    EXPECT_EQ(part.findings[0].rule->id, "unreadable");
    EXPECT_NE(part.findings[0].places.at(0).detail.find(part.name), std::string::npos);
    EXPECT_FALSE(part.estimate.has_value());
  }
  EXPECT_TRUE(report.parts[1].estimate.has_value());
  EXPECT_EQ(report.count(Severity::Error), 2);
  EXPECT_NE(report_text(report).find("error    unreadable"), std::string::npos);
  // Alone, its error is the result.
  EXPECT_ERROR(examine(scratch / "a.mlpackage"), ErrorCode::InvalidFile, "a.mlpackage");
}

TEST(Doctor, DoesWithoutWeightsThatAreAbsent) {
  TempDir scratch;
  mil::Model model = model_of(main_of(
      "tensor<fp16, [1, 16]> x",
      "tensor<fp16, [1, 16]> m = const()[val = tensor<fp16, [1, 16]>(BLOBFILE(path = "
      "string(\"@model_path/weights/weight.bin\"), offset = uint64(64)))]; tensor<fp16, [1, 16]> h "
      "= add(x = x, y = m); tensor<fp16, [1, 16]> y = softmax(x = h, axis = int32(-1));"));
  model.program.function("main").block().operations()[0]->attributes()["val"] =
      mil::Value::of_floats(mil::DataType::Float16, std::vector<double>(16, -INFINITY), {1, 16});
  const fs::path package = scratch / "m.mlpackage";
  mil::write_package(model, package);
  EXPECT_EQ(examine(package).count(Severity::Warning), 1);
  fs::remove(package / "Data/com.apple.CoreML/weights/weight.bin");
  const Report report = examine(package);
  EXPECT_EQ(report.count(Severity::Warning), 0);
  EXPECT_EQ(report.count(Severity::Note), 1);  // no description
}

// There are exponentially many paths back through sums of sums.
TEST(Doctor, LooksBackThroughWideProgramsOnce) {
  const std::string type = "tensor<fp16, [1, 64]>";
  std::string body, last = "x", before = "x";
  for (int i = 0; i < 200; ++i) {
    const std::string name = "h" + std::to_string(i);
    body += type + " " + name + " = add(x = " + last + ", y = " + before + "); ";
    before = std::exchange(last, name);
  }
  body += type + " d = real_div(x = x, y = " + last + "); " + type +
          " s = mul(x = d, y = d); tensor<fp16, [1, 1]> y = reduce_mean(x = s, axes = "
          "tensor<int32, [1]>([-1]), keep_dims = bool(true));";
  EXPECT_FALSE(examine_model(model_of(main_of(type + " x", body))).empty());
}

TEST(Doctor, SaysInOneLineWhatItCannotRead) {
  TempDir scratch;
  write_file(scratch / "broken.mlmodel", std::string("\x08\xff\xff\xff"));
  EXPECT_ERROR(examine(scratch / "broken.mlmodel"), ErrorCode::InvalidFile, "broken.mlmodel");
  PIPPIN_SHARED_OR_SKIP(packages, "packages");
  const Report report = examine(packages / "legacy-MNISTClassifier.mlmodel");
  ASSERT_EQ(report.parts.size(), 1u);
  EXPECT_EQ(report.parts[0].kind, "neuralNetworkClassifier");
  EXPECT_EQ(report.parts[0].specification_version, 1);
  EXPECT_EQ(report.parts[0].findings.at(0).rule->id, "other-kind");
  EXPECT_TRUE(report.parts[0].estimate.has_value());  // of the ML Program
}

// The bytes of a model of a kind whose message is empty.
std::string model_of_kind(int field) {
  const int tag = field << 3 | 2;
  return {8, 1, static_cast<char>((tag & 0x7f) | 0x80), static_cast<char>(tag >> 7), 0};
}

TEST(Doctor, AdvisesToConvertNeuralNetworksAlone) {
  TempDir scratch;
  write_file(scratch / "network.mlmodel", model_of_kind(500));
  write_file(scratch / "same.mlmodel", model_of_kind(900));
  write_file(scratch / "print.mlmodel", model_of_kind(2002));
  const Report network = examine(scratch / "network.mlmodel");
  ASSERT_EQ(network.parts.size(), 1u);
  EXPECT_EQ(network.parts[0].kind, "neuralNetwork");
  EXPECT_EQ(network.parts[0].findings.at(0).rule->id, "other-kind");
  EXPECT_EQ(network.count(Severity::Warning), 1);
  for (const auto& [file, kind, rule] :
       {std::tuple("same.mlmodel", "identity", "cpu-kind"),
        {"print.mlmodel", "vision feature print", "closed-kind"}}) {
    const Report report = examine(scratch / file);
    EXPECT_EQ(report.parts.at(0).kind, kind);
    EXPECT_EQ(report.parts[0].findings.at(0).rule->id, rule);
    EXPECT_EQ(report.count(Severity::Note), 1);
    EXPECT_EQ(report.count(Severity::Warning), 0);
  }
}

// Faults independent of the model's kind.
TEST(Doctor, SaysWhatElseIsNotSupported) {
  TempDir scratch;
  write_file(scratch / "model.mil",
             "program(1.3) { func main<ios18>(tensor_buffer<fp16, [1]> x) { tensor<fp16, [1]> y = "
             "relu(x = x)[name = string(\"y\")]; } -> (y); }");
  EXPECT_ERROR(examine(scratch / "model.mil"), ErrorCode::Unsupported, "tensor_buffer");
}

// A pipeline of one program, with the names of its input and output.
mil::Model pipeline_model() {
  mil::Model pipeline;
  pipeline.kind = mil::ModelKind::Pipeline;
  pipeline.specification_version = 9;
  pipeline.stages.push_back({"net", product_model()});
  pipeline.stages[0].model.metadata = {};
  pipeline.functions = pipeline.stages[0].model.functions;
  return pipeline;
}

TEST(Doctor, DescribesPipelinesNotTheirStages) {
  TempDir scratch;
  const fs::path package = scratch / "p.mlpackage", mended = scratch / "q.mlpackage";
  mil::write_package(pipeline_model(), package);
  const auto findings_of = [](const PartReport& part) {
    std::vector<std::string> ids;
    for (const Finding& finding : part.findings) ids.emplace_back(finding.rule->id);
    return ids;
  };
  const Report report = examine(package);
  ASSERT_EQ(report.parts.size(), 2u);
  EXPECT_EQ(report.parts[0].kind, "pipeline");
  EXPECT_EQ(report.parts[0].name, "p.mlpackage");
  EXPECT_EQ(report.parts[1].name, "p.mlpackage stage 0 'net'");
  EXPECT_EQ(findings_of(report.parts[0]), std::vector<std::string>{"missing-metadata"});
  EXPECT_TRUE(findings_of(report.parts[1]).empty());
  mil::Model model = mil::read_package(package);
  const std::vector<std::string> rules = {"all"};
  const std::vector<std::string> done = fix(model, rules, "p");
  ASSERT_FALSE(done.empty());
  EXPECT_EQ(model.metadata.short_description, "p: main (x -> y)");
  EXPECT_EQ(model.stages[0].model.metadata.short_description, "");
  mil::write_package(model, mended);
  EXPECT_EQ(examine(mended).count(Severity::Note), 0);
  EXPECT_TRUE(fix(model, rules, "p").empty());
}

// Values passed between stages are not declared for callers.
TEST(Doctor, KnowsTheInterfaceOfAPipeline) {
  mil::Model pipeline = pipeline_model();
  mil::FunctionDescription& stage = pipeline.stages[0].model.functions.at(0);
  stage.inputs.at(0).data_type = stage.outputs.at(0).data_type = mil::DataType::Float32;
  pipeline.functions.at(0).outputs.at(0).name = "boxes";
  const std::vector<Finding> found =
      examine_model(pipeline.stages[0].model, {}, {}, nullptr, &pipeline);
  const auto finding = std::find_if(found.begin(), found.end(), [](const Finding& one) {
    return one.rule->id == "interface-fp32";
  });
  ASSERT_NE(finding, found.end());
  ASSERT_EQ(finding->places.size(), 1u);
  EXPECT_EQ(finding->places[0].name, "input 'x'");
}

// Parts of the pipeline and of the stages that are newer than the target.
TEST(Doctor, MendsThePartsOfAPipeline) {
  mil::Model model = pipeline_model();
  model.stages[0].model.specification_version = 9;
  model.stages[0].model.program.functions.clear();
  model.stages[0].model.program =
      std::move(model_of(main_of("tensor<fp16, [1, 64]> x",
                                 "tensor<fp16, [1, 64]> y = relu(x = x);", "ios16"))
                    .program);
  ExamineOptions options;
  options.target = parse_target("ios16");
  const auto is_newer = [&](const mil::Model& one, const mil::Model* pipeline) {
    const std::vector<Finding> found = examine_model(one, options, {}, nullptr, pipeline);
    return std::any_of(found.begin(), found.end(), [](const Finding& finding) {
      return finding.rule->id == "specification-version";
    });
  };
  EXPECT_TRUE(is_newer(model, nullptr));
  EXPECT_TRUE(is_newer(model.stages[0].model, &model));
  const std::vector<std::string> rules = {"specification-version"};
  EXPECT_EQ(fix(model, rules, "p"),
            (std::vector<std::string>{
                "specification-version: specification version 7 instead of 9",
                "specification-version: stage 0 'net': specification version 7 instead of 9"}));
  EXPECT_FALSE(is_newer(model, nullptr));
}

TEST(Doctor, ReportsForPeopleAndForPrograms) {
  TempDir scratch;
  mil::Model model = model_of(main_of("tensor<fp32, [1, 64]> x",
                                      "tensor<fp32, [1, 64]> y = cumsum(x = x, axis = int32(1), "
                                      "exclusive = bool(false), reverse = bool(false));"));
  model.functions.at(0).outputs.at(0).description = "\x1b[2J";
  mil::write_package(model, scratch / "m.mlpackage");
  ExamineOptions options;
  options.target = parse_target("ios18");
  const Report report = examine(scratch / "m.mlpackage", options);
  const std::string text = report_text(report);
  EXPECT_NE(text.find("warning  fp32-compute  "), std::string::npos) << text;
  EXPECT_NE(text.find("main: cumsum 'y'"), std::string::npos) << text;
  EXPECT_NE(text.find("0 errors, 2 warnings, 2 notes for ios18"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(report_text(report, {.styles = true}).find("\x1b[33m"), std::string::npos);
  const Json json = Json::parse(report_json(report), "report");
  EXPECT_EQ(json.at("warnings").as_int(), 2);
  EXPECT_EQ(json.at("target").as_string(), "ios18");
  EXPECT_EQ(json.at("parts").at(0).at("findings").at(0).at("rule").as_string(), "fp32-compute");
}

TEST(Doctor, PlansOperationByOperation) {
  const mil::Model model = model_of(main_of(
      "tensor<fp16, [1, 64]> x",
      "tensor<fp16, [1, 64]> a = relu(x = x); tensor<fp16, [1, 64]> b = cumsum(x = a, axis = "
      "int32(1), exclusive = bool(false), reverse = bool(false)); tensor<fp16, [1, 64]> y = "
      "relu(x = b);"));
  const PackageEstimate all = estimate(model, examine_model(model));
  ASSERT_EQ(all.functions.size(), 1u);
  const FunctionEstimate& function = all.functions[0];
  ASSERT_EQ(function.operations.size(), 3u);
  EXPECT_EQ(function.operations[0].device, Device::NeuralEngine);
  EXPECT_EQ(function.operations[1].device, Device::Cpu);
  EXPECT_EQ(function.operations[1].rule->id, "unsupported-operation");
  EXPECT_EQ(function.pieces, 2);
  double sum = 0;
  for (const PlannedOperation& one : function.operations) sum += one.share;
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_NEAR(function.engine_share, 1 - function.operations[1].share, 1e-9);
  EXPECT_NE(plan_text(model).find("[unsupported-operation]"), std::string::npos);
  const Json json = Json::parse(plan_json(model), "plan");
  EXPECT_EQ(json.at("functions").at(0).at("operations").at(1).at("device").as_string(), "CPU/GPU");
}

TEST(Doctor, PlansSizesOnTheCpuWithoutABorder) {
  const mil::Model model = model_of(main_of(
      "tensor<fp16, [1, 64]> x",
      "tensor<fp16, [1, 64]> a = relu(x = x); tensor<int32, [2]> s = shape(x = a); tensor<int32, "
      "[2]> t = mul(x = s, y = int32(1)); tensor<fp16, [1, 64]> b = relu(x = a); tensor<fp16, [?, "
      "?]> y = reshape(x = b, shape = t);"));
  const PackageEstimate all = estimate(model, examine_model(model));
  const FunctionEstimate& function = all.functions.at(0);
  for (const PlannedOperation& one : function.operations) {
    const std::string type = one.operation->type();
    if (type == "shape" || type == "mul") {
      EXPECT_EQ(one.device, Device::Cpu) << type;
      EXPECT_EQ(one.rule, nullptr) << type;
    } else if (type == "relu") {
      EXPECT_EQ(one.device, Device::NeuralEngine) << type;
    }
  }
  EXPECT_EQ(function.pieces, 1);
}

// Weights of 1/8 and 64 terms: the root mean square is preserved.
TEST(DoctorMagnitudes, FollowTheWeights) {
  mil::Model model = product_model();
  auto& operations = model.program.function("main").block().operations();
  const auto set = [&](size_t i, double value) {
    operations[i]->attributes()["val"] = mil::Value::of_floats(
        mil::DataType::Float16, std::vector<double>(64 * 64, value), {64, 64});
  };
  set(0, 0.125);
  set(1, -0.5);
  const FunctionView function("main", model.program.function("main"), model.functions.at(0));
  const Magnitudes magnitudes(function, model.program);
  EXPECT_NEAR(magnitudes.rms(*operations[2]->output()), 1, 1e-6);
  EXPECT_NEAR(magnitudes.rms(*operations[3]->output()), 4, 1e-6);
  EXPECT_GT(magnitudes.peak(*operations[3]->output()), 4);
}

TEST(DoctorMagnitudes, SampleAllTypes) {
  EXPECT_NEAR(*sampled_rms(mil::Value::of_floats(mil::DataType::Float16,
                                                 std::vector<double>(100000, -3), {100000})),
              3, 1e-9);
  EXPECT_NEAR(*sampled_rms(mil::Value::of_float(mil::DataType::Float32, 2)), 2, 1e-9);
  mil::Value codes;
  codes.type = mil::ValueType::tensor(mil::DataType::Int4, {7});
  codes.bytes = std::vector<std::byte>(4, std::byte{0xEE});  // -2 each
  EXPECT_NEAR(*sampled_rms(codes), 2, 1e-9);
  codes.bytes.clear();
  EXPECT_FALSE(sampled_rms(codes).has_value());  // text without its weights
}

TEST(Doctor, SharedPackages) {
  PIPPIN_SHARED_OR_SKIP(packages, "coremltools");
  int count = 0;
  for (const auto& entry : fs::directory_iterator(packages)) {
    if (entry.path().extension() != ".mlpackage") continue;
    SCOPED_TRACE(entry.path());
    const Report report = examine(entry.path());
    ASSERT_FALSE(report.parts.empty());
    Json::parse(report_json(report), "report");
    ++count;
  }
  EXPECT_GE(count, 60);
}

}  // namespace
}  // namespace pippin::doctor
