// A corpus that several workers share: verify and calibration give what one of them gives.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pippin/app/convert/calibration_corpus.h"
#include "pippin/app/convert/compress.h"
#include "pippin/app/convert/convert.h"
#include "pippin/app/verify_corpus.h"
#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/io/json.h"
#include "pippin/models/registry.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

ModelChoice choose(const fs::path& path) {
  ModelChoice choice;
  choice.path = path.string();
  choice.load.threads = 1;
  return choice;
}

std::vector<std::string> some_texts() {
  constexpr int kTexts = 9;
  std::vector<std::string> texts;
  texts.reserve(kTexts);
  for (int i = 0; i < kTexts; ++i) {
    std::string text = "Once upon a time there was a cat";
    for (int word = 0; word < 3 * i; ++word)
      text += word % 2 == 0 ? " who ran" : " to the red barn.";
    texts.push_back(text);
  }
  texts[4].clear();
  return texts;
}

class Corpus : public testing::Test {
 protected:
  Corpus() {
    std::ofstream file(folder_ / "texts.txt");
    for (const std::string& text : texts_) file << text << "\n";
  }

  static fs::path demo() { return demo_model_folder(); }
  const fs::path& small() {
    if (small_.empty()) {
      small_ = folder_ / "small.mlpackage";
      ConvertOptions options;
      options.compression.quantize = "int4";
      convert(demo(), small_, options);
    }
    return small_;
  }
  CorpusResult verify(const char* out, const VerifyLimits& limits = {}) {
    VerifyOptions options;
    options.agreement.window = 16;
    options.limits = limits;
    return verify_corpus(choose(small()), choose(demo()), {folder_ / "texts.txt", folder_ / out, 2},
                         options);
  }
  CalibrationCorpus calibration(const char* out, uint64_t shard = 2) const {
    return {.input = folder_ / "texts.txt", .folder = folder_ / out, .shard = shard};
  }

  TempDir folder_;
  fs::path small_;
  const std::vector<std::string> texts_ = some_texts();
};

void expect_equal(const runtime::Agreement& a, const runtime::Agreement& b) {
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.next_tokens, b.next_tokens);
  EXPECT_EQ(a.mean_kl, b.mean_kl);
  EXPECT_EQ(a.max_kl, b.max_kl);
  EXPECT_EQ(a.top1, b.top1);
  EXPECT_EQ(a.perplexity, b.perplexity);
  EXPECT_EQ(a.source_perplexity, b.source_perplexity);
}

TEST_F(Corpus, IsTheSumOfItsTexts) {
  runtime::AgreementSums sums;
  const auto model = open_model(choose(small())), source = open_model(choose(demo()));
  for (const std::string& text : texts_) {
    sums.add(compare_logits(*model.model, *source.model, source.tokenizer.encode(text), 16));
  }
  const CorpusResult result = verify("out");
  EXPECT_EQ(result.texts, texts_.size());
  EXPECT_EQ(result.failed, 0U);
  EXPECT_GT(result.result.agreement.mean_kl, 0);
  EXPECT_GT(result.result.agreement.tokens, 100);
  expect_equal(result.result.agreement, sums.agreement());
  // A text alone is as in verify().
  VerifyOptions options;
  options.agreement.window = 16;
  options.agreement.greedy_tokens = 0;
  const auto alone =
      app::verify(choose(small()), choose(demo()), {{}, texts_.back()}, options).agreement;
  expect_equal(
      alone, compare_logits(*model.model, *source.model, source.tokenizer.encode(texts_.back()), 16)
                 .agreement());
  // Again: nothing is computed, the limits may be others.
  EXPECT_FALSE(verify("out", {.max_kl = 1e-9}).result.holds());
  expect_equal(verify("out").result.agreement, result.result.agreement);
}

TEST_F(Corpus, IsSharedAndGoesOn) {
  const auto expected = verify("alone").result.agreement;
  std::vector<std::thread> workers;
  std::vector<CorpusResult> results(3);
  workers.reserve(results.size());
  for (CorpusResult& result : results) {
    workers.emplace_back([&] { result = verify("shared"); });
  }
  for (std::thread& worker : workers) worker.join();
  for (const CorpusResult& result : results) expect_equal(result.result.agreement, expected);

  CancelToken token;
  {
    const CancelScope scope(token);
    VerifyOptions options;
    options.agreement.window = 16;
    CorpusOptions corpus{folder_ / "texts.txt", folder_ / "cancelled", 2};
    corpus.progress = [&](uint64_t done, uint64_t) {
      if (done > 0) token.request();
    };
    EXPECT_ERROR(verify_corpus(choose(small()), choose(demo()), corpus, options),
                 ErrorCode::Cancelled, "cancelled");
  }
  expect_equal(verify("cancelled").result.agreement, expected);
}

TEST_F(Corpus, MayBeLinesOfJson) {
  const fs::path lines = folder_ / "texts.jsonl";
  {
    std::ofstream file(lines);
    for (const std::string& text : texts_) {
      JsonWriter json;
      json.begin_object().member("text", text).member("source", "a book").end_object();
      file << json.text() << "\n";
    }
  }
  VerifyOptions options;
  options.agreement.window = 16;
  const CorpusResult result =
      verify_corpus(choose(small()), choose(demo()), {lines, folder_ / "json", 2}, options);
  expect_equal(result.result.agreement, verify("out").result.agreement);
  std::ofstream(lines, std::ios::app) << "{\"words\": 1}\n";
  EXPECT_ERROR(
      verify_corpus(choose(small()), choose(demo()), {lines, folder_ / "other", 2}, options),
      ErrorCode::InvalidFile, "texts.jsonl: line 10");
}

TEST_F(Corpus, RefusesWhatItDoesNotMeasure) {
  EXPECT_ERROR(verify("out", {.same_greedy = true}), ErrorCode::InvalidArgument,
               "greedy texts are not measured");
  verify("out");
  VerifyOptions other;
  other.agreement.window = 32;
  EXPECT_ERROR(verify_corpus(choose(small()), choose(demo()),
                             {folder_ / "texts.txt", folder_ / "out", 2}, other),
               ErrorCode::InvalidArgument, "--window 16 there, --window 32 here");
}

TEST_F(Corpus, HasStatisticsOfInputs) {
  const CalibrationSums sums = calibrate_corpus(demo(), calibration("one"));
  EXPECT_EQ(sums.texts, texts_.size());
  EXPECT_EQ(sums.parts, 5U);
  constexpr int kWorkers = 3;
  std::vector<std::thread> workers;
  workers.reserve(kWorkers);
  for (int i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&] { calibrate_corpus(demo(), calibration("shared"), {.threads = 1}); });
  }
  for (std::thread& worker : workers) worker.join();

  const mil::Model model = models::build(demo());
  const auto one = stored_calibration(model, folder_ / "one"),
             shared = stored_calibration(model, folder_ / "shared");
  // The reference: each text read alone, added in doubles.
  const Tokenizer tokenizer = Tokenizer::open(demo());
  int compared = 0;
  for (const auto& operation : model.program.function("main").block().operations()) {
    if (operation->type() != "linear" || compared == 1) continue;
    const std::string weight = operation->input_var("weight")->name;
    const auto found = one->moments(weight), other = shared->moments(weight);
    if (found == nullptr) continue;
    ++compared;
    EXPECT_EQ(found->products, other->products) << weight;
    EXPECT_EQ(found->samples, other->samples);
    std::vector<double> expected(found->products.size());
    int64_t samples = 0;
    for (const std::string& text : texts_) {
      std::vector<int32_t> ids = tokenizer.encode(text);
      if (ids.empty()) continue;
      const auto own = calibrate(models::build(demo()), ids)->moments(weight);
      samples += own->samples;
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += double{own->products[i]};
    }
    EXPECT_EQ(found->samples, samples);
    double difference = 0, largest = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      difference = std::max(difference, std::abs(expected[i] - double{found->products[i]}));
      largest = std::max(largest, std::abs(expected[i]));
    }
    EXPECT_LT(difference, 1e-5 * largest) << weight;
  }
  EXPECT_EQ(compared, 1);
}

// One text, one part: the package is that of --calibrate with the text.
TEST_F(Corpus, CalibratesAsATextDoes) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += " the cat sat on a mat and the dog ran far";
  std::ofstream(folder_ / "one.txt") << text;
  calibrate_corpus(demo(), {.input = folder_ / "one.txt", .folder = folder_ / "stats"});
  const auto written = [&](const fs::path& calibrate) {
    ConvertOptions options;
    options.compression.quantize = "int4";
    options.compression.per = "channel";
    options.compression.only = {"*mlp*"};
    options.compression.calibrate = calibrate.string();
    const fs::path package = folder_ / "written.mlpackage";
    convert(demo(), package, options);
    return read_file(package / "Data/com.apple.CoreML/weights/weight.bin");
  };
  const std::string expected = written(folder_ / "one.txt");
  EXPECT_EQ(written(folder_ / "stats"), expected);
  EXPECT_NE(written(""), expected);
}

TEST_F(Corpus, OfAnotherModelIsRefused) {
  calibrate_corpus(demo(), calibration("stats"));
  EXPECT_TRUE(is_calibration_folder(folder_ / "stats"));
  EXPECT_FALSE(is_calibration_folder(folder_ / "none"));
  verify("out");
  EXPECT_FALSE(is_calibration_folder(folder_ / "out"));
  fs::remove(folder_ / "stats/parts/00000003.safetensors");
  EXPECT_ERROR(stored_calibration(models::build(demo()), folder_ / "stats"),
               ErrorCode::InvalidArgument, "1 of 5 parts are missing");
  const CalibrationSums sums = calibrate_corpus(demo(), calibration("stats"));  // goes on
  EXPECT_EQ(sums.texts, texts_.size());
  std::ofstream(folder_ / "texts.txt", std::ios::app) << "more\n";
  EXPECT_ERROR(calibrate_corpus(demo(), calibration("stats")), ErrorCode::InvalidArgument,
               "its job is another one");
}

TEST_F(Corpus, TooFewTokensLeaveNoJob) {
  const fs::path few = folder_ / "few.txt", out = folder_ / "new/few";
  std::ofstream(few) << "a few words\n\nand more\n";
  for (int i = 0; i < 2; ++i) {
    EXPECT_ERROR(calibrate_corpus(demo(), {.input = few, .folder = out}),
                 ErrorCode::InvalidArgument, "tokens are too few to calibrate with");
    EXPECT_FALSE(fs::exists(folder_ / "new"));
  }
  // The same folder serves for more texts.
  for (int i = 0; i < 60; ++i) std::ofstream(few, std::ios::app) << "a few words\n";
  EXPECT_EQ(calibrate_corpus(demo(), {.input = few, .folder = out}).texts, 63U);
}

}  // namespace
}  // namespace pippin::app
