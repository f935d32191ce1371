// The sections of a model card with measurements and with commands.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "pippin/app/card/card.h"
#include "pippin/base/text.h"

namespace pippin::app {
namespace {

std::string label_of(const CardReport& report) {
  return report.model.empty() ? "all" : "`" + report.model + "`";
}

// "2026-11-30" of "2026-11-30T18:00:00Z".
std::string day_of(const Json& report) {
  return report.get_string("date").substr(0, 10);
}

std::string greedy_of(const Json& report) {
  const int64_t tokens = report.get_int("greedy_tokens");
  const int64_t difference = report.get_int("first_difference");
  if (tokens == 0) return "";
  return difference < 0 ? fmt::format("{} tokens, the same", tokens)
                        : fmt::format("token {} of {} differs", difference, tokens);
}

// The first result of that kind, a sequence alone at the beginning: "123.4 (p128)".
std::string speed_of(const Json& report, const char* kind) {
  for (const Json& result : report.at("results").elements()) {
    if (result.get_int(kind) == 0 || result.get_int("n_depth") != 0 ||
        result.get_int("n_parallel") != 1) {
      continue;
    }
    return fmt::format("{:.1f} ({} tokens)", result.get_float("median_tokens_per_second"),
                       result.get_int(kind));
  }
  return "";
}

constexpr const char* kSwift = R"(```swift
import CoreML

// The folder Data/huggingface of the package has the tokenizer (swift-transformers).
let compiled = try await MLModel.compileModel(at: URL(fileURLWithPath: "{}"))
let model = try await MLModel.load(contentsOf: compiled)
let state = model.makeState()  // keys and values; macOS 15, iOS 18
print(model.modelDescription)  // inputs and outputs
// let output = try await model.prediction(from: inputs, using: state)
```
)";

std::string mac_commands(const CardModel& model, const std::string& repo,
                         const std::string& local) {
  const std::string get =
      repo.empty()
          ? ""
          : fmt::format("```sh\nhf download {} {}--local-dir {}\n```\n\n", repo,
                        model.path.empty() ? "" : fmt::format("--include \"{}/*\" ", model.path),
                        local);
  const std::string folder = model.path.empty() ? local : fmt::format("{}/{}", local, model.path);
  if (model.family == "anemll") {
    return fmt::format(
        "{}In the folder tests of [ANEMLL](https://github.com/Anemll/Anemll):\n\n```sh\npython "
        "chat.py --meta "
        "{}/meta.yaml\n```\n",
        get, folder);
  }
  if (model.family == "windowed") {
    return fmt::format(
        "{}With [coreml-llm-cli](https://github.com/smpanaro/coreml-llm-cli), after `xcrun "
        "coremlcompiler compile` of each package\ninto the same folder:\n\n```sh\nswift run -c "
        "release LLMCLI --local-model-directory {}\n```\n",
        get, folder);
  }
  if (model.family == "whisperkit") {
    return fmt::format(
        "{}With [WhisperKit](https://github.com/argmaxinc/WhisperKit), after `xcrun coremlcompiler "
        "compile` of each package\ninto the same folder:\n\n```sh\nwhisperkit-cli transcribe "
        "--model-path {} --audio-path recording.wav\n```\n",
        get, folder);
  }
  if (model.family != "stateful") {
    return fmt::format(
        "{}In Swift: `MLModel.compileModel(at:)`, then `MLModel.load(contentsOf:)`.\n", get);
  }
  return get + fmt::format(fmt::runtime(kSwift),
                           model.packages.size() == 1 ? folder : folder + "/language.mlpackage");
}

std::string pippin_commands(const CardModel& model, const std::string& repo,
                            const std::string& local) {
  std::string name = repo.empty() ? local : repo;
  if (!model.path.empty()) name += "/" + model.path;
  const std::string head = model.name.empty() ? "" : fmt::format("# {}\n", model.name);
  if (model.family == "whisperkit" || model.family == "fluidaudio") {
    return fmt::format("{}pippin transcribe {} recording.wav\n", head, name);
  }
  if (model.family == "stateful" || model.family == "anemll" || model.family == "windowed") {
    return fmt::format("{}pippin run {} \"Why is the sky blue?\"\n", head, name);
  }
  return fmt::format("{}pippin inspect {}\n", head, name);
}

}  // namespace

std::string card_agreement_section(const std::vector<CardReport>& reports) {
  if (reports.empty()) return "";
  std::string text =
      "\n## Agreement with the base model\n\n`pippin verify` compares the next-token distributions "
      "on a text: the Kullback-Leibler divergence in nats, how often the\nmost likely token is the "
      "same, and the greedy text.\n\n| model | tokens | KL mean | KL max | same token | perplexity "
      "| base model's | greedy text | date |\n|---|---|---|---|---|---|---|---|---|\n";
  for (const CardReport& one : reports) {
    const Json& report = one.report;
    const double perplexity = report.get_float("perplexity");
    const auto number = [](double value) {
      return value > 0 ? fmt::format("{:.3f}", value) : std::string();
    };
    const bool has_tokens = report.get_int("tokens") > 0;
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", label_of(one),
                        report.get_int("tokens"),
                        has_tokens ? fmt::format("{:.5f}", report.get_float("mean_kl")) : "",
                        has_tokens ? fmt::format("{:.4f}", report.get_float("max_kl")) : "",
                        has_tokens ? fmt::format("{:.2f} %", report.get_float("top1") * 100) : "",
                        number(perplexity), number(report.get_float("source_perplexity")),
                        greedy_of(report), day_of(report));
  }
  return text;
}

std::string card_speed_section(const std::vector<CardReport>& reports) {
  if (reports.empty()) return "";
  std::string text =
      "\n## Speed\n\n`pippin bench`, medians in tokens per second, by Pippin's own engine; Macs, "
      "iPhones and iPads are not measured.\n\n| model | machine | threads | prompt | text | peak "
      "memory | load | date |\n|---|---|---|---|---|---|---|---|\n";
  for (const CardReport& one : reports) {
    const Json& report = one.report;
    const std::string device = report.get_string("device");
    text += fmt::format("| {} | {}{} | {} | {} | {} | {} | {:.2f} s | {} |\n", label_of(one),
                        report.get_string("cpu"), device == "cpu" ? "" : ", " + device,
                        report.get_int("threads"), speed_of(report, "n_prompt"),
                        speed_of(report, "n_gen"),
                        format_bytes(report.at("peak_memory_bytes").as_uint64()),
                        report.at("second_load").get_float("load_seconds"), day_of(report));
  }
  return text;
}

std::string card_commands_section(const std::vector<CardModel>& models, const std::string& repo,
                                  const std::filesystem::path& folder) {
  const std::string local =
      repo.empty() ? folder.filename().string() : repo.substr(repo.find('/') + 1);
  // The folder that a package is in.
  const bool is_package = models.size() == 1 && models.front().path == local;
  const std::string place = is_package ? "." : local;
  std::string text =
      "\n## On a Mac\n\nThese commands are those of the projects; they were not run "
      "for this card.\n";
  std::set<std::string> shown;
  for (const CardModel& model : models) {
    if (!shown.insert(model.family).second) continue;
    text += "\n" + mac_commands(model, repo, place);
  }
  text +=
      "\n## Anywhere\n\nWith Pippin, on Linux as "
      "well:\n\n```sh\n";
  for (const CardModel& model : models) text += pippin_commands(model, repo, place);
  return text + "```\n";
}

}  // namespace pippin::app
