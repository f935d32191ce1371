// Models of every family on a device that runs the nodes of plans in separate memory: equality with
// the CPU, and the transferred bytes.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/engine/node_device_testing.h"
#include "pippin/engine/plan_testing.h"
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
using engine::NodeDevice;
using engine::Transfers;
using runtime::Sequence;
using Ids = std::vector<int32_t>;

engine::ComputeOptions on(std::shared_ptr<NodeDevice> device) {
  engine::ComputeOptions compute;
  compute.device = std::move(device);
  return compute;
}

engine::ComputeOptions scalar() {
  engine::ComputeOptions compute;
  compute.cpu = limit_cpu(detect_cpu(), "scalar");
  return compute;
}

runtime::GenerateResult text_of(Model& model, bool with_drafts) {
  runtime::GenerateOptions options;
  options.max_tokens = 12;
  if (with_drafts) {
    options.drafts =
        std::make_shared<runtime::Drafts>(runtime::DraftOptions{.most = 3, .always = true});
  }
  const auto sequence = model.new_sequence();
  const Ids prompt = {3, 17, 5, 3, 17};
  return runtime::generate(*sequence, prompt, options, [](int32_t) { return true; });
}

// The texts of prompts that share a prefix, and the numbers of tokens found in the cache.
std::pair<std::vector<Ids>, int64_t> cached_texts(const std::shared_ptr<Model>& model) {
  const Tokenizer tokenizer = Tokenizer::open(demo());
  scheduling::Scheduler scheduler(model, tokenizer, {.cache_ram = 1 << 26});
  std::vector<Ids> texts;
  int64_t cached = 0;
  for (const int32_t last : {7, 7, 4}) {
    scheduling::Request request{{3, 10, 17, 1, 8, 15, 22, 6, 13, last}, {}};
    request.options.max_tokens = 4;
    const auto asked = scheduling::ask(scheduler, std::move(request));
    cached += asked.heard->wait().cached_tokens;
    EXPECT_EQ(asked.heard->error(), "");
    texts.push_back(asked.heard->ids);
    scheduling::wait_until_idle(scheduler);
  }
  return {texts, cached};
}

class NodeDevices : public testing::TestWithParam<Family> {};

TEST_P(NodeDevices, GiveTheNumbersOfTheCpu) {
  const TempDir there_folder, here_folder;
  const auto device = std::make_shared<NodeDevice>();
  const auto there = GetParam().load(there_folder.path(), on(device));
  const auto here = GetParam().load(here_folder.path(), scalar());
  const auto have = rows_of(*there), want = rows_of(*here);
  ASSERT_EQ(have.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(have[i], want[i]) << "row " << i;
  EXPECT_GT(device->runs(), 10);
  const auto text = text_of(*here, false).ids;
  EXPECT_EQ(text_of(*there, false).ids, text);
  EXPECT_EQ(text_of(*there, true).ids, text);
  const auto [texts, cached] = cached_texts(there);
  const auto [texts_here, cached_here] = cached_texts(here);
  EXPECT_EQ(texts, texts_here);
  EXPECT_EQ(cached, cached_here);
}

INSTANTIATE_TEST_SUITE_P(Families, NodeDevices, testing::ValuesIn(kFamilies),
                         [](const auto& family) { return family.param.name; });

// No device but the CPU has quantized caches.
TEST(NodeDevice, RefusesQuantizedCaches) {
  runtime::LoadOptions options;
  options.threads = 1;
  options.compute = on(std::make_shared<NodeDevice>());
  options.cache_type = engine::CacheType::Q8;
  EXPECT_ERROR(load_recorded(demo(), options), ErrorCode::Unsupported,
               "stores caches as f16, only the CPU as q8");
  options.compute.fallback = engine::Fallback::NoKernel;
  EXPECT_EQ(load_recorded(demo(), options)->context(), 32);
}

// The bytes that a call transferred.
struct Moved {
  uint64_t inputs, outputs, state_reads, state_writes, state_copies;
  bool operator==(const Moved&) const = default;
};
void PrintTo(const Moved& moved, std::ostream* out) {
  *out << moved.inputs << " of inputs, " << moved.outputs
       << " of outputs, states: " << moved.state_reads << " read, " << moved.state_writes
       << " written, " << moved.state_copies << " copied";
}

Moved now(const Transfers& all) {
  return {all.inputs, all.outputs, all.state_reads, all.state_writes, all.state_copies};
}

template <typename Body>
Moved moved_by(const NodeDevice& device, const Body& body) {
  const Moved before = now(*device.transfers());
  body();
  const Moved after = now(*device.transfers());
  return {after.inputs - before.inputs, after.outputs - before.outputs,
          after.state_reads - before.state_reads, after.state_writes - before.state_writes,
          after.state_copies - before.state_copies};
}

class NodeTransfers : public testing::Test {
 protected:
  const std::shared_ptr<NodeDevice> device_ = std::make_shared<NodeDevice>();
  const std::shared_ptr<Model> model_ =
      runtime::make_runnable(models::build(demo(), {.context = 48}), options()).model;
  const std::unique_ptr<Sequence> one_ = model_->new_sequence();
  const uint64_t vocabulary_ = static_cast<uint64_t>(model_->vocab_size());

  template <typename Body>
  Moved moved(const Body& body) const {
    return moved_by(*device_, body);
  }

 private:
  LoadOptions options() const {
    LoadOptions options;
    options.threads = 1;
    options.compute = on(device_);
    return options;
  }
};

// Ids go in, and the position of the mask; a row of logits comes out.
TEST_F(NodeTransfers, AreIdsAndARowOfLogits) {
  constexpr uint64_t kId = 4, kPast = 8, kFloat = 4;
  const Ids prompt = {3, 17, 5, 22, 0};
  const uint64_t row = vocabulary_ * kFloat;
  EXPECT_EQ(moved([&] { one_->prefill(prompt); }), (Moved{5 * kId + kPast, row, 0, 0, 0}));
  EXPECT_EQ(moved([&] { one_->decode(1); }), (Moved{kId + kPast, row, 0, 0, 0}));
  EXPECT_EQ(moved([&] { one_->all_logits(prompt); }), (Moved{5 * kId + kPast, 5 * row, 0, 0, 0}));
  // The device chooses: the token comes out.
  EXPECT_EQ(moved([&] { one_->prefill_choice(prompt, runtime::Rows::Token); }),
            (Moved{5 * kId + kPast, 4, 0, 0, 0}));
  const auto two = model_->new_sequence();
  runtime::Batch batch(model_);
  batch.add(*one_, 4);
  batch.add(*two, 5);
  EXPECT_EQ(moved([&] { batch.run(); }), (Moved{2 * (kId + kPast), 2 * row, 0, 0, 0}));
  EXPECT_EQ(batch.logits(0).size(), vocabulary_);
  batch.clear();
  batch.add(*one_, 4, runtime::Rows::Token);
  batch.add(*two, 5, runtime::Rows::Token);
  EXPECT_EQ(moved([&] { batch.run(); }), (Moved{2 * (kId + kPast), 2 * 4, 0, 0, 0}));
  EXPECT_TRUE(batch.logits(0).empty());
  EXPECT_TRUE(one_->greedy_token().has_value());
}

// Tokens chosen by the device form the same text as those chosen from logits.
TEST_F(NodeTransfers, GreedyTextsNeedNoLogits) {
  const auto want = text_of(*model_, /*with_drafts=*/true).ids;
  Ids have;
  const Moved text = moved([&] { have = text_of(*model_, false).ids; });
  EXPECT_EQ(have, want);
  EXPECT_EQ(text.outputs, 4 * have.size());
}

// Sizes are known without a transfer; rows are transferred once, and alone.
TEST_F(NodeTransfers, OfStatesAreTheirRows) {
  const Ids prompt = {3, 17, 5, 22, 0};
  one_->prefill(prompt);
  runtime::RowLayout layout;
  EXPECT_EQ(moved([&] {
              layout = one_->row_layout();
              EXPECT_GT(one_->cached_bytes(), 0U);
            }),
            (Moved{0, 0, 0, 0, 0}));
  const uint64_t row = layout.row_bytes();
  ASSERT_GT(row, 0U);
  std::vector<std::byte> rows(2 * row);
  EXPECT_EQ(moved([&] { one_->copy_rows(1, 3, rows); }), (Moved{0, 0, 2 * row, 0, 0}));
  rows.resize(5 * row);
  one_->copy_rows(0, 5, rows);
  const auto other = model_->new_sequence();
  const runtime::RowPiece piece{rows, 5, 0, 5};
  EXPECT_EQ(moved([&] { other->append_rows(prompt, {&piece, 1}); }), (Moved{0, 0, 0, 5 * row, 0}));
  std::unique_ptr<Sequence> fork;
  EXPECT_EQ(moved([&] { fork = other->fork(); }), (Moved{0, 0, 0, 0, 5 * row}));
  const auto next = one_->decode(8);
  const std::vector<float> want(next.begin(), next.end());
  for (Sequence* const sequence : {other.get(), fork.get()}) {
    const auto have = sequence->decode(8);
    EXPECT_TRUE(std::equal(have.begin(), have.end(), want.begin(), want.end()));
  }
  const TempDir folder;
  EXPECT_EQ(moved([&] { one_->save(folder / "saved"); }), (Moved{0, 0, 6 * row, 0, 0}));
  EXPECT_EQ(moved([&] { other->restore(folder / "saved"); }), (Moved{0, 0, 0, 6 * row, 0}));
}

std::string nodes_of(const mil::Model& model, const engine::ComputeOptions& compute) {
  engine::PlanOptions options;
  options.compute = compute;
  options.compute.batch_invariant = true;
  return engine::Plan::make(model, model.functions.front().name, options)->nodes_text();
}

// A plan has the nodes that its device supports, and the same results.
TEST(NodeDevice, GetsThePlanThatItTakes) {
  const auto plain = std::make_shared<NodeDevice>();
  const auto poor = std::make_shared<NodeDevice>(
      std::set<std::string_view>{"rms_norm", "rotary", "gate", "residual"});
  const mil::Model model = models::build(demo(), {.context = 16});
  const std::string cpu = nodes_of(model, scalar()), rich = nodes_of(model, on(plain)),
                    bare = nodes_of(model, on(poor));
  const auto has = [](const std::string& text, const char* node) {
    return text.find(std::string("= ") + node) != std::string::npos;
  };
  for (const char* node : {"rms_norm", "rotary"}) {
    EXPECT_TRUE(has(cpu, node) && has(rich, node)) << node << "\n" << rich;
    EXPECT_FALSE(has(bare, node)) << node << "\n" << bare;
  }
  EXPECT_TRUE(has(cpu, "mask summary"));
  EXPECT_FALSE(has(rich, "mask summary"));
  const auto row_of = [&](const engine::ComputeOptions& compute) {
    LoadOptions options;
    options.threads = 1;
    options.compute = compute;
    const auto loaded =
        runtime::make_runnable(models::build(demo(), {.context = 16}), options).model;
    const Ids prompt = {3, 17, 5};
    const auto sequence = loaded->new_sequence();
    const auto row = sequence->prefill(prompt);
    return std::vector<float>(row.begin(), row.end());
  };
  const auto want = row_of(on(plain)), have = row_of(on(poor));
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(have[i], want[i], 0.02F) << i;
}

// An operation that the device does not support runs on the reference.
TEST(NodeDevice, GetsConvolutionsWithoutPanels) {
  const mil::Model model = engine::make_model(R"(func main<ios18>(tensor<fp32, [1, 3, 5, 6]> x) {
    tensor<fp32, [2, 3, 2, 2]> w = const()[name = string("w"), val = tensor<fp32, [2, 3, 2, 2]>([
      0x1p+0, 0x1p-1, -0x1p+0, 0x1p+1, 0x1p+0, 0x1p-1, -0x1p+0, 0x1p+1, 0x1p+0, 0x1p-1, -0x1p+0, 0x1p+1,
      0x1p+1, 0x1p-2, -0x1p+0, 0x1p+0, 0x1p+0, 0x1p-1, -0x1p+1, 0x1p+1, 0x1p-3, 0x1p-1, -0x1p+0, 0x1p+1])];
    string valid = const()[name = string("valid"), val = string("valid")];
    tensor<int32, [2]> ones = const()[name = string("ones"), val = tensor<int32, [2]>([1, 1])];
    tensor<int32, [4]> none = const()[name = string("none"), val = tensor<int32, [4]>([0, 0, 0, 0])];
    int32 one = const()[name = string("one"), val = int32(1)];
    tensor<fp32, [1, 2, 4, 5]> y = conv(x = x, weight = w, strides = ones, pad_type = valid, pad = none, dilations = ones, groups = one)[name = string("y")];
  } -> (y);)");
  const auto device = std::make_shared<NodeDevice>();
  ThreadPool pool(1);
  std::vector<std::vector<float>> results;
  for (const auto& compute : {on(device), scalar()}) {
    engine::PlanOptions options;
    options.compute = compute;
    engine::Execution execution(engine::Plan::make(model, "main", options), pool);
    const std::string nodes = execution.plan().nodes_text();
    EXPECT_EQ(nodes.find("reference") != std::string::npos, compute.device != nullptr) << nodes;
    engine::State state({}, compute);
    execution.bind({{1, 3, 5, 6}}, state);
    const auto x = execution.float_input(0);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 2.5F;
    execution.run();
    const auto y = execution.float_output(0);
    results.emplace_back(y.begin(), y.end());
  }
  EXPECT_EQ(results[0], results[1]);  // all numbers are exact
}

}  // namespace
}  // namespace pippin
