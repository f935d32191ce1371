#include "pippin/cli/verify.h"

#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/facts/report_json.h"
#include "pippin/app/verify.h"
#include "pippin/app/verify_corpus.h"
#include "pippin/cli/batch/batch_script.h"
#include "pippin/cli/batch/crash_mark.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/progress.h"
#include "pippin/cli/options/pull_display.h"
#include "pippin/cli/token_input.h"

namespace pippin::cli {
namespace {

using runtime::Agreement;

struct VerifyCommand {
  std::string model, source, tokenizer, sound;
  TokenArguments tokens;
  runtime::LoadOptions load;
  app::VerifyOptions options;
  app::CorpusOptions corpus;
  bool json = false;
};

std::string table_of(const Agreement& result, bool is_of_sound) {
  std::string text = fmt::format("tokens compared     {}\n", result.tokens);
  if (result.tokens > 0) {
    text += fmt::format(
        "KL divergence       mean {:.6f}, max {:.6f} nats\n"
        "top-1 agreement     {:.2f} %\n",
        result.mean_kl, result.max_kl, result.top1 * 100);
  }
  if (result.next_tokens > 0) {
    text += fmt::format("perplexity          {:.4f}, source {:.4f}\n", result.perplexity,
                        result.source_perplexity);
  }
  if (result.greedy_tokens > 0)
    text += result.first_difference
                ? fmt::format("greedy text         token {} of {} differs\n",
                              *result.first_difference, result.greedy_tokens)
                : fmt::format("greedy text         {} tokens, the same\n", result.greedy_tokens);
  if (result.image_difference) {
    text += fmt::format("rows of images      differ by {:.2e}\n", *result.image_difference);
  }
  const bool has_steps = result.tokens > 0 && !is_of_sound && !result.image_difference;
  if (has_steps)
    text += fmt::format(
        "steps, all at once  differ by {:.2e}, source {:.2e}\n"
        "steps, prefill      differ by {:.2e}, source {:.2e}\n",
        result.step_difference, result.source_step_difference, result.prefill_difference,
        result.source_prefill_difference);
  for (const runtime::PartAgreement& part : result.parts) {
    text += fmt::format("part                {} differs by {:.2e} from {}\n", part.part,
                        part.difference, part.source_part);
  }
  return text;
}

void print_broken(const app::VerifyResult& result) {
  for (const std::string& line : result.broken) {
    std::fprintf(stderr, "pippin: %s\n", line.c_str());
  }
}

int run_corpus(const VerifyCommand& command, const app::ModelChoice& model,
               const app::ModelChoice& source) {
  if (command.corpus.folder.empty()) throw CLI::RequiredError("--output");
  app::CorpusOptions corpus = command.corpus;
  corpus.first_share = first_share();
  corpus.mark_crashes = mark_crashes;
  app::CorpusResult result;
  {
    Progress bar("Comparing", command.json ? Progress::Style::Quiet : Progress::Style::Auto, stderr,
                 "texts");
    corpus.progress = [&](uint64_t done, uint64_t total) { bar.update(done, total); };
    result = app::verify_corpus(model, source, corpus, command.options);
  }
  print_out(command.json ? app::to_json(result) + "\n"
                         : fmt::format("texts compared      {}\n{}", result.texts - result.failed,
                                       table_of(result.result.agreement, true)));
  if (result.failed > 0) {
    fmt::print(stderr, "pippin: {} of {} texts could not be compared, first {}\n", result.failed,
               result.texts, result.first_failure);
  }
  print_broken(result.result);
  return result.result.holds() && result.failed == 0 ? 0 : 1;
}

int run(const VerifyCommand& command) {
  const bool is_of_sound = !command.sound.empty();
  const bool is_corpus = !command.corpus.input.empty();
  const TokenArguments& given = command.tokens;
  const bool has_tokens = !given.text.empty() || !given.ids.empty() || !given.images.empty();
  if (is_corpus && (has_tokens || is_of_sound)) {
    throw CLI::ValidationError("--corpus goes without --ids, --text, --image and --sound");
  }
  if (!is_corpus && (!command.corpus.folder.empty() || command.corpus.shard > 0)) {
    throw CLI::ValidationError("--output and --shard go with --corpus");
  }
  if (is_of_sound && has_tokens) {
    throw CLI::ValidationError(
        "--sound is for models of speech, --ids, --text and --image for others");
  }
  if (!is_of_sound && !has_tokens && !is_corpus) {
    throw CLI::ValidationError("one of --ids, --text, --image, --sound and --corpus is needed");
  }
  const app::TokenInput tokens =
      is_of_sound || is_corpus ? app::TokenInput() : read_token_input(command.tokens);
  runtime::LoadOptions source_load = command.load;
  source_load.adapter.clear();
  source_load.cache_type = engine::CacheType::F16;
  source_load.compute.device = nullptr;  // the reference runs on the CPU
  source_load.prediction = false;
  runtime::LoadOptions load = command.load;
  load.prediction = false;
  const app::ModelChoice source{command.source, command.tokenizer, source_load, show_pulls()};
  // Models of speech may need it as well.
  const app::ModelChoice model{command.model,
                               is_of_sound || !given.images.empty() ? command.tokenizer : "", load,
                               show_pulls()};
  if (is_corpus) return run_corpus(command, model, source);
  app::VerifyResult result;
  {
    Progress bar("Comparing", command.json ? Progress::Style::Quiet : Progress::Style::Auto, stderr,
                 is_of_sound ? "steps" : "tokens");
    app::VerifyOptions options = command.options;
    options.agreement.progress = [&](uint64_t done, uint64_t total) { bar.update(done, total); };
    result = is_of_sound ? app::verify_speech(model, source, command.sound, options)
                         : app::verify(model, source, tokens, options);
  }
  print_out(command.json ? app::to_json(result) + "\n" : table_of(result.agreement, is_of_sound));
  print_broken(result);
  return result.holds() ? 0 : 1;
}

}  // namespace

CLI::App* add_verify_command(CLI::App& app, int& exit_status) {
  auto command = std::make_shared<VerifyCommand>();
  CLI::App* sub = app.add_subcommand("verify", "Compare a package with the model it was made from");
  app::VerifyLimits& limits = command->options.limits;
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return sub->add_option(name, value, help)->type_name(type);
  };
  option("MODEL", command->model, "", "The package, or folder of packages, to check")->required();
  option("--against", command->source, "SRC", "The model to compare with: a folder or a package")
      ->required();
  option("--text", command->tokens.text, "FILE",
         "Text to tokenize with SRC's tokenizer; - is stdin");
  option("--ids", command->tokens.ids, "1,2,3", "Token ids; needs no tokenizer");
  option("--image", command->tokens.images, "FILE",
         "An image before the text, for models that take images; repeatable")
      ->allow_extra_args(false);
  option("--sound", command->sound, "FILE", "A recording, for models of speech");
  option("--corpus", command->corpus.input, "FILE",
         "Many texts, one on each line, or objects with \"text\" (.jsonl), for any number of "
         "processes");
  option("-o,--output", command->corpus.folder, "OUT", "With --corpus: folder of the job");
  option("--shard", command->corpus.shard, "N",
         "With --corpus: texts that a process takes at once (a 256th of the file, 16 to 512)")
      ->check(between(1));
  option("--tokenizer", command->tokenizer, "FOLDER", "Tokenizer for a SRC without one");
  option("--window", command->options.agreement.window, "N", "Tokens of the text per window (512)")
      ->check(between(1));
  option("--greedy", command->options.agreement.greedy_tokens, "N",
         "Tokens of greedy text to compare (64)")
      ->check(between(0));
  option("--max-kl", limits.max_kl, "NATS", "Maximum mean KL divergence");
  option("--min-top1", limits.min_top1, "PERCENT",
         "Minimum share of positions with the same most likely token");
  option("--max-perplexity-increase", limits.max_perplexity_increase, "PERCENT",
         "Maximum increase of the perplexity over SRC's");
  option("--max-step-difference", limits.max_step_difference, "X",
         "Maximum difference between step by step and all at once, relative to the largest logit");
  option("--max-prefill-difference", limits.max_prefill_difference, "X",
         "Maximum difference between step by step and a prompt in one piece");
  option("--max-part-difference", limits.max_part_difference, "X",
         "Maximum relative difference of a chunk's hidden states from SRC's");
  sub->add_flag("--same-greedy", limits.same_greedy, "Require the same greedy text");
  add_load_options(*sub, command->load);
  sub->add_flag("--json", command->json, "Print the result as JSON");
  sub->footer(
      "Exit status 1: a limit is exceeded; stderr says which. Processes with the same --output\n"
      "share a corpus; after a crash or Ctrl-C, the same command goes on.");
  sub->callback([command, &exit_status] { exit_status = run(*command); });
  return sub;
}

}  // namespace pippin::cli
