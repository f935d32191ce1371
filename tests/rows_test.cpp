// Rows of embeddings in prompts, on small random models: rows that are the embeddings of ids give
// the logits of the ids, and caches tell rows apart.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/io/safetensors.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/batch.h"
#include "pippin/runtime/row_ids.h"
#include "pippin/runtime/sampling/sampler.h"
#include "pippin/runtime/stateful/model.h"
#include "pippin/scheduling/requests_testing.h"
#include "tests/reference_logits.h"
#include "tests/rows_testing.h"

namespace pippin {
namespace {

using runtime::PromptPiece;
using runtime::RowForm;
using testing_models::made_rows;
using testing_models::most_likely;
using testing_models::SharedRows;
using Ids = std::vector<int32_t>;

constexpr int64_t kWidth = 32;

constexpr const char* kSizes = R"("vocab_size": 64, "hidden_size": 32, "intermediate_size": 48,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
    "max_position_embeddings": 512, "tie_word_embeddings": false)";

// A random model that takes rows, planned for prompts in pieces of `chunk` tokens.
class MadeModel {
 public:
  MadeModel(const std::string& type, const std::string& text, int64_t chunk = 256) {
    models::write_random_model(folder_.path(),
                               "{\"model_type\": \"" + type + "\", \"image_token_index\": 60, " +
                                   "\"tie_word_embeddings\": false, \"vision_config\": {}, " +
                                   "\"text_config\": {" + text + ", " + kSizes + "}}");
    program_ = models::build(
        folder_.path(),
        {.context = 512, .rows = true, .compute = models::BuildOptions::Compute::Float32Direct});
    model = runtime::make_stateful_model(program_, pool_, {.prefill_chunk = chunk});
  }
  static MadeModel llava(int64_t chunk = 256) {
    return {"llava", R"("model_type": "llama")", chunk};
  }

  // The embeddings of ids.
  SharedRows rows_of(const Ids& ids) const {
    const auto file = SafetensorsFile::open(folder_.path() / "model.safetensors");
    const TensorInfo* const table = file->find("model.embed_tokens.weight");
    std::vector<float> values(ids.size() * kWidth);
    for (size_t i = 0; i < ids.size(); ++i) {
      const size_t bytes = kWidth * sizeof(float);
      std::memcpy(&values[i * kWidth], table->bytes.data() + static_cast<size_t>(ids[i]) * bytes,
                  bytes);
    }
    return made_rows(std::move(values), kWidth);
  }

 private:
  TempDir folder_;
  ThreadPool pool_{1};
  mil::Model program_;

 public:
  std::shared_ptr<runtime::Model> model;
};

SharedRows random_rows(uint64_t seed, int64_t count, const std::array<int64_t, 3>& grid = {}) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0.0F, 0.1F);
  std::vector<float> values(static_cast<size_t>(count * kWidth));
  for (float& value : values) value = normal(random);
  return made_rows(std::move(values), kWidth, grid);
}

Ids numbers(int32_t first, int32_t count) {
  Ids ids;
  ids.reserve(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) ids.push_back((first + i * 7) % 60);
  return ids;
}

Ids joined(const std::vector<Ids>& parts) {
  Ids ids;
  for (const Ids& part : parts) ids.insert(ids.end(), part.begin(), part.end());
  return ids;
}

std::vector<float> copied(std::span<const float> logits) {
  return {logits.begin(), logits.end()};
}

TEST(RowIds, AreNegativeAndTellRowsApart) {
  const SharedRows one = random_rows(1, 40), other = random_rows(2, 40);
  const std::vector<PromptPiece> prompt = {Ids{5, 6}, one, Ids{7}, other};
  const Ids ids = runtime::prompt_ids(prompt);
  ASSERT_EQ(ids.size(), 83U);
  EXPECT_EQ((Ids{ids[0], ids[1], ids[42]}), (Ids{5, 6, 7}));
  Ids rows(ids.begin() + 2, ids.begin() + 42);
  rows.insert(rows.end(), ids.begin() + 43, ids.end());
  EXPECT_LT(*std::max_element(rows.begin(), rows.end()), 0);
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(std::adjacent_find(rows.begin(), rows.end()), rows.end());
  EXPECT_EQ(runtime::row_id(one->digest, 3), ids[5]);
  EXPECT_ERROR(runtime::row_id("12", 0), ErrorCode::InvalidArgument, "64");
  EXPECT_ERROR(runtime::row_id(std::string(64, 'x'), 0), ErrorCode::InvalidArgument, "hexadecimal");
}

TEST(RowIds, AreReusedInWholeRunsOfThreeOrMore) {
  const Ids text = {1, 2, -5, -6, -7, 3, 4, -8, -9, 5};
  EXPECT_EQ(runtime::reusable(text, 2), 2);
  EXPECT_EQ(runtime::reusable(text, 3), 2);
  EXPECT_EQ(runtime::reusable(text, 4), 2);
  EXPECT_EQ(runtime::reusable(text, 5), 5);
  EXPECT_EQ(runtime::reusable(text, 7), 7);
  EXPECT_EQ(runtime::reusable(text, 8), 7);
  EXPECT_EQ(runtime::reusable(text, 9), 7);
  EXPECT_EQ(runtime::reusable(text, 10), 7);
  EXPECT_EQ(runtime::reusable({}, 0), 0);
  EXPECT_EQ(runtime::with_whole_rows(text, 2), 2);
  EXPECT_EQ(runtime::with_whole_rows(text, 4), 2);
  EXPECT_EQ(runtime::with_whole_rows(text, 5), 5);
  EXPECT_EQ(runtime::with_whole_rows(std::span(text).subspan(3), 1), 2);
}

// A picture of 2 x 3 rows after two tokens, and a video of two frames.
TEST(RowRuns, HaveCoordinates) {
  const RowForm form{.width = kWidth, .has_coordinates = true};
  const SharedRows picture = random_rows(1, 6, {1, 2, 3}), video = random_rows(2, 8, {2, 2, 2});
  const std::vector<PromptPiece> prompt = {Ids{5, 6}, picture, Ids{7}, video, Ids{8}};
  runtime::RowRuns runs;
  EXPECT_ERROR(runs.provide(form, random_rows(3, 6, {1, 2, 4})), ErrorCode::InvalidArgument,
               "grid of 1 x 2 x 4");
  runs.provide(form, picture);
  runs.provide(form, video);
  runs.begin(runtime::prompt_ids(prompt), 0);
  Ids places;
  runs.coordinates(0, 18, places);
  EXPECT_EQ(places, (Ids{0, 1, 2, 2, 2, 2, 2, 2, 5, 6, 6, 6, 6, 7, 7, 7, 7, 8,     // frames
                         0, 1, 2, 2, 2, 3, 3, 3, 5, 6, 6, 7, 7, 6, 6, 7, 7, 8,     // rows
                         0, 1, 2, 3, 4, 2, 3, 4, 5, 6, 7, 6, 7, 6, 7, 6, 7, 8}));  // columns
  Ids some;
  for (int64_t begin = 0; begin < 18; ++begin) {
    runs.coordinates(begin, 1, some);
    EXPECT_EQ(some,
              (Ids{places[static_cast<size_t>(begin)], places[static_cast<size_t>(begin + 18)],
                   places[static_cast<size_t>(begin + 36)]}));
  }
}

// A video whose frames are three positions apart.
TEST(RowRuns, HaveStepsBetweenFrames) {
  const RowForm form{.width = kWidth, .has_coordinates = true};
  auto video = std::make_shared<runtime::EmbeddedRows>(*random_rows(2, 8, {2, 2, 2}));
  video->frame_step = 8;
  runtime::RowRuns runs;
  EXPECT_ERROR(runs.provide(form, video), ErrorCode::InvalidArgument,
               "grid of 2 x 2 x 2 with 8 positions from frame to frame");
  video->frame_step = 3;
  runs.provide(form, video);
  runs.begin(runtime::prompt_ids(std::vector<PromptPiece>{Ids{5}, video, Ids{6}}), 0);
  Ids places;
  runs.coordinates(0, 10, places);
  EXPECT_EQ(places, (Ids{0, 1, 1, 1, 1, 4, 4, 4, 4, 5,     // frames
                         0, 1, 1, 2, 2, 1, 1, 2, 2, 5,     // rows
                         0, 1, 2, 1, 2, 1, 2, 1, 2, 5}));  // columns
}

// The embeddings of some ids as rows: every way gives the logits of the ids, bit for bit.
TEST(RowsInPrompts, AreLikeTheTokensOfTheirEmbeddings) {
  for (const int64_t chunk : {256, 7, 1}) {
    SCOPED_TRACE(chunk);
    const MadeModel made = MadeModel::llava(chunk);
    const Ids a = numbers(1, 9), b = numbers(4, 20), c = numbers(3, 5);
    const SharedRows rows = made.rows_of(b);
    const std::vector<PromptPiece> prompt = {a, rows, c};
    const Ids ids = runtime::prompt_ids(prompt);
    const auto plain = made.model->new_sequence(), seen = made.model->new_sequence();
    const auto want = plain->all_logits(joined({a, b, c}));
    seen->provide(rows);
    EXPECT_EQ(seen->all_logits(ids), want);
    EXPECT_EQ(Ids(seen->tokens().begin(), seen->tokens().end()), ids);
    seen->reset();
    const std::vector<float> last = copied(seen->prefill_prompt(prompt));
    EXPECT_EQ(last, std::vector<float>(want.end() - 64, want.end()));

    const auto expect_next = [&](runtime::Sequence& sequence) {
      const auto text = plain->fork();
      EXPECT_EQ(copied(sequence.decode(11)), copied(text->decode(11)));
    };
    expect_next(*seen->fork());
    const auto copy = made.model->new_sequence();
    const TempDir folder;
    seen->save(folder / "sequence");
    copy->restore(folder / "sequence");
    ASSERT_EQ(copy->row_runs().size(), 1U);
    EXPECT_EQ(copy->row_runs()[0].begin, 9);
    expect_next(*copy);
    seen->prefill(Ids{1, 2, 3});
    seen->truncate(std::ssize(ids));
    expect_next(*seen);
    seen->truncate(9);
    plain->truncate(9);
    EXPECT_EQ(copied(seen->decode(2)), copied(plain->decode(2)));
  }
}

TEST(RowsInPrompts, ShareStepsWithTexts) {
  const MadeModel made = MadeModel::llava();
  const Ids a = numbers(1, 4), b = numbers(4, 5);
  const auto one = made.model->new_sequence(), other = made.model->new_sequence(),
             alone = made.model->new_sequence();
  // The last token of a prompt is a row.
  one->provide(made.rows_of(b));
  const std::vector<PromptPiece> prompt = {a, made.rows_of(b)};
  const Ids ids = runtime::prompt_ids(prompt);
  one->prefill(std::span(ids).first(ids.size() - 1));
  other->prefill(a);
  runtime::Batch batch(made.model);
  batch.add(*one, ids.back());
  batch.add(*other, 9);
  batch.run();
  alone->prefill(a);
  EXPECT_EQ(copied(batch.logits(1)), copied(alone->decode(9)));
  alone->reset();
  EXPECT_EQ(copied(batch.logits(0)), copied(alone->prefill(joined({a, b}))));
}

TEST(RowsInPrompts, MustFit) {
  const MadeModel made = MadeModel::llava();
  const SharedRows rows = random_rows(1, 6);
  const Ids ids = runtime::prompt_ids(std::vector<PromptPiece>{Ids{1}, rows, Ids{2}});
  const auto sequence = made.model->new_sequence();
  EXPECT_ERROR(sequence->prefill(ids), ErrorCode::InvalidArgument, "not provided");
  EXPECT_EQ(sequence->position(), 0);
  EXPECT_ERROR(sequence->provide(made_rows(std::vector<float>(62), 31)), ErrorCode::InvalidArgument,
               "rows of 32 numbers");
  sequence->provide(rows);
  sequence->prefill(ids);
  EXPECT_ERROR(sequence->truncate(3), ErrorCode::Unsupported, "within the 6 rows");
  sequence->reset();
  EXPECT_ERROR(sequence->prefill(ids), ErrorCode::InvalidArgument, "not provided");
  // A run goes on with its own rows.
  sequence->provide(rows);
  sequence->prefill(std::span(ids).first(4));
  EXPECT_ERROR(sequence->decode(2), ErrorCode::InvalidArgument, "3 more rows");
  sequence->prefill(std::span(ids).subspan(4));

  const TempDir folder;
  models::write_random_model(folder.path(),
                             std::string(R"({"model_type": "llama", )") + kSizes + "}");
  const mil::Model program = models::build(folder.path(), {.rows = true});
  ThreadPool pool(1);
  const auto text = runtime::make_stateful_model(program, pool);
  EXPECT_FALSE(text->rows());
  EXPECT_ERROR(text->new_sequence()->provide(rows), ErrorCode::Unsupported, "tokens only");
  EXPECT_ERROR(text->new_sequence()->prefill(ids), ErrorCode::InvalidArgument, "vocabulary");
}

// Rows that see each other are not split, whatever the size of pieces.
TEST(RowsInPrompts, SeeEachOther) {
  const std::string text = R"("model_type": "gemma3_text", "sliding_window": 4,
      "layer_types": ["sliding_attention", "full_attention"], "query_pre_attn_scalar": 8)";
  const SharedRows rows = random_rows(1, 12);
  const std::vector<PromptPiece> prompt = {numbers(1, 5), rows, numbers(2, 6)};
  const Ids ids = runtime::prompt_ids(prompt);
  std::vector<float> want;
  for (const int64_t chunk : {256, 7, 1}) {
    SCOPED_TRACE(chunk);
    const MadeModel made("gemma3", text, chunk);
    ASSERT_EQ(made.model->rows()->sight, RowForm::Sight::Runs);
    const auto sequence = made.model->new_sequence();
    sequence->provide(rows);
    const auto all = sequence->all_logits(ids);
    if (want.empty()) want = all;
    EXPECT_LE(max_difference(all, want), 1e-5);
    // The last row changes what the first one sees.
    std::vector<float> values = rows->values;
    values.back() += 1;
    const SharedRows changed = made_rows(values, kWidth);
    sequence->reset();
    sequence->provide(changed);
    const auto other = sequence->all_logits(
        runtime::prompt_ids(std::vector<PromptPiece>{numbers(1, 5), changed, numbers(2, 6)}));
    EXPECT_EQ(max_difference(std::span(other).first(5 * 64), std::span(all).first(5 * 64)), 0);
    EXPECT_GT(
        max_difference(std::span(other).subspan(5 * 64, 64), std::span(all).subspan(5 * 64, 64)),
        1e-5);
    sequence->reset();
    sequence->provide(rows);
    EXPECT_ERROR(sequence->prefill(std::span(ids).first(8)), ErrorCode::InvalidArgument,
                 "fed at once");
  }
}

TEST(RowsInPrompts, AreNoTokensForSamplers) {
  runtime::SamplingOptions options;
  options.repetition_penalty = 1.5;
  options.frequency_penalty = 0.5;
  options.dry_multiplier = 1;
  options.no_repeat_ngram = 2;
  options.temperature = 0;
  runtime::Sampler sampler(options);
  sampler.observe(Ids{-5, -6, -5, -6, 1, -5, -6, -5});
  const std::vector<float> logits = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(sampler.sample(logits), 7);
}

}  // namespace

namespace scheduling {
namespace {

Request request_of(const std::vector<PromptPiece>& prompt) {
  Request request{runtime::prompt_ids(prompt), {}};
  request.options.max_tokens = 6;
  request.options.sampling.temperature = 0;
  request.rows = runtime::prompt_rows(prompt);
  return request;
}

// The greedy continuation of a prompt.
Ids continued(runtime::Model& model, const std::vector<PromptPiece>& prompt) {
  const auto sequence = model.new_sequence();
  auto logits = sequence->prefill_prompt(prompt);
  Ids ids;
  for (int i = 0; i < 6; ++i) {
    ids.push_back(static_cast<int32_t>(most_likely(logits)));
    if (i < 5) logits = sequence->decode(ids.back());
  }
  return ids;
}

void expect_answers(const MadeModel& made, const std::filesystem::path& disk) {
  SchedulerOptions options{.cache_ram = kPlenty};
  const SharedRows cat = random_rows(1, 12), dog = random_rows(2, 12), tiny = random_rows(3, 2);
  const Ids before = numbers(1, 20), question = numbers(2, 6);
  const std::vector<PromptPiece> of_cat = {before, cat, question}, of_dog = {before, dog, question},
                                 of_tiny = {before, tiny, question};
  const auto cached_tokens = [&](Scheduler& scheduler, const std::vector<PromptPiece>& prompt) {
    const Asked asked = ask(scheduler, request_of(prompt));
    EXPECT_EQ(asked.heard->error(), "");
    EXPECT_EQ(asked.heard->ids, continued(*made.model, prompt));
    wait_until_idle(scheduler);
    return asked.heard->wait().cached_tokens;
  };
  {
    options.cache_disk = disk;
    Scheduler scheduler(made.model, tokenizer(), options);
    EXPECT_EQ(cached_tokens(scheduler, of_cat), 0);
    EXPECT_EQ(cached_tokens(scheduler, of_dog), 20);
    EXPECT_EQ(cached_tokens(scheduler, of_cat), 37);
    EXPECT_EQ(cached_tokens(scheduler, of_dog), 37);
    // The ids of two rows may be equal by chance.
    EXPECT_EQ(cached_tokens(scheduler, of_tiny), 20);
    EXPECT_EQ(cached_tokens(scheduler, of_tiny), 20);
    // Other text after the same picture.
    EXPECT_EQ(cached_tokens(scheduler, {before, cat, numbers(5, 6)}), 32);
    // The picture after other text.
    EXPECT_EQ(cached_tokens(scheduler, {numbers(7, 20), cat, question}), 0);
  }
  Scheduler scheduler(made.model, tokenizer(), options);
  EXPECT_EQ(cached_tokens(scheduler, of_dog), 37);
}

TEST(RequestsWithRows, ShareCachedRowsOfEqualPicturesOnly) {
  const TempDir disk;
  expect_answers(MadeModel::llava(), disk.path());
}

TEST(RequestsWithRows, ShareThoseThatSeeEachOther) {
  const TempDir disk;
  expect_answers({"gemma3", R"("model_type": "gemma3_text", "sliding_window": 4,
      "layer_types": ["sliding_attention", "full_attention"], "query_pre_attn_scalar": 8)"},
                 disk.path());
}

// Prompts whose tokens see each other are read whole, and not from the cache.
TEST(RequestsWithRows, ReadPromptsThatSeeThemselvesWhole) {
  const MadeModel made("paligemma", R"("model_type": "gemma")");
  ASSERT_EQ(made.model->rows()->sight, RowForm::Sight::Prompt);
  const std::vector<PromptPiece> prompt = {random_rows(1, 40), numbers(1, 30)};
  Scheduler scheduler(made.model, tokenizer(), {.cache_ram = kPlenty});
  for (int i = 0; i < 2; ++i) {
    const Asked asked = ask(scheduler, request_of(prompt));
    EXPECT_EQ(asked.heard->error(), "");
    EXPECT_EQ(asked.heard->ids, continued(*made.model, prompt));
    EXPECT_EQ(asked.heard->wait().cached_tokens, 0);
    EXPECT_EQ(asked.heard->prompt_pieces.size(), 1U);
  }
}

TEST(RequestsWithRows, MustFit) {
  const MadeModel made = MadeModel::llava();
  Scheduler scheduler(made.model, tokenizer(), {});
  Request request = request_of({numbers(1, 5), random_rows(1, 4)});
  request.rows.clear();
  EXPECT_ERROR(ask(scheduler, request), ErrorCode::InvalidArgument, "not provided");
  request = request_of({numbers(1, 5), random_rows(1, 4)});
  request.prompt_logprobs = 1;
  EXPECT_ERROR(ask(scheduler, request), ErrorCode::Unsupported, "prompt with pictures");
}

}  // namespace
}  // namespace scheduling
}  // namespace pippin
