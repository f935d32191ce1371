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
#include "tests/rows_together_testing.h"
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

engine::ComputeOptions fast(std::shared_ptr<engine::Device> device) {
  engine::ComputeOptions compute = exact(std::move(device));
  compute.precision = engine::Precision::Fast;
  return compute;
}

// A token has the same bits alone, with others of its sequence, and with other sequences.
TEST(CudaTokens, HaveTheirBitsInAllPasses) {
  const Ids prompt = {3, 17, 5, 22, 0}, ids = {9, 1, 30, 4, 4, 17, 2, 8, 33, 6};
  for (const auto& options : {exact, fast}) {
    FakeDriver fake;
    const auto model =
        runtime::make_runnable(models::build(demo(), {.context = 48}),
                               {.compute = options(cuda::open_device(0, fake.driver()))})
            .model;
    const auto one = model->new_sequence(), two = model->new_sequence();
    expect_equal_rows(*one, prompt, ids);
    std::vector<std::vector<float>> alone;
    for (Sequence* const sequence : {one.get(), two.get()}) {
      sequence->reset();
      sequence->prefill(prompt);
      for (const int32_t id : {4, 9}) {
        const auto row = sequence->decode(sequence == one.get() ? id : id + 1);
        alone.emplace_back(row.begin(), row.end());
      }
      sequence->reset();
      sequence->prefill(prompt);
    }
    runtime::Batch batch(model);
    for (const size_t step : {0, 1}) {
      batch.clear();
      batch.add(*one, step == 0 ? 4 : 9);
      batch.add(*two, step == 0 ? 5 : 10);
      batch.run();
      for (const size_t i : {0, 1}) {
        const auto row = batch.logits(i);
        EXPECT_EQ(std::vector<float>(row.begin(), row.end()), alone[2 * i + step]) << step << i;
      }
    }
  }
}

// A prompt and two tokens.
std::vector<std::vector<float>> few_rows(const fs::path& folder,
                                         const engine::ComputeOptions& compute) {
  const auto model =
      runtime::make_runnable(models::build(folder, {.context = 32}), {.compute = compute}).model;
  const auto sequence = model->new_sequence();
  std::vector<std::vector<float>> rows;
  const auto keep = [&](std::span<const float> row) { rows.emplace_back(row.begin(), row.end()); };
  const Ids prompt = {3, 17, 5, 22, 9};
  keep(sequence->prefill(prompt));
  for (const int32_t id : {7, 8}) keep(sequence->decode(id));
  return rows;
}

// All decoders among the checkpoints have kernels for all of their nodes.
class CudaArchitectures : public testing::TestWithParam<const char*> {};

TEST_P(CudaArchitectures, GiveTheNumbersOfTheCpu) {
  PIPPIN_SHARED_ENTRIES_OR_SKIP(folders, GetParam());
  size_t compared = 0;
  for (const fs::path& folder : folders) {
    SCOPED_TRACE(folder.filename());
    std::vector<std::vector<float>> want;
    try {
      want = few_rows(folder, exact_scalar());
    } catch (const Error&) {
      continue;  // another kind of model
    }
    FakeDriver fake;
    const auto have = few_rows(folder, exact(cuda::open_device(0, fake.driver())));
    for (size_t i = 0; i < want.size(); ++i) expect_close(have[i], want[i], i);
    ++compared;
  }
  EXPECT_GT(compared, 40U);
}

INSTANTIATE_TEST_SUITE_P(Folders, CudaArchitectures,
                         testing::Values("architectures", "architectures2"),
                         [](const auto& test) { return std::string(test.param); });

class CudaTransfers : public testing::Test {
 protected:
  template <typename Body>
  std::pair<uint64_t, uint64_t> moved(const Body& body) const {
    const uint64_t to = fake_.bytes_to_device(), from = fake_.bytes_to_host();
    body();
    return {fake_.bytes_to_device() - to, fake_.bytes_to_host() - from};
  }

  FakeDriver fake_;
  const std::shared_ptr<Model> model_ =
      runtime::make_runnable(models::build(demo(), {.context = 48}),
                             {.compute = exact(cuda::open_device(0, fake_.driver()))})
          .model;
  const std::unique_ptr<Sequence> one_ = model_->new_sequence();
  const uint64_t row_ = static_cast<uint64_t>(model_->vocab_size()) * sizeof(float);
};

// Ids go in, with the arguments of kernels that change; a row of logits comes out, or nothing where
// the device chooses the token.
TEST_F(CudaTransfers, AreIdsAndARowOfLogits) {
  constexpr uint64_t kMostArguments = 32 << 10;
  const Ids prompt = {3, 17, 5, 22, 0};
  const auto prefilled = moved([&] { one_->prefill(prompt); });
  EXPECT_LT(prefilled.first, 5 * 4 + kMostArguments);
  EXPECT_EQ(prefilled.second, row_);
  for (const int32_t id : {1, 2, 3}) {
    const auto decoded = moved([&] { one_->decode(id); });
    EXPECT_LT(decoded.first, 4 + kMostArguments);
    EXPECT_EQ(decoded.second, row_);
  }
  EXPECT_EQ(moved([&] { one_->prefill_choice(prompt, runtime::Rows::Token); }).second, 0U);
  const auto two = model_->new_sequence();
  runtime::Batch batch(model_);
  batch.add(*one_, 4, runtime::Rows::Token);
  batch.add(*two, 5, runtime::Rows::Token);
  EXPECT_EQ(moved([&] { batch.run(); }).second, 0U);
  EXPECT_TRUE(one_->greedy_token().has_value());
  EXPECT_TRUE(one_->most_likely().empty());
  batch.clear();
  batch.add(*one_, 6, runtime::Rows::Top);
  batch.add(*two, 7, runtime::Rows::Top);
  EXPECT_EQ(moved([&] { batch.run(); }).second, 0U);
  EXPECT_TRUE(batch.logits(0).empty());
  EXPECT_GE(std::ssize(two->most_likely()), runtime::kMostLikely);
  EXPECT_EQ(moved([&] { one_->decode(1); }).second, row_);
  EXPECT_TRUE(one_->most_likely().empty());
}

// Sampled tokens are those of the CPU, and no logits are fetched where the most likely suffice.
TEST_F(CudaTransfers, OfSampledTextsAreNone) {
  const auto here =
      runtime::make_runnable(models::build(demo(), {.context = 48}), {.compute = exact_scalar()})
          .model;
  runtime::GenerateOptions options;
  options.max_tokens = 6;
  options.sampling = {.temperature = 1.5, .top_k = 40, .top_p = 0.95, .seed = 7};
  const Ids prompt = {3, 17, 5, 22, 0};
  const auto text = [&](Model& model) {
    const auto sequence = model.new_sequence();
    return runtime::generate(*sequence, prompt, options, [](int32_t) { return true; }).ids;
  };
  Ids ids;
  EXPECT_EQ(moved([&] { ids = text(*model_); }).second, 0U);
  EXPECT_EQ(ids, text(*here));
  options.sampling.top_k = 0;
  EXPECT_GE(moved([&] { ids = text(*model_); }).second, row_);
  EXPECT_EQ(ids, text(*here));
}

// The plans for prompts and for steps use the same copy.
TEST_F(CudaTransfers, OfWeightsHappenOnce) {
  const Ids prompt = {3, 17, 5, 22, 0};
  one_->prefill(prompt);
  const uint64_t sent = fake_.bytes_to_device();
  one_->decode(1);
  EXPECT_LT(fake_.bytes_to_device() - sent, sent / 10);
}

TEST_F(CudaTransfers, OfStatesAreTheirRows) {
  const Ids prompt = {3, 17, 5, 22, 0};
  one_->prefill(prompt);
  const uint64_t row = one_->row_layout().row_bytes();
  std::vector<std::byte> rows(5 * row);
  EXPECT_EQ(moved([&] { one_->copy_rows(0, 5, rows); }), std::pair(uint64_t{0}, 5 * row));
  const auto other = model_->new_sequence();
  const runtime::RowPiece piece{rows, 5, 0, 5};
  EXPECT_EQ(moved([&] {
              other->append_rows(prompt, {&piece, 1});
            }),
            std::pair(5 * row, uint64_t{0}));
  std::unique_ptr<Sequence> fork;
  EXPECT_EQ(moved([&] { fork = other->fork(); }), std::pair(uint64_t{0}, uint64_t{0}));
  const auto next = one_->decode(8);
  const std::vector<float> want(next.begin(), next.end());
  for (Sequence* const sequence : {other.get(), fork.get()}) {
    const auto have = sequence->decode(8);
    EXPECT_TRUE(std::equal(have.begin(), have.end(), want.begin(), want.end()));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, CudaFamilies, testing::ValuesIn(kFamilies),
                         [](const auto& family) { return family.param.name; });

}  // namespace
}  // namespace pippin
