#include "pippin/app/open/hidden_output.h"

#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/app/convert/convert.h"
#include "pippin/app/open/open_model.h"
#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/runtime/sequence.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

ModelChoice choose_model(const fs::path& path) {
  ModelChoice choice;
  choice.path = path.string();
  choice.load.threads = 1;
  return choice;
}

fs::path demo_folder() {
  return source_dir() / "pippin/demo/model";
}

std::vector<int32_t> some_ids(int64_t count) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>(3 + i * 7 % 2000));
  return ids;
}

runtime::HiddenStates hidden(const fs::path& path, int64_t count) {
  const HiddenModel model = open_hidden(choose_model(path));
  const auto parts = model.model->new_sequence()->trace(some_ids(count));
  EXPECT_EQ(parts.size(), 1u);
  return parts.front();
}

// The last norm's output, as the model records it for checks.
runtime::HiddenStates recorded(int64_t count) {
  ModelChoice choice = choose_model(demo_folder());
  choice.layers = true;
  return open_runnable(choice).model->new_sequence()->trace(some_ids(count)).back();
}

void expect_near(const runtime::HiddenStates& found, const runtime::HiddenStates& wanted,
                 double tolerance) {
  ASSERT_EQ(found.width, wanted.width);
  ASSERT_EQ(found.rows.size(), wanted.rows.size());
  double difference = 0, size = 0;
  for (size_t i = 0; i < wanted.rows.size(); ++i) {
    difference += std::pow(double{found.rows[i]} - wanted.rows[i], 2);
    size += std::pow(double{wanted.rows[i]}, 2);
  }
  EXPECT_LE(std::sqrt(difference / size), tolerance);
}

TEST(HiddenOutput, IsWhatLeavesTheLastNorm) {
  for (const int64_t count : {1, 5, 300}) {
    expect_near(hidden(demo_folder(), count), recorded(count), 1e-5);
  }
}

TEST(HiddenOutput, OfPackages) {
  const TempDir scratch;
  convert(demo_folder(), scratch / "plain.mlpackage");
  expect_near(hidden(scratch / "plain.mlpackage", 40), recorded(40), 0.02);
  ConvertOptions options;
  options.prefill_length = 16;
  convert(demo_folder(), scratch / "prefill.mlpackage", options);
  expect_near(hidden(scratch / "prefill.mlpackage", 40), recorded(40), 0.02);
}

TEST(HiddenOutput, OfModelsThatRewriteThereIsNone) {
  PIPPIN_SHARED_OR_SKIP(folder, "architectures2/t5");
  EXPECT_ERROR(open_hidden(choose_model(folder)), ErrorCode::Unsupported,
               "turns texts into other texts and gives no embeddings");
}

TEST(HiddenOutput, OfSeveralPackagesThereIsNone) {
  const TempDir scratch;
  ConvertOptions options;
  options.family = "windowed";
  convert(demo_folder(), scratch / "windowed", options);
  EXPECT_ERROR(open_hidden(choose_model(scratch / "windowed")), ErrorCode::Unsupported,
               "a model of several packages gives no embeddings");
}

}  // namespace
}  // namespace pippin::app
