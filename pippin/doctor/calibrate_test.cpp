// Measurements of --calibrate for language models of every family and for one prediction.
#include "pippin/doctor/calibrate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "pippin/app/convert/convert.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/doctor/doctor_testing.h"
#include "pippin/doctor/norms.h"
#include "pippin/engine/runner.h"
#include "pippin/io/npz.h"
#include "pippin/mil/package/package.h"

namespace pippin::doctor {
namespace {

namespace fs = std::filesystem;

std::string write_story(const fs::path& path) {
  std::string text;
  while (text.size() < 2000) text += "Once upon a time there was a little girl. ";
  write_file(path, text);
  return path.string();
}

// The largest inputs of norms that compute squares.
std::vector<double> norms_of(const mil::Model& model, const Peaks& peaks) {
  std::vector<double> result;
  for (const FunctionView& function : Subject(model, {}).functions) {
    for (const SquaringNorm& norm : squaring_norms(function)) {
      const auto found = peaks.find({function.name(), norm.x->name});
      if (found != peaks.end()) result.push_back(found->second);
    }
  }
  return result;
}

std::vector<double> norms_of(const PackagePeaks& packages) {
  std::vector<double> result;
  for (const auto& [path, peaks] : packages) {
    const std::vector<double> more = norms_of(mil::read_package(path), peaks);
    result.insert(result.end(), more.begin(), more.end());
  }
  return result;
}

TEST(DoctorCalibrate, MeasuresNormsOnAText) {
  TempDir scratch;
  const fs::path package = scratch / "s.mlpackage";
  app::convert(demo_model_folder(), package);
  const std::string text = write_story(scratch / "text.txt");
  const PackagePeaks packages = measure_peaks(package, text, {}, 1);
  ASSERT_EQ(packages.size(), 1u);
  const Peaks& peaks = packages.at(package_key(package));
  const mil::Model model = mil::read_package(package);
  const std::vector<double> norms = norms_of(model, peaks);
  ASSERT_EQ(norms.size(), 13u);  // two for each of six layers, and the last norm
  const auto embedded = peaks.at({"main", "model_embed_tokens"});
  EXPECT_GT(embedded, 0);
  for (const double peak : norms) {
    EXPECT_GE(peak, embedded);  // the sums only grow
    EXPECT_LT(peak, 250);
  }
  EXPECT_FALSE(rules_of(model, {}, {}, &peaks).contains("norm-squares"));
  ExamineOptions options;
  options.text = (scratch / "none.txt").string();
  EXPECT_ERROR(examine(package, options), ErrorCode::NotFound, "none.txt");
  write_file(scratch / "short.txt", "Once");
  options.text = (scratch / "short.txt").string();
  EXPECT_ERROR(examine(package, options), ErrorCode::InvalidArgument, "too few to calibrate");
}

// The same numbers, whichever packages compute them.
TEST(DoctorCalibrate, MeasuresEveryFamilyAlike) {
  TempDir scratch;
  const std::string text = write_story(scratch / "text.txt");
  const fs::path one = scratch / "s.mlpackage";
  app::convert(demo_model_folder(), one);
  app::ConvertOptions options;
  options.family = "windowed";
  options.norms = "plain";
  options.blocks_per_chunk = 2;
  const fs::path folder = scratch / "windowed";
  app::convert(demo_model_folder(), folder, options);
  const std::vector<double> stateful = norms_of(measure_peaks(one, text, {}, 1));
  const PackagePeaks packages = measure_peaks(folder, text, {}, 1);
  const std::vector<double> windowed = norms_of(packages);
  EXPECT_GE(packages.size(), 3u);
  EXPECT_GE(windowed.size(), 13u);
  // A window sees different preceding tokens than a whole text.
  const double largest = *std::max_element(stateful.begin(), stateful.end());
  EXPECT_NEAR(*std::max_element(windowed.begin(), windowed.end()), largest, 0.3 * largest);
  ExamineOptions measured;
  measured.text = text;
  for (const PartReport& part : examine(folder, measured).parts) {
    for (const Finding& finding : part.findings) {
      EXPECT_NE(finding.rule->id, "norm-squares") << part.name;
    }
  }
  // Norms that cannot overflow are not measured.
  options.family = "anemll";
  options.norms = "";
  app::convert(demo_model_folder(), scratch / "anemll", options);
  EXPECT_TRUE(norms_of(measure_peaks(scratch / "anemll", text, {}, 1)).empty());
}

// h = relu(x) + b, y = mean of h squared.
struct Predicted : testing::Test {
  Predicted() {
    mil::write_package(
        model_of(main_of(
            "tensor<fp16, [1, 4]> x, tensor<fp16, [1, 4]> b",
            "tensor<fp16, [1, 4]> r = relu(x = x); tensor<fp16, [1, 4]> h = add(x = r, y = b); "
            "tensor<fp16, [1, 4]> s = mul(x = h, y = h); tensor<fp16, [1, 1]> m = reduce_mean(x = "
            "s, axes = tensor<int32, [1]>([-1]), keep_dims = bool(true)); tensor<fp16, [1, 4]> t = "
            "mul(x = x, y = x); tensor<fp16, [1, 1]> n = reduce_mean(x = t, axes = tensor<int32, "
            "[1]>([-1]), keep_dims = bool(true)); tensor<fp16, [1, 1]> y = add(x = m, y = n);")),
        package);
  }
  std::string arrays(const std::vector<std::pair<std::string, std::vector<float>>>& all) const {
    std::vector<std::pair<std::string, NpyArray>> written;
    for (const auto& [name, values] : all) {
      written.emplace_back(name, NpyArray::from<float>(values, {1, std::ssize(values)}));
    }
    write_npz(scratch / "in.npz", written);
    return (scratch / "in.npz").string();
  }
  TempDir scratch;
  fs::path package = scratch / "p.mlpackage";
};

TEST_F(Predicted, InputsOfOnePackageAreMeasured) {
  const std::string file = arrays({{"x", {-3, 2, 0, 1}}, {"b", {0, 300, 0, 0.5}}});
  const PackagePeaks packages = measure_peaks(package, file, {}, 1);
  ASSERT_EQ(packages.size(), 1u);
  const Peaks& peaks = packages.begin()->second;
  EXPECT_EQ(peaks, (Peaks{{{"main", "h"}, 302},
                          {{"main", "m"}, 22801.5625},
                          {{"main", "n"}, 3.5},
                          {{"main", "r"}, 2},
                          {{"main", "s"}, 91204},
                          {{"main", "t"}, 9},
                          {{"main", "x"}, 3},
                          {{"main", "y"}, 22805.0625}}));
  ExamineOptions options;
  options.text = file;
  const Report report = examine(package, options);
  ASSERT_EQ(report.parts.at(0).findings.at(0).rule->id, "norm-overflow");
  EXPECT_NE(report.parts[0].findings[0].places.at(0).detail.find("measured up to 302"),
            std::string::npos);
  const float inf = std::numeric_limits<float>::infinity();
  const Peaks large =
      measure_peaks(package, arrays({{"x", {NAN, -inf, 0, 1}}, {"b", {0, 0, 0, 0}}}), {}, 1)
          .begin()
          ->second;
  EXPECT_EQ(large.at({"main", "x"}), inf);
}

// Values that do not all fit in one pass.
TEST_F(Predicted, PassesSeeAllResults) {
  const mil::Model model = mil::read_package(package);
  const auto peaks_of = [&](uint64_t bytes) {
    WatchingDevice device(bytes);
    ThreadPool pool(1);
    engine::NamedHostTensors inputs;
    mil::Tensor values(mil::DataType::Float32, {1, 4});
    values.values = {1, -2, 3, 400};
    for (const char* name : {"x", "b"}) inputs[name] = engine::to_host(values);
    for (size_t pass = 0; pass < device.passes(); ++pass) {
      device.begin_pass(pass);
      const mil::FunctionDescription& description = model.functions.at(0);
      engine::RunnerOptions options;
      options.compute.device = std::shared_ptr<engine::Device>(&device, [](auto*) {});
      engine::State state(description.states, options.compute);
      engine::Runner::make(model, description.name, pool, options)->run(inputs, state);
    }
    EXPECT_EQ(device.passes() > 1, bytes < 1000);
    return device.peaks();
  };
  EXPECT_EQ(peaks_of(1), peaks_of(1U << 20));
  EXPECT_EQ(peaks_of(32).begin()->second.at({"main", "h"}), 800);
}

TEST_F(Predicted, BadInputsAreRefused) {
  const auto measure = [&](const std::string& file) { measure_peaks(package, file, {}, 1); };
  EXPECT_ERROR(measure(arrays({{"x", {1, 2, 3, 4}}})), ErrorCode::InvalidArgument,
               "no array 'b', an input of function 'main'");
  EXPECT_ERROR(measure(arrays({{"x", {1, 2, 3, 4}}, {"b", {1, 2, 3, 4}}, {"c", {1}}})),
               ErrorCode::InvalidArgument, "no input 'c': there are x, b");
  EXPECT_ERROR(measure(arrays({{"x", {1, 2, 3}}, {"b", {1, 2, 3, 4}}})), ErrorCode::InvalidArgument,
               "x");
  EXPECT_ERROR(measure((scratch / "none.npz").string()), ErrorCode::NotFound, "none.npz");
  write_file(scratch / "text.txt", "no language model");
  EXPECT_ERROR(measure((scratch / "text.txt").string()), ErrorCode::NotFound,
               "has no tokenizer inside");
}

}  // namespace
}  // namespace pippin::doctor
