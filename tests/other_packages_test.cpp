// Packages of one model in the forms of other tools: inputs, outputs and layouts that Pippin's
// families do not have.

#include <algorithm>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/runtime/draft/drafts.h"
#include "pippin/runtime/encoder_model.h"
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
// Relative to the largest logit: the difference is due to fp16 (tests/run_families_test.cpp).
constexpr double kTolerance = 6e-4;

enum class Rows : uint8_t { Every, Last };

// A package without states, which computes the whole text for every token.
struct PlainForm {
  bool is_fixed = true;  // kContext ids, padded; else any number up to kContext
  DataType ids = DataType::Int32;
  size_t ids_rank = 2;
  std::optional<DataType> positions = std::nullopt;  // an input
  size_t positions_rank = 2;
  bool output_mask = false;  // an input: the token whose logits are wanted
  Rows rows = Rows::Every;   // Last: logits [1, vocabulary]
  // The order of the axes of (1, rows, vocabulary), with an extra axis of size 1 before the last if
  // `wide`.
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

// A prompt, tokens after it, dropping tokens, and all rows.
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

// Drafts need a pass that returns all logits.
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

// CoreML-LLM's form: the model chooses the token and returns its logit.
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

// Encoders: the rows of the embedding and of the positions, or their mean if `is_pooled`.
struct EncoderForm {
  std::vector<std::vector<int64_t>> shapes = {{1, kContext}};  // enumerated, if more than one
  DataType type = DataType::Int32;                             // of the inputs
  bool positions = false, types = false;                       // inputs
  bool is_pooled = true;
};

std::shared_ptr<runtime::EncoderModel> encoder_of(const EncoderForm& form) {
  using namespace array;
  constexpr auto kHalf = DataType::Float16;
  const TempDir scratch;
  const TinyWeights w;
  PackageMaker maker;
  Builder builder;
  const auto size = [&](size_t axis) {
    const auto [least, most] =
        std::minmax_element(form.shapes.begin(), form.shapes.end(),
                            [&](const auto& a, const auto& b) { return a[axis] < b[axis]; });
    if ((*least)[axis] == (*most)[axis]) return mil::Dim((*least)[axis]);
    return mil::Dim::symbol("length", (*least)[axis], (*most)[axis]);
  };
  const mil::Shape shape = {size(0), size(1)};
  const auto input = [&](const std::string& name) {
    maker.input(name, form.type, form.shapes[0]);
    return builder.input(name, form.type, shape);
  };
  Array x = gather(constant(kHalf, {kVocab, kHidden}, w.embedding),
                   cast(input("input_ids"), DataType::Int32), 0);
  const Array mask = expand_dims(cast(input("attention_mask"), kHalf), {2});
  if (form.types) x = x + expand_dims(cast(input("token_type_ids"), kHalf), {2});
  if (form.positions) {
    const Array places = cast(input("position_ids"), DataType::Int32);
    x = x + gather(constant(kHalf, {kContext, kHidden}, w.positions), places, 0);
  }
  if (form.is_pooled) x = reduce_sum(x * mask, {1}) / reduce_sum(mask, {1});
  const std::string name = form.is_pooled ? "embeddings" : "last_hidden_state";
  builder.output(name, x);
  maker.output(name, kHalf, {});
  maker.finish_function("main", builder);
  for (mil::Feature& feature : maker.model.functions[0].inputs) {
    if (form.shapes.size() > 1) feature.enumerated_shapes = form.shapes;
  }
  maker.write(scratch / "m.mlpackage");
  return std::make_shared<runtime::EncoderModel>(
      std::make_shared<const mil::Model>(mil::read_package(scratch / "m.mlpackage")),
      std::make_shared<ThreadPool>(1), runtime::LoadOptions());
}

std::vector<float> expected_mean(const runtime::EncoderText& text, const EncoderForm& form) {
  const TinyWeights w;
  std::vector<float> mean(kHidden);
  for (size_t i = 0; i < mean.size(); ++i) {
    double sum = 0;
    for (size_t t = 0; t < text.ids.size(); ++t) {
      sum += w.embedding[static_cast<size_t>(text.ids[t]) * kHidden + i];
      if (form.positions) sum += w.positions[t * kHidden + i];
      if (form.types) sum += text.types[t];
    }
    mean[i] = static_cast<float>(sum / static_cast<double>(text.ids.size()));
  }
  return mean;
}

TEST(OtherPackages, EncodersOfFixedSizesGetPadding) {
  const std::vector<std::pair<std::string, EncoderForm>> forms = {
      {"one length", {}},
      {"float inputs", {.type = DataType::Float32}},
      {"several texts", {.shapes = {{3, kContext}}}},
      {"two lengths", {.shapes = {{1, 4}, {1, kContext}}}},
      {"types and positions", {.positions = true, .types = true}},
      {"states", {.positions = true, .is_pooled = false}},
      {"states of several texts", {.shapes = {{2, 16}}, .is_pooled = false}},
  };
  const std::vector<runtime::EncoderText> texts = {{{5, 9, 1}, {0, 0, 1}},
                                                   {{7}, {1}},
                                                   {{3, 3, 8, 22, 0, 2, 11}, {0, 0, 0, 1, 1, 0, 1}},
                                                   {{4, 2}, {0, 1}}};
  for (const auto& [name, form] : forms) {
    SCOPED_TRACE(name);
    const auto model = encoder_of(form);
    EXPECT_EQ(model->max_tokens(), form.shapes.back()[1]);
    const auto rows = model->run(texts);
    ASSERT_EQ(rows.size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) expect_near(rows[i], expected_mean(texts[i], form));
  }
  const auto model = encoder_of({});
  const std::vector<runtime::EncoderText> unknown = {{{kVocab}, {}}};
  EXPECT_ERROR(model->run(unknown), ErrorCode::InvalidArgument, "token id 23, the model has 23");
  const std::vector<runtime::EncoderText> longer = {{Ids(kContext + 1, 1), {}}};
  EXPECT_ERROR(model->run(longer), ErrorCode::InvalidArgument, "1 to 32 are possible");
}

}  // namespace
}  // namespace pippin
