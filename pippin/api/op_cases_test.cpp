// coremltools' op tests for iOS 15 and 16 through the public interface, as its users would run
// them. (engine/op_cases_test.cpp runs all, and writes the table.)
#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "pippin/api/model.h"
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

// What is wrong, or nothing.
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

void run_folder(const std::string& name, size_t least) {
  PIPPIN_SHARED_OR_SKIP(archive, "op-cases/" + name + "/cases.tar.gz");
  const TempDir folder;
  const std::string command = "cd '" + folder.path().string() +
                              "' && '" PIPPIN_CMAKE "' -E tar xzf '" + archive.string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  size_t cases = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
    if (entry.path().filename() != "case.json") continue;
    SCOPED_TRACE(fs::relative(entry.path(), folder.path()));
    ++cases;
    try {
      EXPECT_EQ(run_case(entry.path().parent_path()), "");
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
  EXPECT_GE(cases, least);
}

TEST(OpCases, Ios15) {
  run_folder("iOS15", 20);
}
TEST(OpCases, Ios16) {
  run_folder("iOS16", 100);
}

}  // namespace
}  // namespace pippin
