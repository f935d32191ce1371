// Texts with drafts equal those without: for every family, weight form and precision, greedy and
// sampled, with any drafts.
#include "pippin/runtime/draft/drafts.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/draft/draft_benchmark.h"
#include "pippin/runtime/draft/draft_model.h"
#include "pippin/runtime/fake_model.h"
#include "pippin/runtime/generator.h"
#include "pippin/runtime/stateful/model.h"
#include "tests/rows_together_testing.h"
#include "tests/sequence_families.h"

namespace pippin {
namespace {

using namespace sequence_families;
using runtime::Drafts;
using runtime::GenerateOptions;
using runtime::GenerateResult;
using runtime::Sequence;
using Ids = std::vector<int32_t>;

const auto go_on = [](int32_t) { return true; };

// Texts of tiny random models soon repeat themselves: lookups find many drafts, often wrong ones.
GenerateResult generate(Sequence& sequence, const Ids& prompt, const GenerateOptions& options) {
  sequence.reset();
  return runtime::generate(sequence, prompt, options, go_on);
}

void expect_same(const GenerateResult& have, const GenerateResult& want) {
  EXPECT_EQ(have.ids, want.ids);
  EXPECT_EQ(have.reason, want.reason);
  EXPECT_LE(have.accepted, have.drafted);
  ASSERT_EQ(have.logprobs.size(), want.logprobs.size());
  for (size_t i = 0; i < want.logprobs.size(); ++i) {
    EXPECT_EQ(have.logprobs[i].chosen.logprob, want.logprobs[i].chosen.logprob) << i;
  }
}

bool fed_only(const Sequence& sequence, const Ids& ids) {
  return ranges::equal(sequence.tokens(), ids);
}

// Returns the number of accepted drafts.
int64_t expect_same_texts(Sequence& sequence, const Ids& prompt, int64_t tokens) {
  std::vector<GenerateOptions> ways(4);
  ways[1].sampling.repetition_penalty = 1.3;
  ways[1].sampling.frequency_penalty = 0.2;
  ways[1].logprobs = 0;
  ways[2].sampling.temperature = 0.7;
  ways[3].sampling.temperature = 1.5;
  ways[3].sampling.top_p = 0.9;
  ways[3].sampling.dry_multiplier = 0.5;
  int64_t accepted = 0;
  for (size_t way = 0; way < ways.size(); ++way) {
    GenerateOptions& options = ways[way];
    options.max_tokens = tokens;
    options.sampling.seed = 7;
    const GenerateResult want = generate(sequence, prompt, options);
    const Ids fed(sequence.tokens().begin(), sequence.tokens().end());
    // Also with an end token in the middle of a pass.
    if (way == 2 && want.ids.size() > 3) options.end_ids = {want.ids[want.ids.size() / 2]};
    const GenerateResult ended = generate(sequence, prompt, options);
    const Ids fed_until_end(sequence.tokens().begin(), sequence.tokens().end());
    for (const int64_t most : {1, 2, 4, 15}) {
      SCOPED_TRACE("way " + std::to_string(way) + ", drafts of " + std::to_string(most));
      options.drafts =
          std::make_shared<Drafts>(runtime::DraftOptions{.most = most, .always = true});
      options.predicted.clear();
      expect_same(generate(sequence, prompt, options), ended);
      EXPECT_TRUE(fed_only(sequence, fed_until_end));
      // The right text, with one wrong token in the middle.
      options.predicted = want.ids;
      if (!want.ids.empty()) options.predicted[want.ids.size() / 3] ^= 1;
      const GenerateResult helped = generate(sequence, prompt, options);
      expect_same(helped, ended);
      EXPECT_TRUE(fed_only(sequence, fed_until_end));
      accepted += helped.accepted;
    }
    options.drafts = nullptr;
  }
  return accepted;
}

class DraftedTexts : public testing::TestWithParam<Family> {};

TEST_P(DraftedTexts, AreThoseWithoutDrafts) {
  const TempDir scratch;
  const auto model = GetParam().load(scratch.path());
  const auto sequence = model->new_sequence();
  const Ids prompt = {3, 17};  // a prefix that some families cannot drop
  const int64_t accepted = expect_same_texts(*sequence, prompt, 9);
  const runtime::Capabilities& can = model->capabilities();
  EXPECT_EQ(accepted > 0, (can.truncate || can.checkpoint) && !can.greedy_only);
  // To the end of the context, including its last token.
  if (std::string(GetParam().name) != "windowed_low_memory") {  // which opens its files repeatedly
    expect_same_texts(*sequence, prompt, 100);
  }
}

// The property that this depends on.
TEST_P(DraftedTexts, RowsHaveTheBitsOfEachAlone) {
  const TempDir scratch;
  const auto model = GetParam().load(scratch.path());
  expect_equal_rows(*model->new_sequence(), Ids{3, 17, 5}, Ids{9, 2, 21, 7, 7, 0, 1, 13, 4, 20});
}

// To any token after a checkpoint, several times, and to one before it where that is possible.
TEST_P(DraftedTexts, GoBackToCheckpoints) {
  const TempDir scratch;
  const auto model = GetParam().load(scratch.path());
  if (!model->capabilities().checkpoint) return;
  const auto sequence = model->new_sequence(), fresh = model->new_sequence();
  // Passes of a few tokens, which have the bits of single ones.
  const Ids ids = {3, 17, 5, 9, 2, 21, 7, 7, 0, 1, 13, 4, 20, 11, 6, 2, 8, 19, 5};
  const auto feed = [&](Sequence& to, size_t begin, size_t end) {
    const auto logits = to.prefill(std::span(ids).subspan(begin, end - begin));
    return std::vector<float>(logits.begin(), logits.end());
  };
  const size_t kept = 12;
  feed(*sequence, 0, kept);
  sequence->checkpoint();
  EXPECT_LE(sequence->earliest(), static_cast<int64_t>(kept));
  for (const size_t count : {size_t{15}, size_t{13}, kept, size_t{18}}) {
    const std::vector<float> want = feed(*sequence, kept, ids.size());
    sequence->truncate(static_cast<int64_t>(count));
    EXPECT_TRUE(fed_only(*sequence, Ids(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(count))));
    EXPECT_EQ(feed(*sequence, count, ids.size()), want) << count;
    sequence->truncate(static_cast<int64_t>(kept));
  }
  const std::vector<float> last = feed(*sequence, kept, ids.size());
  // Another text in place of the tokens: the checkpoint is not of them.
  fresh->save(scratch / "empty");
  sequence->restore(scratch / "empty");
  feed(*sequence, 1, ids.size());
  EXPECT_EQ(sequence->earliest(), sequence->position());
  feed(*fresh, 0, kept);
  EXPECT_EQ(feed(*fresh, kept, ids.size()), last);
}

INSTANTIATE_TEST_SUITE_P(Families, DraftedTexts, testing::ValuesIn(kFamilies),
                         [](const auto& family) { return family.param.name; });
INSTANTIATE_TEST_SUITE_P(Caches, DraftedTexts, testing::ValuesIn(kCacheFamilies),
                         [](const auto& family) { return family.param.name; });

TEST(DraftedTexts, OfFormsOfAttention) {
  for (const char* config :
       {R"("model_type": "llama", "num_key_value_heads": 2)",
        R"("model_type": "qwen3", "num_key_value_heads": 1, "head_dim": 8)",
        R"("model_type": "gemma2", "num_key_value_heads": 2, "head_dim": 8, "sliding_window": 8,
            "query_pre_attn_scalar": 8)",
        R"("model_type": "opt", "ffn_dim": 24, "max_position_embeddings": 64)",
        R"("model_type": "bloom", "seq_length": 128)"}) {
    SCOPED_TRACE(config);
    const TempDir dir;
    models::write_random_model(
        dir.path(), std::string(R"({"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2,
                      "num_attention_heads": 4, "intermediate_size": 24, )") +
                        config + "}");
    using Compute = models::BuildOptions::Compute;
    for (const Compute compute : {Compute::Float32Direct, Compute::Float16Package}) {
      const mil::Model model = models::build(dir.path(), {.context = 48, .compute = compute});
      ThreadPool pool(2);
      const auto sequence = runtime::make_stateful_model(model, pool)->new_sequence();
      EXPECT_GT(expect_same_texts(*sequence, {3, 17, 5, 22, 3, 17}, 100), 0);
    }
  }
}

TEST(DraftedTexts, OfRecurrences) {
  for (const char* config :
       {R"("model_type": "mamba", "state_size": 5, "time_step_rank": 3)",
        R"("model_type": "falcon_h1", "num_key_value_heads": 2, "mamba_d_ssm": 24,
            "mamba_n_heads": 4, "mamba_n_groups": 2, "mamba_d_state": 5)",
        R"("model_type": "recurrent_gemma", "block_types": ["recurrent", "attention"],
            "num_key_value_heads": 1, "lru_width": 24, "attention_window_size": 5)",
        R"("model_type": "minimax", "num_key_value_heads": 2, "num_local_experts": 3)",
        R"("model_type": "qwen3_next", "num_key_value_heads": 2, "head_dim": 8,
            "full_attention_interval": 2, "linear_num_key_heads": 2, "linear_key_head_dim": 4,
            "linear_num_value_heads": 4, "linear_value_head_dim": 6, "mlp_only_layers": [0, 1],
            "num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 4)"}) {
    SCOPED_TRACE(config);
    const TempDir scratch;
    const auto model =
        load_random(scratch.path(), fmt::format(R"("intermediate_size": 24, {})", config), {});
    EXPECT_TRUE(model->capabilities().checkpoint);
    EXPECT_GT(expect_same_texts(*model->new_sequence(), {3, 17, 5, 22, 3, 17}, 24), 0);
  }
}

// Drafts chosen by measured time, as in normal use.
TEST(DraftedTexts, AreTheSameWhateverPays) {
  const auto model = load_recorded(demo());
  const auto sequence = model->new_sequence();
  GenerateOptions options{.max_tokens = 24};
  const Ids prompt = {3, 17, 5, 22};
  const GenerateResult want = generate(*sequence, prompt, options);
  options.drafts = std::make_shared<Drafts>();
  for (int i = 0; i < 20; ++i) {
    options.predicted = i % 2 == 0 ? want.ids : Ids{};
    expect_same(generate(*sequence, prompt, options), want);
    options.drafts->keep(want.ids);
  }
  options.predicted = {-5, 1'000'000};  // not tokens of this model
  expect_same(generate(*sequence, prompt, options), want);
  options.max_drafts = 0;
  EXPECT_EQ(generate(*sequence, prompt, options).drafted, 0);
}

// The model as its own draft model is nearly always right, another model almost never.
TEST(DraftedTexts, OfADraftModel) {
  const auto model = load_recorded(demo());
  const auto sequence = model->new_sequence();
  const Tokenizer tokenizer = Tokenizer::open(demo());
  const TempDir scratch;
  const auto other = load_random(scratch.path(), R"("model_type": "lfm2", "num_key_value_heads": 2,
                                                    "full_attn_idxs": [0])");
  for (const auto& draft : {load_recorded(demo()), other}) {
    for (const double temperature : {0.0, 0.8}) {
      GenerateOptions options{.max_tokens = 20};
      options.sampling.temperature = temperature;
      const Ids prompt = {3, 17, 5, 22};
      const GenerateResult want = generate(*sequence, prompt, options);
      for (const bool always : {true, false}) {
        options.drafts = std::make_shared<Drafts>(runtime::DraftOptions{
            .pool_bytes = 0,
            .model = std::make_shared<runtime::DraftModel>(draft, tokenizer, tokenizer),
            .always = always});
        const GenerateResult have = generate(*sequence, prompt, options);
        expect_same(have, want);
        if (always && temperature == 0 && draft != other) {
          EXPECT_GE(have.accepted, 8);
        }
      }
    }
  }
}

TEST(DraftedTexts, AreMeasured) {
  const auto model = load_recorded(demo());
  const auto drafts = std::make_shared<Drafts>(runtime::DraftOptions{.always = true});
  const auto measured = runtime::measure_drafts(*model, drafts, {8, 16, 3, 1});
  EXPECT_EQ(measured.tokens, 3 * 15);
  EXPECT_LE(measured.accepted, measured.drafted);
  EXPECT_GE(measured.tokens_per_pass(), 1);
  EXPECT_GT(measured.ratio, 0);
  EXPECT_ERROR(runtime::measure_drafts(*model, drafts, {8, 1, 3, 1}), ErrorCode::InvalidArgument,
               "drafts: a prompt of 8 and a text of 1 tokens are too short");
  const TempDir scratch;
  const auto other = load_random(scratch.path(), R"("model_type": "lfm2", "num_key_value_heads": 2,
                                                    "full_attn_idxs": [0])");
  const auto without = std::make_shared<runtime::FakeModel>(32, 40);
  EXPECT_ERROR(runtime::measure_drafts(*without, drafts, {8, 16, 3, 1}), ErrorCode::Unsupported,
               "drafts: the model has no logits to compare them with, or cannot drop tokens");
  EXPECT_ERROR(runtime::DraftModel(other, *model), ErrorCode::InvalidArgument,
               "it has 40 tokens, the model ");
}

TEST(DraftModels, NeedTokensInCommon) {
  const auto words = [](const std::string& begin) {
    std::string vocabulary;
    for (int i = 0; i < 20; ++i) {
      vocabulary += (i == 0 ? "" : ",") + ("\"" + begin + std::to_string(i) + "\":") +
                    std::to_string(i < 12 ? i : 31 - i);
    }
    return Tokenizer::from_json(
        R"({"model": {"type": "WordLevel", "unk_token": "a0", "vocab": {)" + vocabulary + "}}}",
        "words");
  };
  const auto model = load_recorded(demo());
  const runtime::TokenMap map(words("a"), words("a"));
  EXPECT_EQ(map.common(), 20);
  EXPECT_EQ(map.to_target(map.to_draft(13)), 13);
  EXPECT_EQ(map.to_draft(20), -1);
  EXPECT_EQ(map.to_draft(-3), -1);
  EXPECT_ERROR(runtime::DraftModel(model, words("a"), words("b")), ErrorCode::InvalidArgument,
               "it has 0 tokens in common with the model, of 20 and 20: a draft model needs half "
               "of the smaller vocabulary");
}

// The same for sampling: the tokens of many seeds follow the model's distribution.
TEST(DraftedTexts, AreDistributedAsTheModelSays) {
  class Uneven final : public runtime::FakeModel {
   public:
    Uneven() : FakeModel(64, 4, {.capabilities = {.truncate = true}}) {}
    void fill(int32_t id, std::span<float> row) const override {
      for (size_t i = 0; i < row.size(); ++i) {
        row[i] = 0.5F * static_cast<float>((static_cast<size_t>(id) + i) % row.size());
      }
    }
  };
  const auto sequence = std::make_shared<Uneven>()->new_sequence();
  GenerateOptions options{.max_tokens = 3};
  options.sampling.temperature = 1;
  options.drafts = std::make_shared<Drafts>(runtime::DraftOptions{.always = true});
  options.predicted = {3, 1, 2};
  constexpr int kTexts = 20000;
  double counts[4][4] = {}, seen[4] = {};
  int64_t accepted = 0;
  for (int i = 0; i < kTexts; ++i) {
    options.sampling.seed = static_cast<uint64_t>(i);
    const GenerateResult result = generate(*sequence, {0, 3, 1}, options);
    accepted += result.accepted;
    for (size_t t = 0; t + 1 < 3; ++t) {
      ++counts[result.ids[t]][result.ids[t + 1]];
      ++seen[result.ids[t]];
    }
  }
  EXPECT_GT(accepted, kTexts / 10);
  double total = 0;
  for (int i = 0; i < 4; ++i) total += std::exp(0.5 * i);
  for (size_t from = 0; from < 4; ++from) {
    for (size_t to = 0; to < 4; ++to) {
      const double chance = std::exp(0.5 * static_cast<double>((from + to) % 4)) / total;
      const double deviation = std::sqrt(chance * (1 - chance) / seen[from]);
      EXPECT_NEAR(counts[from][to] / seen[from], chance, 4.5 * deviation) << from << " " << to;
    }
  }
}

// The caller may stop anywhere, and the sequence is the same as without drafts.
TEST(DraftedTexts, StopWhereTheCallerSays) {
  const auto model = load_recorded(demo());
  const auto sequence = model->new_sequence();
  GenerateOptions options{.max_tokens = 20};
  const Ids prompt = {3, 17, 5, 22};
  const Ids want = generate(*sequence, prompt, options).ids;
  options.predicted = want;
  options.drafts = std::make_shared<Drafts>(runtime::DraftOptions{.always = true});
  for (const size_t stop : {1, 2, 7, 19}) {
    sequence->reset();
    size_t count = 0;
    const auto result =
        runtime::generate(*sequence, prompt, options, [&](int32_t) { return ++count < stop; });
    EXPECT_EQ(result.reason, runtime::StopReason::Callback);
    EXPECT_EQ(result.ids, Ids(want.begin(), want.begin() + static_cast<int64_t>(stop)));
    EXPECT_EQ(sequence->position(), 4 + static_cast<int64_t>(stop) - 1);
  }
  CancelToken token;
  const CancelScope scope(token);
  sequence->reset();
  size_t count = 0;
  const auto result = runtime::generate(*sequence, prompt, options, [&](int32_t) {
    if (++count == 5) token.request();
    return true;
  });
  EXPECT_EQ(result.reason, runtime::StopReason::Cancelled);
  EXPECT_EQ(result.ids, Ids(want.begin(), want.begin() + 5));
  EXPECT_EQ(sequence->position(), 4 + 5 - 1);
}

// An exception within a pass of several rows leaves no drafts in the sequence.
TEST(DraftedTexts, WhatIsThrownLeavesWhatWasChosen) {
  const auto model = load_recorded(demo());
  const auto sequence = model->new_sequence();
  GenerateOptions options{.max_tokens = 20};
  const Ids prompt = {3, 17, 5, 22};
  const Ids want = generate(*sequence, prompt, options).ids;
  options.predicted = want;
  options.drafts = std::make_shared<Drafts>(runtime::DraftOptions{.always = true});
  for (const size_t last : {1, 2, 7, 19}) {
    sequence->reset();
    Ids chosen;
    int64_t drafted = 0;
    options.on_chosen = [&](const runtime::ChosenToken& token) {
      if (chosen.size() == last) fail(ErrorCode::Cancelled, "enough");
      chosen.push_back(token.id);
      drafted += token.was_drafted ? 1 : 0;
    };
    EXPECT_ERROR(runtime::generate(*sequence, prompt, options, [](int32_t) { return true; }),
                 ErrorCode::Cancelled, "enough");
    Ids fed = prompt;
    fed.insert(fed.end(), want.begin(), want.begin() + static_cast<int64_t>(last));
    EXPECT_EQ(Ids(sequence->tokens().begin(), sequence->tokens().end()), fed);
    // As soon as the predicted text is found.
    if (last > 7) {
      EXPECT_GT(drafted, 0);
    }
  }
}

}  // namespace
}  // namespace pippin
