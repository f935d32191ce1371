// Measures the speed-up of drafts: replays given answers (a file of requests with references) as if
// the model had written them, with and without drafts, alternately. The model computes everything
// as usual; only the choice of each token is replaced.
//
//   pippin-drafts MODEL --tokenizer FOLDER --prompts prompts.jsonl --categories edit,extract,chat
//   pippin-drafts MODEL ... --draft-model SMALL --agreement 0.7
//   pippin-drafts MODEL ... --prediction --agreement 0.8
//
// With a draft model, or the model's own prediction layer, its choices are replaced, too: by the
// reference's token with the probability --agreement, otherwise by another.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/open/open_model.h"
#include "pippin/app/open/text_input.h"
#include "pippin/base/error.h"
#include "pippin/io/json.h"
#include "pippin/runtime/benchmark.h"
#include "pippin/runtime/draft/draft_model.h"
#include "pippin/runtime/draft/drafts.h"
#include "pippin/runtime/draft/prediction_drafter.h"
#include "pippin/runtime/draft/probability_levels.h"
#include "pippin/runtime/generator.h"

namespace pippin {
namespace {

using Ids = std::vector<int32_t>;

struct Arguments {
  std::string model, tokenizer, prompts, draft_model;
  std::vector<std::string> categories = {"edit", "extract", "chat"};
  int rounds = 3, threads = 0;
  int64_t most = 15, most_tokens = 256;
  double agreement = 0.7;
  bool prediction = false;
};

struct Text {
  std::string name, category;
  Ids prompt, reference;
};

// Allows only the next token of the reference.
class Replay final : public runtime::LogitsProcessor {
 public:
  explicit Replay(std::shared_ptr<const Ids> reference) : reference_(std::move(reference)) {}
  void process(const runtime::SamplingContext& context, runtime::Candidates& candidates) override {
    const size_t next = context.history.tokens().size() - context.history.first_generated();
    const size_t place = candidates.find((*reference_)[next]);
    candidates.set_score(place, candidates.items()[candidates.best()].score + 1);
  }
  std::unique_ptr<LogitsProcessor> clone() const override {
    return std::make_unique<Replay>(*this);
  }

 private:
  std::shared_ptr<const Ids> reference_;
};

// A source whose choices agree with the reference at a given rate.
class Agreeing final : public runtime::Drafter {
 public:
  Agreeing(std::unique_ptr<runtime::Drafter> source, const Text& text, double agreement)
      : source_(std::move(source)), text_(text), agreement_(agreement) {}
  void attach(runtime::Sequence& sequence) override { source_->attach(sequence); }
  void observe(std::span<const int32_t> ids) override {
    source_->observe(ids);
    seen_ += ids.size();
    given_ = 0;
  }
  std::optional<runtime::Draft> next() override {
    auto draft = source_->next();
    if (!draft) return draft;
    const size_t at = seen_ + given_++ - text_.prompt.size();
    const bool agrees = std::uniform_real_distribution<>()(random_) < agreement_;
    const int32_t right = at < text_.reference.size() ? text_.reference[at] : 0;
    draft->id = agrees ? right : right ^ 1;
    // The confidence of a model with this accuracy; a model with random weights finds all tokens
    // equally likely.
    draft->level = runtime::probability_level(agreement_);
    return draft;
  }
  Prior prior(int level) const override { return source_->prior(level); }
  bool is_free() const override { return false; }

 private:
  const std::unique_ptr<runtime::Drafter> source_;
  const Text& text_;
  const double agreement_;
  size_t seen_ = 0, given_ = 0;
  std::mt19937 random_{1};
};

std::string content_of(const Json& message) {
  const Json content = message.at("content");
  if (!content.is_array()) return std::string(content.as_string());
  std::string text;
  for (const Json& part : content.elements()) text += part.get_string("text");
  return text;
}

std::vector<Text> read_texts(const Arguments& arguments, const Tokenizer& tokenizer) {
  std::vector<Text> texts;
  std::istringstream lines(app::read_text(arguments.prompts));
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line, arguments.prompts);
    Text text{
        std::string(json.get_string("name")), std::string(json.get_string("category")), {}, {}};
    const auto& wanted = arguments.categories;
    if (std::find(wanted.begin(), wanted.end(), text.category) == wanted.end()) continue;
    std::string prompt;
    for (const Json& message : json.at("request").at("messages").elements()) {
      prompt += "\n" + std::string(message.get_string("role")) + ": " + content_of(message) + "\n";
    }
    text.prompt = tokenizer.encode(prompt + "\nassistant: ");
    text.reference = tokenizer.encode(json.get_string("reference"), false);
    const auto most = static_cast<size_t>(arguments.most_tokens);
    if (text.reference.size() > most) text.reference.resize(most);
    texts.push_back(std::move(text));
  }
  return texts;
}

struct Measured {
  double seconds = 0;
  int64_t tokens = 0, drafted = 0, accepted = 0;
};

Measured measure(runtime::Sequence& sequence, const Text& text, runtime::GenerateOptions options) {
  options.max_tokens = std::ssize(text.reference);
  options.processors.push_back(
      std::make_shared<Replay>(std::make_shared<const Ids>(text.reference)));
  // The same prompt again: read only its last token.
  const auto kept = static_cast<int64_t>(text.prompt.size()) - 1;
  if (sequence.position() > kept) {
    sequence.truncate(kept);
  } else {
    sequence.reset();
    sequence.prefill(std::span(text.prompt).first(static_cast<size_t>(kept)));
  }
  const auto result = runtime::generate(sequence, std::span(text.prompt).last(1), options,
                                        [](int32_t) { return true; });
  if (result.ids != text.reference) fail(ErrorCode::Internal, "{}: another text", text.name);
  return {result.timings.generate_seconds, std::ssize(result.ids), result.drafted, result.accepted};
}

void run(const Arguments& arguments) {
  app::ModelChoice choice{arguments.model, arguments.tokenizer, {}};
  choice.load.threads = arguments.threads;
  const runtime::LoadedModel model = app::open_model(choice);
  std::shared_ptr<const runtime::DraftModel> draft_model;
  if (!arguments.draft_model.empty()) {
    app::ModelChoice draft = choice;
    draft.path = arguments.draft_model;
    const runtime::LoadedModel loaded = app::open_model(draft);
    draft_model =
        std::make_shared<runtime::DraftModel>(loaded.model, model.tokenizer, loaded.tokenizer);
  }
  if (arguments.prediction && !model.model->capabilities().predicts) {
    fail(ErrorCode::Unsupported, "{}: has no prediction layer", arguments.model);
  }
  const std::vector<Text> texts = read_texts(arguments, model.tokenizer);
  if (texts.empty())
    fail(ErrorCode::NotFound, "{}: no text of these categories", arguments.prompts);
  const Text* current = nullptr;
  runtime::DraftOptions draft_options;
  draft_options.most = arguments.most;
  draft_options.pool_bytes = 0;  // a text would be found as a whole in the second round
  draft_options.prediction = false;
  if (draft_model != nullptr || arguments.prediction) {
    draft_options.lookup = false;
    draft_options.source = [&]() -> std::unique_ptr<runtime::Drafter> {
      std::unique_ptr<runtime::Drafter> source;
      if (arguments.prediction) {
        source = std::make_unique<runtime::PredictionDrafter>();
      } else {
        source = std::make_unique<runtime::ModelDrafter>(draft_model);
      }
      return std::make_unique<Agreeing>(std::move(source), *current, arguments.agreement);
    };
  }
  runtime::GenerateOptions without, with;
  with.drafts = std::make_shared<runtime::Drafts>(draft_options);
  const auto sequence = model.model->new_sequence();
  std::map<std::string, std::vector<double>> ratios;
  std::map<std::string, Measured> plain, drafted;
  for (const Text& text : texts) {
    current = &text;
    sequence->reset();
    std::vector<double> own;
    Measured sum;
    for (int round = 0; round < arguments.rounds; ++round) {
      const Measured a = measure(*sequence, text, round % 2 == 0 ? without : with);
      const Measured b = measure(*sequence, text, round % 2 == 0 ? with : without);
      const Measured& slow = round % 2 == 0 ? a : b;
      const Measured& fast = round % 2 == 0 ? b : a;
      own.push_back(slow.seconds / fast.seconds);
      sum.drafted += fast.drafted;
      sum.accepted += fast.accepted;
      sum.tokens += fast.tokens;
      plain[text.category].seconds += slow.seconds;
      plain[text.category].tokens += slow.tokens;
      drafted[text.category].seconds += fast.seconds;
      drafted[text.category].tokens += fast.tokens;
    }
    const double ratio = runtime::percentile(own, 0.5);
    ratios[text.category].push_back(ratio);
    fmt::print("{:12} {:5} prompt {:4} tokens {:5} drafted {:5} accepted  {:.2f}x\n", text.name,
               text.prompt.size(), text.reference.size(), sum.drafted / arguments.rounds,
               sum.accepted / arguments.rounds, ratio);
    std::fflush(stdout);
  }
  for (const auto& [category, own] : ratios) {
    const Measured &a = plain[category], &b = drafted[category];
    fmt::print(
        "{:12} median {:.2f}x, all together {:.2f}x ({:.2f} and {:.2f} t/s)\n", category,
        runtime::percentile(own, 0.5),
        a.seconds / b.seconds * static_cast<double>(b.tokens) / static_cast<double>(a.tokens),
        static_cast<double>(a.tokens) / a.seconds, static_cast<double>(b.tokens) / b.seconds);
  }
}

int main(int argc, char** argv) try {
  Arguments arguments;
  CLI::App app("Speed of replayed texts with drafts and without", "pippin-drafts");
  app.add_option("MODEL", arguments.model)->required();
  app.add_option("--tokenizer", arguments.tokenizer);
  app.add_option("--prompts", arguments.prompts, "Requests with references, JSON lines")
      ->required();
  app.add_option("--categories", arguments.categories)->delimiter(',');
  app.add_option("--rounds", arguments.rounds);
  app.add_option("--most", arguments.most, "Maximum drafts per pass");
  app.add_option("--tokens", arguments.most_tokens, "Maximum tokens of a reference");
  app.add_option("--threads", arguments.threads);
  app.add_option("--draft-model", arguments.draft_model, "Model that drafts instead of lookups");
  app.add_flag("--prediction", arguments.prediction,
               "The model's own prediction layer drafts instead of lookups");
  app.add_option("--agreement", arguments.agreement,
                 "Rate at which the draft model or the layer agrees with the reference");
  CLI11_PARSE(app, argc, argv);
  run(arguments);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "pippin-drafts: {}\n", error.what());
  return 1;
}

}  // namespace
}  // namespace pippin

int main(int argc, char** argv) {
  return pippin::main(argc, argv);
}
