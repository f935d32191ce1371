// Multi-token prediction layers: their values against a plain computation.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/sequence.h"
#include "tests/prediction_cases.h"

namespace pippin {
namespace {

using namespace testing_models;
using runtime::LoadOptions;
using runtime::PredictedToken;
using Ids = std::vector<int32_t>;
using Row = std::vector<double>;

// --- a plain computation of Qwen3.5's layer ---

class PlainQwen {
 public:
  // The prediction after tokens[0], ... and the last one, whose hidden states before it are given.
  PredictedToken predict(const Ids& tokens, const std::vector<Row>& previous) {
    std::vector<Row> xs;
    for (size_t t = 1; t < tokens.size(); ++t) {
      Row both = normed(embedding(tokens[t]), "mtp.pre_fc_norm_embedding.weight");
      const Row hidden = normed(previous[t - 1], "mtp.pre_fc_norm_hidden.weight");
      both.insert(both.end(), hidden.begin(), hidden.end());
      xs.push_back(times("mtp.fc.weight", kWidth, both));
    }
    Row x = layer(xs);
    hidden_ = normed(x, "mtp.norm.weight");
    const Row logits = times("lm_head.weight", kVocabulary, hidden_);
    const auto best = std::max_element(logits.begin(), logits.end());
    double total = 0;
    for (const double logit : logits) total += std::exp(logit - *best);
    return {static_cast<int32_t>(best - logits.begin()), 1 / total};
  }
  const Row& hidden() const { return hidden_; }

 private:
  static constexpr size_t kHeads = 4, kKvHeads = 2, kHead = 8, kRotated = 2;

  static Row weight(const std::string& name, int64_t rows, size_t columns) {
    const std::vector<int64_t> shape = {rows, static_cast<int64_t>(columns)};
    const Values values = models::made_weights(name, shape);
    return {values.begin(), values.end()};
  }
  static Row times(const std::string& name, int64_t rows, const Row& x) {
    const Row w = weight(name, rows, x.size());
    Row y(static_cast<size_t>(rows));
    for (size_t r = 0; r < y.size(); ++r) {
      for (size_t i = 0; i < x.size(); ++i) y[r] += w[r * x.size() + i] * x[i];
    }
    return y;
  }
  static Row embedding(int32_t id) {
    const Row all = weight("model.embed_tokens.weight", kVocabulary, kWidth);
    const auto begin = all.begin() + id * kWidth;
    return {begin, begin + kWidth};
  }
  // Its weight is one less than the factor.
  static Row normed(const Row& x, const std::string& name) {
    const int64_t size = std::ssize(x);
    const Values w = models::made_weights(name, std::span(&size, 1));
    double squares = 0;
    for (const double value : x) squares += value * value;
    const double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + 1e-6);
    Row y(x.size());
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale * (1 + double{w[i]});
    return y;
  }
  static Row head_of(const Row& all, size_t head, size_t stride) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(head * stride);
    return {begin, begin + static_cast<std::ptrdiff_t>(kHead)};
  }
  static Row rotated(Row x, size_t position) {
    for (size_t i = 0; i < kRotated / 2; ++i) {
      const double frequency =
          std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(kRotated));
      const double angle = static_cast<double>(position) * frequency;
      const double a = x[i], b = x[i + kRotated / 2];
      x[i] = a * std::cos(angle) - b * std::sin(angle);
      x[i + kRotated / 2] = b * std::cos(angle) + a * std::sin(angle);
    }
    return x;
  }
  // The output for the last token.
  Row layer(const std::vector<Row>& xs) const {
    const std::string root = "mtp.layers.0.", attention = root + "self_attn.";
    std::vector<std::vector<Row>> keys(kKvHeads), values(kKvHeads);
    for (size_t t = 0; t < xs.size(); ++t) {
      const Row n = normed(xs[t], root + "input_layernorm.weight");
      const Row k = times(attention + "k_proj.weight", kKvHeads * kHead, n);
      const Row v = times(attention + "v_proj.weight", kKvHeads * kHead, n);
      for (size_t h = 0; h < kKvHeads; ++h) {
        keys[h].push_back(rotated(normed(head_of(k, h, kHead), attention + "k_norm.weight"), t));
        values[h].push_back(head_of(v, h, kHead));
      }
    }
    Row x = xs.back();
    const Row n = normed(x, root + "input_layernorm.weight");
    const Row q = times(attention + "q_proj.weight", 2 * kHeads * kHead, n);
    Row mixed;
    for (size_t h = 0; h < kHeads; ++h) {
      const Row query =
          rotated(normed(head_of(q, h, 2 * kHead), attention + "q_norm.weight"), xs.size() - 1);
      const auto& own_keys = keys[h * kKvHeads / kHeads];
      const auto& own_values = values[h * kKvHeads / kHeads];
      Row sum(kHead);
      double total = 0;
      for (size_t t = 0; t < xs.size(); ++t) {
        double score = 0;
        for (size_t i = 0; i < kHead; ++i) score += query[i] * own_keys[t][i];
        const double part = std::exp(score / std::sqrt(double{kHead}));
        total += part;
        for (size_t i = 0; i < kHead; ++i) sum[i] += part * own_values[t][i];
      }
      for (size_t i = 0; i < kHead; ++i) {
        const double gate = q[(2 * h + 1) * kHead + i];
        mixed.push_back(sum[i] / total / (1 + std::exp(-gate)));
      }
    }
    add(x, times(attention + "o_proj.weight", kWidth, mixed));
    const Row m = normed(x, root + "post_attention_layernorm.weight");
    const Row gate = times(root + "mlp.gate_proj.weight", 24, m);
    Row up = times(root + "mlp.up_proj.weight", 24, m);
    for (size_t i = 0; i < up.size(); ++i) up[i] *= gate[i] / (1 + std::exp(-gate[i]));
    add(x, times(root + "mlp.down_proj.weight", kWidth, up));
    return x;
  }
  static void add(Row& x, const Row& y) {
    for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }

  Row hidden_;
};

// The rows after the final norm, from a model that gives what leaves each part.
std::vector<Row> hidden_of(const std::filesystem::path& folder, const Ids& ids) {
  mil::Model parts = models::build(folder, {.context = 48,
                                            .compute = models::BuildOptions::Compute::Float32Direct,
                                            .layer_outputs = true});
  LoadOptions options;
  options.threads = 1;
  const auto traced =
      runtime::make_runnable(std::move(parts), options).model->new_sequence()->trace(ids);
  const auto& last = traced.back();
  std::vector<Row> rows;
  for (size_t t = 0; t < ids.size(); ++t) {
    const auto begin = last.rows.begin() + static_cast<std::ptrdiff_t>(t) * last.width;
    rows.emplace_back(begin, begin + last.width);
  }
  return rows;
}

TEST(Prediction, IsAsComputedPlainly) {
  const TempDir folder;
  for (const Case& one : {kCases[0], kCases[1]}) {
    SCOPED_TRACE(one.name);
    write_case(folder.path(), one);
    const Ids prompt = {3, 17, 5, 22, 31, 8, 0, 39, 12};
    const auto sequence = load(folder.path())->new_sequence();
    sequence->prefill(prompt);
    Ids tokens = prompt;
    std::vector<Row> hidden = hidden_of(folder.path(), prompt);
    const auto have = chain(*sequence, 7, 3);
    ASSERT_EQ(have.size(), 3U);
    PlainQwen plain;
    tokens.push_back(7);
    for (size_t i = 0; i < have.size(); ++i) {
      const PredictedToken want = plain.predict(tokens, hidden);
      EXPECT_EQ(have[i].id, want.id) << i;
      EXPECT_NEAR(have[i].probability, want.probability, 2e-5) << i;
      hidden.push_back(plain.hidden());
      tokens.push_back(want.id);
    }
  }
}

}  // namespace
}  // namespace pippin
