// Logits of trained models against a float64 forward pass that others made.

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/base/thread_pool.h"
#include "pippin/generate/stateful_model.h"
#include "pippin/io/npz.h"
#include "pippin/models/registry.h"

namespace pippin {
namespace {

using models::BuildOptions;

// Row `row` of `expected` follows position positions[row]. Relative to each row's largest logit.
void expect_close(const std::vector<float>& logits, const NpyArray& expected,
                  const std::vector<double>& positions, double tolerance) {
  const auto values = expected.to_doubles();
  const auto vocab = static_cast<size_t>(expected.shape.at(1));
  for (size_t row = 0; row < positions.size(); ++row) {
    const double* want = &values[row * vocab];
    const float* have = &logits[static_cast<size_t>(positions[row]) * vocab];
    double largest = 0, difference = 0;
    for (size_t i = 0; i < vocab; ++i) {
      largest = std::max(largest, std::abs(want[i]));
      // Written so that NaN counts.
      const double one = std::abs(have[i] - want[i]);
      difference = one <= difference ? difference : one;
    }
    ASSERT_LE(difference, tolerance * largest) << "after position " << positions[row];
  }
}

void expect_golden_logits(const mil::Model& model, const std::filesystem::path& golden,
                          double tolerance) {
  const NpzFile npz = NpzFile::open(golden);
  ThreadPool pool(2);
  for (const int64_t chunk : {256, 7, 1}) {
    const auto language_model =
        generate::make_stateful_model(model, pool, {.prefill_chunk = chunk});
    for (int prompt = 0; npz.contains("p" + std::to_string(prompt) + "_ids"); ++prompt) {
      const std::string prefix = "p" + std::to_string(prompt);
      SCOPED_TRACE(prefix + ", chunks of " + std::to_string(chunk));
      std::vector<int32_t> ids;
      for (const double id : npz.read(prefix + "_ids").to_doubles()) {
        ids.push_back(static_cast<int32_t>(id));
      }
      language_model->reset();
      const auto logits = language_model->all_logits(ids);
      expect_close(logits, npz.read(prefix + "_logits_f64"),
                   npz.read(prefix + "_positions").to_doubles(), tolerance);
    }
  }
}

class GoldenLogits : public testing::TestWithParam<std::string> {};

TEST_P(GoldenLogits, FolderInFloat32) {
  PIPPIN_SHARED_OR_SKIP(folder, "models/" + GetParam());
  BuildOptions options;
  options.compute = BuildOptions::Compute::Float32Direct;
  expect_golden_logits(models::build(folder, options), folder / "golden/golden_logits.npz", 1e-3);
}

TEST_P(GoldenLogits, PackageInFloat16) {
  PIPPIN_SHARED_OR_SKIP(folder, "models/" + GetParam());
  const TempDir out;
  const auto path = out / "model.mlpackage";
  mil::write_package(models::build(folder), path);
  expect_golden_logits(mil::read_package(path), folder / "golden/golden_logits.npz", 2e-2);
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenLogits, testing::Values("stories260K", "babyllama-tok105"),
                         [](const auto& test) { return test.param.substr(0, 5); });

}  // namespace
}  // namespace pippin
