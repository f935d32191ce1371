// coremltools' op tests for iOS 15 and 16 through the public interface, as users would run them.
// (engine/op_cases_test.cpp runs all, and writes the table.)
#include <cmath>

#include <gtest/gtest.h>

#include "pippin/api/model.h"
#include "pippin/base/op_case_folders_testing.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "pippin/io/npz.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

Values load(const fs::path& path) {
  Values values;
  const NpzFile file = NpzFile::open(path);
  for (const std::string& name : file.names()) {
    const NpyArray array = file.read(name);
    values.emplace(name, Tensor::from(array.to_doubles(), array.shape));
  }
  return values;
}

// Returns the error, or an empty string.
std::string run_case(const fs::path& folder) {
  const Json description = Json::load(folder / "case.json");
  LoadOptions options;
  options.num_threads = 1;
  const Model model = Model::load(folder / "model.mlpackage", options);
  const Values outputs =
      model.function(description.get_string("function")).predict(load(folder / "in.npz"));
  const Values expected = load(folder / "expected.npz");
  for (const Json& output : description.at("outputs").elements()) {
    const std::string name = output.get_string("name");
    if (!expected.contains(name)) continue;
    const Tensor& wanted = tensor_at(expected, name);
    const Tensor& found = tensor_at(outputs, name);
    const bool scalar = wanted.shape().empty() && found.shape() == std::vector<int64_t>{1};
    if (found.shape() != wanted.shape() && !scalar) return name + ": another shape";
    const double atol = output.get_float("atol"), rtol = output.get_float("rtol");
    const auto a = found.to_doubles(), e = wanted.to_doubles();
    for (size_t i = 0; i < e.size(); ++i) {
      const bool right = a[i] == e[i] || std::abs(a[i] - e[i]) <= atol + rtol * std::abs(e[i]) ||
                         (std::isnan(a[i]) && std::isnan(e[i]));
      if (!right) return name + ": another value";
    }
  }
  return {};
}

void run_set(const std::string& name) {
  const std::vector<fs::path> folders = op_case_folders(name);
  if (folders.empty()) GTEST_SKIP() << shared_data_absent("op-cases");
  for (const fs::path& folder : folders) {
    SCOPED_TRACE(folder);
    try {
      EXPECT_EQ(run_case(folder), "");
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(OpCases, Ios15) {
  run_set("iOS15");
}
TEST(OpCases, Ios16) {
  run_set("iOS16");
}

}  // namespace
}  // namespace pippin
