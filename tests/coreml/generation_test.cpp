// Language models of the three families through Core ML's stand-in: the same tokens as the CPU's
// engine, one by one.
#include <algorithm>
#include <array>
#include <cmath>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/family/windowed.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/batch.h"
#include "pippin/runtime/open/loaded_model.h"
#include "tests/coreml/standin_testing.h"
#include "tests/tiny_model.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using runtime::LoadOptions;
using Ids = std::vector<int32_t>;

class CoreMlGenerations : public standin::StandinTest {
 protected:
  static LoadOptions on_cpu() {
    LoadOptions options;
    options.threads = 1;
    options.compute.precision = engine::Precision::Exact;
    return options;
  }
  static LoadOptions on_core_ml() {
    LoadOptions options = on_cpu();
    options.compute.device = coreml::open_device();
    return options;
  }
};

int32_t best(std::span<const float> logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

void expect_close(std::span<const float> have, std::span<const float> want) {
  ASSERT_EQ(have.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(have[i], want[i], 0.02 + std::abs(want[i]) * 0.01) << "token " << i;
  }
}

// Sequences alone, forked and together: compares each step's logits and greedy tokens.
void expect_same(runtime::Model& there, runtime::Model& here, int steps) {
  EXPECT_EQ(there.vocab_size(), here.vocab_size());
  const auto a = there.new_sequence(), b = here.new_sequence();
  const Ids prompt = {3, 17, 5, 22, 0};
  Ids have = {best(a->prefill(prompt))}, want = {best(b->prefill(prompt))};
  for (int i = 0; i < steps; ++i) {
    const auto row = a->decode(have.back()), wanted = b->decode(want.back());
    expect_close(row, wanted);
    have.push_back(best(row));
    want.push_back(best(wanted));
  }
  EXPECT_EQ(have, want);

  const auto more_a = there.new_sequence(), more_b = here.new_sequence();
  more_a->prefill(std::span(prompt).first(2));
  more_b->prefill(std::span(prompt).first(2));
  runtime::Batch batch_a(there.shared_from_this()), batch_b(here.shared_from_this());
  for (const int32_t id : {14, 1, 20}) {
    for (runtime::Batch* const batch : {&batch_a, &batch_b}) batch->clear();
    batch_a.add(*more_a, id);
    batch_a.add(*a, id + 1);
    batch_b.add(*more_b, id);
    batch_b.add(*b, id + 1);
    batch_a.run();
    batch_b.run();
    for (size_t i = 0; i < batch_a.size(); ++i) expect_close(batch_a.logits(i), batch_b.logits(i));
  }
  more_a->reset();
  more_b->reset();
  expect_close(more_a->prefill(std::span(prompt).last(3)),
               more_b->prefill(std::span(prompt).last(3)));
}

TEST_F(CoreMlGenerations, Stateful) {
  const fs::path demo = source_dir() / "pippin/demo/model";
  const models::BuildOptions size{.context = 48};
  const auto there = runtime::make_runnable(models::build(demo, size), on_core_ml());
  const auto here = runtime::make_runnable(models::build(demo, size), on_cpu());
  expect_same(*there.model, *here.model, 30);
  EXPECT_GT(standin::counters().states, 1);
  EXPECT_GT(standin::counters().used_backings, 10);
  EXPECT_GT(standin::counters().asynchronous, 2);  // sequences together
}

void expect_same_packages(const fs::path& folder, LoadOptions on_device, const LoadOptions& on_cpu,
                          int steps) {
  for (const bool low_memory : {false, true}) {
    on_device.low_memory = low_memory;
    const auto there = runtime::make_runnable(runtime::find_packages(folder), on_device);
    const auto here = runtime::make_runnable(runtime::find_packages(folder), on_cpu);
    expect_same(*there.model, *here.model, steps);
  }
}

TEST_F(CoreMlGenerations, Anemll) {
  const TempDir folder;
  testing_models::write_anemll(folder.path());
  expect_same_packages(folder.path(), on_core_ml(), on_cpu(), 12);
}

void write_windowed(const fs::path& folder) {
  models::WindowedOptions form;
  form.window = 4;
  form.cache = 44;
  for (const auto& part : models::Windowed(source_dir() / "pippin/demo/model", form).parts()) {
    mil::write_package(part.model, folder / (part.stem + ".mlpackage"));
  }
}

TEST_F(CoreMlGenerations, Windowed) {
  const TempDir folder;
  write_windowed(folder.path());
  expect_same_packages(folder.path(), on_core_ml(), on_cpu(), 20);
}

// A state is shared by all functions and chunks, is cloned with the results of runs, and can be
// reset.
TEST_F(CoreMlGenerations, SequencesFork) {
  const fs::path demo = source_dir() / "pippin/demo/model";
  const models::BuildOptions size{.context = 24};
  const auto there = runtime::make_runnable(models::build(demo, size), on_core_ml());
  const auto here = runtime::make_runnable(models::build(demo, size), on_cpu());
  const auto a = there.model->new_sequence(), b = here.model->new_sequence();
  const Ids prompt = {3, 17, 5};
  a->prefill(prompt);
  b->prefill(prompt);
  const auto fork_a = a->fork(), fork_b = b->fork();
  for (const int32_t id : {4, 9}) {
    expect_close(a->decode(id), b->decode(id));
    expect_close(fork_a->decode(id + 1), fork_b->decode(id + 1));
  }
  a->truncate(3);
  b->truncate(3);
  expect_close(a->decode(7), b->decode(7));
}

// States are in Core ML's memory: asking for their size copies nothing, and reading them does not
// write them back.
TEST_F(CoreMlGenerations, StatesAreCopiedForTheirBytesAlone) {
  const fs::path demo = source_dir() / "pippin/demo/model";
  const auto there = runtime::make_runnable(models::build(demo, {.context = 24}), on_core_ml());
  const auto sequence = there.model->new_sequence(), other = there.model->new_sequence();
  const Ids prompt = {3, 17, 5};
  sequence->prefill(prompt);
  const auto& looks = standin::counters().looks;
  EXPECT_GT(sequence->cached_bytes(), 0U);
  const runtime::RowLayout layout = sequence->row_layout();
  sequence->decode(4);
  EXPECT_EQ(looks, 0);

  std::vector<std::byte> rows(3 * layout.row_bytes());
  sequence->copy_rows(0, 3, rows);
  const auto states = static_cast<int64_t>(layout.parts.size());
  EXPECT_GT(states, 0);
  EXPECT_EQ(looks, states);
  const auto row = sequence->decode(9);
  const std::vector<float> want(row.begin(), row.end());
  EXPECT_EQ(looks, states);

  // Rows written into another sequence are sent before its next run.
  const runtime::RowPiece piece{rows, 3, 0, 3};
  other->append_rows(prompt, {&piece, 1});
  other->decode(4);
  EXPECT_EQ(looks, 2 * states);
  expect_close(other->decode(9), want);
}

// Each thread has its own sequence of one shared model; a windowed model's cache update runs
// concurrently with the next chunk.
void expect_same_in_threads(runtime::Model& there, runtime::Model& here) {
  constexpr size_t kThreads = 3;
  const Ids prompt = {3, 17, 5, 22, 0};
  const auto rows_of = [&](runtime::Model& model, size_t thread) {
    const auto sequence = model.new_sequence();
    std::vector<std::vector<float>> rows;
    const auto keep = [&](std::span<const float> row) {
      rows.emplace_back(row.begin(), row.end());
    };
    keep(sequence->prefill(std::span(prompt).first(2 + thread)));
    for (const int32_t id : {4, 9, 30}) keep(sequence->decode(id + static_cast<int32_t>(thread)));
    return rows;
  };
  std::array<std::vector<std::vector<float>>, kThreads> have;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { have.at(i) = rows_of(there, i); });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < kThreads; ++i) {
    SCOPED_TRACE(i);
    const auto want = rows_of(here, i);
    ASSERT_EQ(have.at(i).size(), want.size());
    for (size_t row = 0; row < want.size(); ++row) expect_close(have.at(i)[row], want[row]);
  }
}

TEST_F(CoreMlGenerations, ThreadsShareAStatefulModel) {
  const fs::path demo = source_dir() / "pippin/demo/model";
  const models::BuildOptions size{.context = 24};
  expect_same_in_threads(*runtime::make_runnable(models::build(demo, size), on_core_ml()).model,
                         *runtime::make_runnable(models::build(demo, size), on_cpu()).model);
}

TEST_F(CoreMlGenerations, ThreadsShareAWindowedModel) {
  const TempDir folder;
  write_windowed(folder.path());
  const auto packages = [&] { return runtime::find_packages(folder.path()); };
  expect_same_in_threads(*runtime::make_runnable(packages(), on_core_ml()).model,
                         *runtime::make_runnable(packages(), on_cpu()).model);
}

}  // namespace
}  // namespace pippin
