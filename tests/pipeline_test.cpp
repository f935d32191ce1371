// Language models of every family on several ranks return the same bits as on one, alone, together,
// forked, saved and from rows of the cache. Ranks are threads here.
#include "pippin/pipeline/pipeline.h"

#include <algorithm>
#include <filesystem>
#include <future>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/plan.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/family/anemll.h"
#include "pippin/models/family/windowed.h"
#include "pippin/models/registry.h"
#include "pippin/pipeline/local_transport.h"
#include "pippin/runtime/open/loaded_model.h"
#include "tests/on_ranks.h"
#include "tests/sequence_rows.h"
#include "tests/tiny_model.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using pipeline::LocalExchange;
using pipeline::LocalTransport;
using pipeline::Pipeline;
using runtime::LoadOptions;
using runtime::RunnableModel;
using Ids = std::vector<int32_t>;
using on_ranks::one_thread;
using on_ranks::Open;

fs::path demo() {
  return source_dir() / "pippin/demo/model";
}

struct Family {
  std::string name;
  int most_ranks;
};

class PipelineFamilies : public testing::TestWithParam<Family> {
 protected:
  void SetUp() override {
    const std::string& name = GetParam().name;
    if (name == "anemll") {
      testing_models::write_anemll(folder_.path());
    } else if (name == "windowed") {
      models::WindowedOptions form;
      form.window = 4;
      form.cache = 12;
      for (const auto& part : models::Windowed(demo(), form).parts()) {
        mil::write_package(part.model, folder_ / (part.stem + ".mlpackage"));
      }
    }
  }

  RunnableModel open(const LoadOptions& options) const {
    if (GetParam().name == "stateful") {
      return runtime::make_runnable(models::build(demo(), {.context = 64}), options);
    }
    return runtime::make_runnable(runtime::find_packages(folder_.path()), options);
  }
  Open opener() const {
    return [this](const LoadOptions& options) { return open(options); };
  }

  TempDir folder_;
};

TEST_P(PipelineFamilies, GiveTheSameBits) {
  const auto want = rows_of(*open(one_thread()).model);
  for (int ranks = 1; ranks <= GetParam().most_ranks; ++ranks) {
    on_ranks::run(ranks, opener(), [&](runtime::Model& model, Pipeline& pipeline) {
      const auto have = rows_of(model);
      ASSERT_EQ(have.size(), want.size());
      for (size_t i = 0; i < want.size(); ++i) {
        EXPECT_EQ(have[i], want[i]) << ranks << " ranks, row " << i;
      }
      if (ranks > 1) {
        EXPECT_GT(pipeline.traffic().commands, 10U);
      }
    });
  }
}

// Chunks of packages in groups of two ranks, whatever the number of groups.
TEST_P(PipelineFamilies, GiveTheSameBitsInGroups) {
  const auto want = rows_of(*open(one_thread()).model);
  for (const int ranks : {2, 4}) {
    SCOPED_TRACE(ranks);
    const auto check = [&](runtime::Model& model, Pipeline& pipeline) {
      EXPECT_EQ(rows_of(model), want);
      EXPECT_GT(pipeline.traffic().parts, 10U);
    };
    on_ranks::run(ranks, opener(), check, {.grouping = {.width = 2, .least_work = 0}});
  }
}

TEST_P(PipelineFamilies, CopyRowsAndSave) {
  const TempDir files;
  const Ids prompt = {3, 17, 5, 9};
  const auto here = open(one_thread());
  const auto sequence = here.model->new_sequence();
  sequence->prefill(prompt);
  const auto layout = sequence->row_layout();
  std::vector<std::byte> want(4 * layout.row_bytes());
  if (!want.empty()) sequence->copy_rows(0, 4, want);
  const auto row = sequence->decode(7);
  const std::vector<float> next(row.begin(), row.end());
  on_ranks::run(2, opener(), [&](runtime::Model& model, Pipeline&) {
    const auto there = model.new_sequence(), other = model.new_sequence();
    there->prefill(prompt);
    std::vector<std::byte> have(4 * there->row_layout().row_bytes());
    if (!have.empty()) {
      there->copy_rows(0, 4, have);
      EXPECT_EQ(have, want);
      const runtime::RowPiece piece{have, 4, 0, 4};
      other->append_rows(prompt, {&piece, 1});
      const auto after = other->decode(7);
      EXPECT_EQ(std::vector<float>(after.begin(), after.end()), next);
    }
    there->save(files / "saved");
    const auto restored = model.new_sequence();
    restored->restore(files / "saved");
    const auto after = restored->decode(7);
    EXPECT_EQ(std::vector<float>(after.begin(), after.end()), next);
  });
}

INSTANTIATE_TEST_SUITE_P(Each, PipelineFamilies,
                         testing::Values(Family{"stateful", 4}, Family{"anemll", 2},
                                         Family{"windowed", 3}),
                         [](const auto& info) { return info.param.name; });

// Rank 0 begins each piece of a prompt without waiting for the pieces before it.
TEST(Pipelines, PiecesOfPromptsOverlap) {
  LoadOptions options = one_thread();
  options.prefill_chunk = 8;
  const Open open = [](const LoadOptions& load) {
    return runtime::make_runnable(models::build(demo(), {.context = 64}), load);
  };
  Ids prompt(41);
  for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<int32_t>(i * 7 % 20);
  const auto alone = open(options).model->new_sequence();
  const auto row = alone->prefill(prompt);
  const std::vector<float> want(row.begin(), row.end());
  on_ranks::run(3, open,
                [&](runtime::Model& model, Pipeline& pipeline) {
                  const auto sequence = model.new_sequence();
                  const auto before = pipeline.traffic();
                  const auto logits = sequence->prefill(prompt);
                  EXPECT_EQ(std::vector<float>(logits.begin(), logits.end()), want);
                  const auto after = pipeline.traffic();
                  EXPECT_EQ(after.values - before.values, 6U);
                  EXPECT_EQ(after.replies - before.replies,
                            1U);  // the only time that rank 0 waited
                },
                {.load = options});
}

TEST(Pipelines, TellWhatTheyCannotDo) {
  const Open open = [](const LoadOptions& load) {
    return runtime::make_runnable(models::build(demo(), {.context = 64}), load);
  };
  const auto exchange = std::make_shared<LocalExchange>(64);
  const auto pipeline = Pipeline::make(std::make_unique<LocalTransport>(exchange, 0));
  LoadOptions options = one_thread();
  options.compute.device = pipeline->device();
  try {
    open(options);
    FAIL() << "a model with few layers was cut into 64 stages";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
    EXPECT_NE(std::string(error.what()).find("64 stages need 63"), std::string::npos)
        << error.what();
  }
}

// x·A on rank 0, and the row of it times B that `row` names on rank 1.
mil::Model two_products() {
  testing_models::PackageMaker maker;
  array::Builder builder(mil::Opset::CoreML6);  // whose gather rejects indices out of range
  const auto matrix = [&](uint32_t seed) {
    return array::constant(mil::DataType::Float16, {8, 8}, testing_models::weights(64, seed, 1));
  };
  maker.input("x", mil::DataType::Float16, {4, 8});
  maker.input("row", mil::DataType::Int32, {1});
  const array::Array x = builder.input("x", mil::DataType::Float16, mil::to_shape({4, 8}));
  const array::Array row = builder.input("row", mil::DataType::Int32, mil::to_shape({1}));
  const array::Array product = array::linear(array::linear(x, matrix(1)), matrix(2));
  builder.output("y", array::gather(product, row, 0));
  maker.output("y", mil::DataType::Float16, {1, 8});
  maker.finish_function("main", builder);
  return std::move(maker.model);
}

// An Error of a later rank reaches rank 0 when it reads, once, and other runs go on.
TEST(Pipelines, ErrorsReachTheReader) {
  const mil::Model model = two_products();
  const auto exchange = std::make_shared<LocalExchange>(2);
  const auto make = [&](int rank, ThreadPool& pool, std::shared_ptr<Pipeline>& pipeline) {
    pipeline = Pipeline::make(std::make_unique<LocalTransport>(exchange, rank));
    engine::PlanOptions options;
    options.compute.device = pipeline->device();
    return std::make_unique<engine::Execution>(engine::Plan::make(model, "main", options), pool);
  };
  auto other = std::async(std::launch::async, [&] {
    ThreadPool pool(1);
    std::shared_ptr<Pipeline> pipeline;
    const auto execution = make(1, pool, pipeline);
    pipeline->serve();
  });
  {
    ThreadPool pool(1);
    std::shared_ptr<Pipeline> pipeline;
    const auto execution = make(0, pool, pipeline);
    engine::State state({}, {.device = pipeline->device()});
    execution->bind({{4, 8}, {1}}, state);
    std::fill(execution->float_input(0).begin(), execution->float_input(0).end(), 1.0F);
    const auto run = [&](int32_t row) {
      execution->int_input(1)[0] = row;
      execution->run();
    };
    run(3);
    const auto output = execution->float_output(0);
    const std::vector<float> want(output.begin(), output.end());
    run(100);
    run(3);
    EXPECT_ERROR(execution->float_output(0), ErrorCode::InvalidFile,
                 "index 100 is out of range for size 4");
    const auto again = execution->float_output(0);
    EXPECT_EQ(std::vector<float>(again.begin(), again.end()), want);
    EXPECT_NE(want, std::vector<float>(8));
  }
  other.get();
}

}  // namespace
}  // namespace pippin
