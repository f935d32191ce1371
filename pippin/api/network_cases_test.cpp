// Neural network models with known results: coremltools' layer tests, and formulas.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <numeric>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "pippin/api/archive.h"
#include "pippin/api/model.h"
#include "pippin/base/op_case_folders_testing.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using Dims = std::vector<int64_t>;

Dims without_ones(Dims shape) {
  std::erase(shape, 1);
  return shape;
}

bool same_shape(const Dims& found, const Dims& wanted, std::string_view how) {
  if (how == "squeeze") return without_ones(found) == without_ones(wanted);
  const auto scalar = [](const Dims& shape) { return shape.empty() || shape == Dims{1}; };
  const auto is_empty = [](const Dims& shape) {
    return std::find(shape.begin(), shape.end(), 0) != shape.end();
  };
  return found == wanted || (scalar(found) && scalar(wanted)) ||
         (is_empty(found) && is_empty(wanted));
}

// Pictures are stored as [height, width, 3] or [height, width].
Value to_value(const FeatureInfo& feature, const Tensor& tensor) {
  const bool picture = tensor.shape().size() < 4 && tensor.type() == DataType::UInt8;
  if (feature.kind != FeatureInfo::Kind::Image || !picture) return tensor;
  const auto bytes = tensor.bytes();
  return Image{tensor.shape()[1],
               tensor.shape()[0],
               tensor.shape().size() == 3 ? 3 : 1,
               DataType::UInt8,
               {bytes.begin(), bytes.end()}};
}

Values read_inputs(const Function& function, const fs::path& file) {
  Values values = read_archive(file);
  for (const FeatureInfo& feature : function.inputs()) {
    const auto found = values.find(feature.name);
    if (found == values.end()) continue;
    found->second = to_value(feature, std::get<Tensor>(found->second));
  }
  return values;
}

std::string compare_random(const Json& description, const Values& outputs) {
  for (const auto& [name, shape] : description.at("shapes").members()) {
    const Tensor& found = tensor_at(outputs, std::string(name));
    if (!same_shape(found.shape(), shape.as_ints(), description.get_string("shape"))) {
      return fmt::format("{}: shape {}", name, found.shape());
    }
    if (description.get_string("compare") == "shape") continue;
    const std::vector<double> values = found.to_doubles();
    const auto count = static_cast<double>(values.size());
    const Json moments = description.at("moments").at(name);
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    double variance = 0;
    for (const double value : values) variance += (value - mean) * (value - mean) / count;
    const double wanted = moments.at("central").get_float("2");
    if (std::abs(mean - moments.get_float("mean")) > 0.1 * std::sqrt(wanted) + 1e-3 ||
        std::abs(variance - wanted) > 0.15 * wanted + 1e-6) {
      return fmt::format("{}: mean {}, variance {}", name, mean, variance);
    }
  }
  return {};
}

std::string compare_noise(const std::vector<double>& a, const std::vector<double>& e,
                          double decibels) {
  double noise = 0, signal = 0;
  for (size_t i = 0; i < e.size(); ++i) {
    noise += (a[i] - e[i]) * (a[i] - e[i]);
    signal += e[i] * e[i];
  }
  const auto count = static_cast<double>(e.size());
  const double ratio = 10 * std::log10(signal / count / (noise / count + 1e-7));
  return ratio < decibels ? fmt::format("signal to noise {} dB", ratio) : "";
}

std::string compare_values(const std::vector<double>& a, const std::vector<double>& e,
                           const std::vector<double>& tolerance, double allowed) {
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < e.size(); ++i) {
    const bool right = a[i] == e[i] || (std::isnan(a[i]) && std::isnan(e[i])) ||
                       std::abs(a[i] - e[i]) <= tolerance[0] + tolerance[1] * std::abs(e[i]);
    if (!right && wrong++ == 0) first = i;
  }
  if (static_cast<double>(wrong) <= allowed * static_cast<double>(e.size())) return {};
  return fmt::format("{} of {} values, element {} is {}, expected {}", wrong, e.size(), first,
                     a[first], e[first]);
}

std::string compare(const Json& description, const Values& outputs, const Values& expected) {
  for (const auto& [name, value] : expected) {
    const Tensor& wanted = std::get<Tensor>(value);
    if (!outputs.contains(name)) return name + ": missing";
    const Tensor& found = tensor_at(outputs, name);
    if (!same_shape(found.shape(), wanted.shape(), description.get_string("shape"))) {
      return fmt::format("{}: shape {}, expected {}", name, found.shape(), wanted.shape());
    }
    const std::vector<double> a = found.to_doubles(), e = wanted.to_doubles();
    const double allowed =
        description.has("mismatch_ratio") ? description.get_float("mismatch_ratio") : 0;
    const std::string difference =
        description.has("snr")
            ? compare_noise(a, e, description.get_float("snr"))
            : compare_values(a, e, description.at("tolerance").at(name).as_floats(), allowed);
    if (!difference.empty()) return name + ": " + difference;
  }
  return {};
}

// Returns the error, or an empty string.
std::string run_case(const fs::path& folder, const Json& description) {
  const std::string kind(description.get_string("compare"));
  try {
    const Model model = Model::load(folder / "model.mlmodel", {.num_threads = 1});
    const Function function = model.function();
    const Values outputs = function.predict(read_inputs(function, folder / "in.npz"));
    if (kind == "refused") return "not refused";
    if (kind != "values") return compare_random(description, outputs);
    return compare(description, outputs, read_archive(folder / "expected.npz"));
  } catch (const Error& error) {
    return kind == "refused" ? "" : error.what();
  }
}

bool is_network(const Json& description) {
  const std::vector<std::string> kinds = description.at("kinds").as_strings();
  return std::any_of(kinds.begin(), kinds.end(),
                     [](const std::string& one) { return one.starts_with("neuralNetwork"); });
}

// PIPPIN_CASE=TEXT runs the cases whose folder's name contains the text.
void run_group(const std::string& group) {
  const std::vector<fs::path> folders = op_case_folders(group, "oldkinds");
  if (folders.empty()) GTEST_SKIP() << shared_data_absent("oldkinds");
  const char* only = std::getenv("PIPPIN_CASE");
  size_t count = 0;
  std::vector<std::string> failed;
  for (const fs::path& folder : folders) {
    const Json description = Json::load(folder / "case.json", kPythonJson);
    if (only != nullptr && folder.string().find(only) == std::string::npos) continue;
    if (!is_network(description) || description.get_string("compare") == "rows") continue;
    ++count;
    const std::string error = run_case(folder, description);
    if (error.empty()) continue;
    failed.push_back(fmt::format("{}/{}: {}", folder.parent_path().filename().string(),
                                 folder.filename().string(), error));
  }
  testing::Test::RecordProperty("cases", static_cast<int>(count));
  EXPECT_TRUE(failed.empty()) << failed.size() << " of " << count << " cases:\n"
                              << fmt::format("{}", fmt::join(failed, "\n"));
}

TEST(NetworkCases, Layers) {
  run_group("layers");
}
TEST(NetworkCases, MilOperations) {
  run_group("mil");
}
TEST(NetworkCases, TorchOperations) {
  run_group("torch");
}
TEST(NetworkCases, Models) {
  run_group("misc");
}
TEST(NetworkCases, Formulas) {
  run_group("extra");
}

}  // namespace
}  // namespace pippin
