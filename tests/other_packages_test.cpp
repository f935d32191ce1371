// Packages of one model that others write: inputs, outputs and layouts that Pippin's families do
// not have.

#include <algorithm>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/runtime/draft/drafts.h"
#include "pippin/runtime/generator.h"
#include "tests/opened_model.h"
#include "tests/tiny_model.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using namespace testing_models;
using mil::DataType;
using runtime::Sequence;
using Ids = std::vector<int32_t>;

const Ids kIds = {3, 17, 5, 22, 0, 9, 9, 14, 1, 20, 7, 11, 2};
// Relative to the largest logit: what is between is fp16 (tests/run_families_test.cpp).
constexpr double kTolerance = 6e-4;

enum class Rows : uint8_t { Every, Last };

// A package without states, which computes the whole text for every token.
struct PlainForm {
  bool is_fixed = true;  // kContext ids, padded; else any number up to that
  DataType ids = DataType::Int32;
  size_t ids_rank = 2;
  std::optional<DataType> positions = std::nullopt;  // an input
  size_t positions_rank = 2;
  bool output_mask = false;  // an input: the token that logits are wanted of
  Rows rows = Rows::Every;   // Last: logits [1, vocabulary]
  // From (1, rows, vocabulary): where its axes go, with an axis of one before the last if `wide`.
  bool is_turned = false, is_wide = false;
  bool has_head = true;  // else the states of the tokens: an encoder
};

array::Array last_row(const array::Array& x) {
  using array::Param;
  const auto numbers = [](const std::vector<int64_t>& values) {
    return array::constant(std::span<const int64_t>(values));
  };
  mil::Value all;
  all.type = mil::ValueType::tensor(DataType::Bool, {3});
  all.bytes = {std::byte{1}, std::byte{0}, std::byte{1}};
  mil::Value to_end = all;
  to_end.bytes.assign(3, std::byte{1});
  return array::record_one(
      "slice_by_index",
      {Param("x", x), Param("begin", numbers({0, -1, 0})), Param("end", numbers({0, 0, 0})),
       Param("begin_mask", array::constant(all)), Param("end_mask", array::constant(to_end))});
}

void write_plain(const fs::path& path, const PlainForm& form) {
  using namespace array;
  constexpr auto kHalf = DataType::Float16;
  const TinyWeights w;
  PackageMaker maker;
  Builder builder;
  const mil::Dim query =
      form.is_fixed ? mil::Dim(kContext) : mil::Dim::symbol("query", 1, kContext);
  const auto input = [&](const std::string& name, DataType type, size_t rank) {
    maker.input(name, type,
                rank == 1 ? std::vector<int64_t>{kContext} : std::vector<int64_t>{1, kContext});
    const Array array =
        builder.input(name, type, rank == 1 ? mil::Shape{query} : mil::Shape{1, query});
    return cast(rank == 1 ? array : squeeze(array, {0}), DataType::Int32);
  };
  const Array ids = input("input_ids", form.ids, form.ids_rank);
  std::vector<int64_t> places(kContext);
  for (int64_t i = 0; i < kContext; ++i) places[static_cast<size_t>(i)] = i;
  const Array positions = form.positions
                              ? input("position_ids", *form.positions, form.positions_rank)
                              : constant(std::span<const int64_t>(places));
  std::vector<double> hidden(kContext * kContext);
  for (int64_t row = 0; row < kContext; ++row) {
    for (int64_t column = row + 1; column < kContext; ++column) {
      hidden[static_cast<size_t>(row * kContext + column)] = -40000;
    }
  }
  const Array mask =
      gather(gather(constant(kHalf, {kContext, kContext}, hidden), positions, 0), positions, 1);
  const Array p = gather(constant(kHalf, {kContext, kHidden}, w.positions), positions, 0);
  const auto times = [&](const Array& x, const std::vector<double>& values) {
    return linear(x, constant(kHalf, {kHidden, kHidden}, values));
  };
  Array x = gather(constant(kHalf, {kVocab, kHidden}, w.embedding), ids, 0);
  for (size_t layer = 0; layer < kLayers; ++layer) {
    const Array q = times(x, w.q[layer]) + p, k = times(x, w.k[layer]) + p;
    const Array scores = matmul(q, k, false, true) * 0.5;
    x = x + matmul(softmax(scores + mask), times(x, w.v[layer]));
  }
  x = expand_dims(x, {0});
  if (form.output_mask) {
    maker.input("output_mask", DataType::Int32, {1});
    x = gather(x, builder.input("output_mask", DataType::Int32, {1}), 1);
  }
  if (form.has_head) x = linear(x, constant(kHalf, {kVocab, kHidden}, w.head));
  if (form.rows == Rows::Last) x = squeeze(last_row(x), {1});
  if (form.is_turned) x = transpose(x, {0, 2, 1});
  if (form.is_wide) x = expand_dims(x, {2});
  builder.output(form.has_head ? "logits" : "last_hidden_state", x);
  maker.output(form.has_head ? "logits" : "last_hidden_state", kHalf, {});
  maker.finish_function("main", builder);
  if (!form.is_fixed) {
    for (mil::Feature& feature : maker.model.functions[0].inputs) {
      feature.ranges = {{1, 1}, {1, kContext}};
      if (feature.shape.size() == 1) feature.ranges.erase(feature.ranges.begin());
    }
  }
  maker.write(path);
}

OpenedModel open(const fs::path& path) {
  runtime::LoadOptions options;
  options.threads = 1;
  return runtime::make_runnable(runtime::find_packages(path), options);
}

void expect_near(std::span<const float> have, std::span<const float> want) {
  double largest = 0;
  for (const float logit : want) largest = std::max<double>(largest, std::abs(logit));
  ASSERT_EQ(have.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(have[i], want[i], kTolerance * largest) << i;
}

// A prompt, tokens after it, tokens taken back, and all rows.
void expect_logits(Sequence& sequence) {
  const std::vector<float> want = expected_logits(kIds);
  const auto row = [&](size_t token) { return std::span(want).subspan(token * kVocab, kVocab); };
  constexpr size_t kPrompt = 6;
  expect_near(sequence.prefill(std::span(kIds).first(kPrompt)), row(kPrompt - 1));
  for (size_t t = kPrompt; t < kIds.size(); ++t) expect_near(sequence.decode(kIds[t]), row(t));
  sequence.truncate(2);
  expect_near(sequence.decode(kIds[2]), row(2));
  sequence.reset();
  expect_near(sequence.all_logits(kIds), want);
}

TEST(OtherPackages, IdsPositionsAndLayoutsOfManyForms) {
  const TempDir scratch;
  const std::vector<std::pair<std::string, PlainForm>> forms = {
      {"fixed", {}},
      {"any number", {.is_fixed = false, .positions = DataType::Int32}},
      {"one axis", {.ids_rank = 1}},
      {"float ids", {.ids = DataType::Float32}},
      {"half ids", {.ids = DataType::Float16, .positions = DataType::Float16}},
      {"position ids", {.positions = DataType::Int32}},
      {"position ids of one axis", {.positions = DataType::Int32, .positions_rank = 1}},
      {"float positions", {.ids = DataType::Float32, .positions = DataType::Float32}},
      {"output mask", {.output_mask = true}},
      {"vocabulary before tokens", {.is_turned = true}},
      {"layout of the Neural Engine", {.is_turned = true, .is_wide = true}},
      {"an axis between", {.is_wide = true}},
      {"any number, turned",
       {.is_fixed = false, .positions = DataType::Int32, .is_turned = true, .is_wide = true}},
      {"output mask, turned", {.output_mask = true, .is_turned = true, .is_wide = true}},
  };
  for (const auto& [name, form] : forms) {
    SCOPED_TRACE(name);
    write_plain(scratch / (name + ".mlpackage"), form);
    const OpenedModel model = open(scratch / (name + ".mlpackage"));
    EXPECT_EQ(model.model->vocab_size(), kVocab);
    EXPECT_EQ(model.model->context(), kContext);
    expect_logits(*model.sequence);
  }
}

// Drafts are computed in a pass, whose logits all are needed.
TEST(OtherPackages, NoDraftsWhereAPassGivesTheLastLogitsAlone) {
  const TempDir scratch;
  const fs::path package = scratch / "m.mlpackage";
  const PlainForm last = {.is_fixed = false, .positions = DataType::Int32, .rows = Rows::Last};
  for (const PlainForm& form : {last, PlainForm{.output_mask = true}}) {
    write_plain(package, form);
    const OpenedModel model = open(package);
    EXPECT_FALSE(model.model->capabilities().every_row);
    expect_logits(*model.sequence);
    model.sequence->reset();
    const auto drafts = std::make_shared<runtime::Drafts>(runtime::DraftOptions{.always = true});
    const Ids prompt = {1, 2, 1, 2, 1, 2, 1, 2};
    const auto text = [&](std::shared_ptr<runtime::Drafts> source) {
      runtime::GenerateOptions options;
      options.max_tokens = 12;
      options.drafts = std::move(source);
      model.sequence->reset();
      return runtime::generate(*model.sequence, prompt, options, [](int32_t) { return true; }).ids;
    };
    const Ids plain = text(nullptr);
    EXPECT_EQ(plain.size(), 12u);
    EXPECT_EQ(text(drafts), plain);
  }
  write_plain(package, {});
  EXPECT_TRUE(open(package).model->capabilities().every_row);
}

// CoreML-LLM's: the model chooses the token and tells its logit.
TEST(OtherPackages, ModelsThatChooseTheToken) {
  const TempDir scratch;
  PackageMaker maker;
  add_step(maker, "main",
           {.takes_ids = true,
            .gives_logits = true,
            .update_mask = true,
            .chosen_index = "token_id",
            .chosen_value = "token_logit"},
           1, true);
  maker.write(scratch / "m.mlpackage");
  const OpenedModel model = open(scratch / "m.mlpackage");
  EXPECT_EQ(model.model->vocab_size(), kVocab);
  EXPECT_TRUE(model.model->capabilities().greedy_only);
  const std::vector<float> want = expected_logits(kIds);
  for (size_t t = 0; t < kIds.size(); ++t) {
    const auto row = std::span(want).subspan(t * kVocab, kVocab);
    model.sequence->decode(kIds[t]);
    EXPECT_EQ(model.sequence->greedy_token(),
              std::max_element(row.begin(), row.end()) - row.begin());
  }
  EXPECT_ERROR(model.sequence->all_logits(kIds), ErrorCode::Unsupported,
               "chooses its most likely token itself");
}

TEST(OtherPackages, EncodersAreNamed) {
  const TempDir scratch;
  write_plain(scratch / "m.mlpackage", {.has_head = false});
  EXPECT_ERROR(open(scratch / "m.mlpackage"), ErrorCode::Unsupported, "pippin embed");
}

}  // namespace
}  // namespace pippin
