// Models of every family on the CUDA device, with emulated kernels on the stand-in for the driver:
// the numbers of the CPU up to rounding, its texts, and the transferred bytes.

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/cuda/device.h"
#include "pippin/cuda/fake/fake_driver.h"
#include "pippin/engine/cpu/limits.h"
#include "pippin/runtime/batch.h"
#include "pippin/runtime/draft/drafts.h"
#include "pippin/runtime/generator.h"
#include "pippin/scheduling/requests_testing.h"
#include "pippin/scheduling/scheduler.h"
#include "pippin/tokenizers/tokenizer.h"
#include "tests/sequence_families.h"
#include "tests/sequence_rows.h"

namespace pippin {
namespace {

using namespace sequence_families;
using cuda::FakeDriver;
using runtime::Sequence;
using Ids = std::vector<int32_t>;

engine::ComputeOptions exact(std::shared_ptr<engine::Device> device) {
  engine::ComputeOptions compute;
  compute.precision = engine::Precision::Exact;
  compute.device = std::move(device);
  return compute;
}

// Returns options for the CPU that compute as the device's kernels do.
engine::ComputeOptions exact_scalar() {
  engine::ComputeOptions compute = exact(nullptr);
  compute.cpu = limit_cpu(detect_cpu(), "scalar");
  return compute;
}

Ids greedy_text(Model& model, bool with_drafts) {
  runtime::GenerateOptions options;
  options.max_tokens = 8;
  if (with_drafts) {
    options.drafts =
        std::make_shared<runtime::Drafts>(runtime::DraftOptions{.most = 3, .always = true});
  }
  const auto sequence = model.new_sequence();
  const Ids prompt = {3, 17, 5, 3, 17};
  return runtime::generate(*sequence, prompt, options, [](int32_t) { return true; }).ids;
}

// The texts of prompts that share a prefix.
std::vector<Ids> texts_with_cache(const std::shared_ptr<Model>& model) {
  const Tokenizer tokenizer = Tokenizer::open(demo());
  scheduling::Scheduler scheduler(model, tokenizer, {.cache_ram = 1 << 26});
  std::vector<Ids> texts;
  for (const int32_t last : {7, 4}) {
    scheduling::Request request{{3, 10, 17, 1, 8, 15, 22, 6, 13, last}, {}};
    request.options.max_tokens = 3;
    const auto asked = scheduling::ask(scheduler, std::move(request));
    asked.heard->wait();
    EXPECT_EQ(asked.heard->error(), "");
    texts.push_back(asked.heard->ids);
    scheduling::wait_until_idle(scheduler);
  }
  return texts;
}

void expect_close(const std::vector<float>& have, const std::vector<float>& want, size_t row) {
  ASSERT_EQ(have.size(), want.size());
  float most = 0;
  for (const float x : want) most = std::max(most, std::abs(x));
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_LE(std::abs(have[i] - want[i]), 2e-3F * most) << "row " << row << ", element " << i;
  }
}

class CudaFamilies : public testing::TestWithParam<Family> {};

TEST_P(CudaFamilies, GiveTheNumbersOfTheCpu) {
  const TempDir there_folder, here_folder;
  FakeDriver fake;
  const auto there =
      GetParam().load(there_folder.path(), exact(cuda::open_device(0, fake.driver())));
  const auto here = GetParam().load(here_folder.path(), exact_scalar());
  const auto have = rows_of(*there), want = rows_of(*here);
  ASSERT_EQ(have.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) expect_close(have[i], want[i], i);
  EXPECT_GT(fake.calls("cuGraphLaunch"), 0);
  const auto text = greedy_text(*here, false);
  EXPECT_EQ(greedy_text(*there, false), text);
  EXPECT_EQ(greedy_text(*there, true), text);
  EXPECT_EQ(texts_with_cache(there), texts_with_cache(here));
}

INSTANTIATE_TEST_SUITE_P(Families, CudaFamilies, testing::ValuesIn(kFamilies),
                         [](const auto& family) { return family.param.name; });

}  // namespace
}  // namespace pippin
