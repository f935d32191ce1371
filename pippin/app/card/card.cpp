#include "pippin/app/card/card.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/hub/repo_spec.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

std::string base_of(const std::vector<CardModel>& models, const CardOptions& options) {
  if (!options.base.empty()) return options.base;
  for (const CardModel& model : models) {
    // Packages made from a folder have the folder's name, which is not a model of the Hub.
    const bool is_id = model.made_from.find('/') != std::string::npos;
    if (is_id && hub::is_repo_id(model.made_from)) return model.made_from;
  }
  return "";
}

std::string task_of(const std::vector<CardModel>& models) {
  static const std::set<std::string_view> text_families = {"stateful", "anemll", "windowed"};
  const std::string& family = models.front().family;
  if (text_families.contains(family)) return "text-generation";
  return family == "whisperkit" ? "automatic-speech-recognition" : "";
}

CardMetadata metadata_of(const std::vector<CardModel>& models, const std::string& base,
                         const CardOptions& options) {
  CardMetadata metadata = options.carried;
  metadata.base_model = base;
  metadata.library_name = "coremltools";
  if (metadata.pipeline_tag.empty()) metadata.pipeline_tag = task_of(models);
  std::set<std::string> families;
  for (const CardModel& model : models) {
    if (!model.family.empty()) families.insert(model.family);
    if (!model.is_compressed()) continue;
    metadata.base_model_relation = base.empty() ? "" : "quantized";
    std::set<std::string> forms;
    for (const CardPackage& package : model.packages) {
      forms.insert(package.forms.begin(), package.forms.end());
    }
    metadata.quantization.push_back(
        fmt::format("{}: {}", model.name.empty() ? "all" : model.name, fmt::join(forms, ", ")));
  }
  metadata.tags = {"coreml", "pippin"};
  metadata.tags.insert(metadata.tags.end(), families.begin(), families.end());
  return metadata;
}

std::string packages_section(const std::vector<CardModel>& models) {
  std::string text =
      "## Packages\n\n| package | size | functions | weights | compression "
      "|\n|---|---|---|---|---|\n";
  for (const CardModel& model : models) {
    for (const CardPackage& package : model.packages) {
      text += fmt::format("| `{}` | {} | {} | {} | {} |\n", package.path,
                          format_bytes(package.bytes), fmt::join(package.functions, ", "),
                          package.weights, fmt::join(package.forms, ", "));
    }
    if (model.packages.size() > 1) {
      text += fmt::format("| {} together | {} | | | |\n",
                          model.name.empty() ? "all" : "`" + model.path + "`",
                          format_bytes(model.bytes()));
    }
  }
  return text;
}

void check_names(const std::vector<CardModel>& models, const std::vector<CardReport>& reports) {
  for (const CardReport& report : reports) {
    const bool known = std::any_of(models.begin(), models.end(), [&](const CardModel& model) {
      return model.name == report.model;
    });
    if (known) continue;
    std::vector<std::string> names;
    names.reserve(models.size());
    for (const CardModel& model : models) names.push_back("\"" + model.name + "\"");
    fail(ErrorCode::InvalidArgument, "a report of \"{}\", which is not one of the models {}",
         report.model, fmt::join(names, ", "));
  }
}

}  // namespace

std::string write_card(const fs::path& folder, const CardOptions& options) {
  const std::vector<CardModel> models = find_card_models(folder);
  check_names(models, options.agreements);
  check_names(models, options.speeds);
  const std::string base = base_of(models, options);
  fs::path place = fs::absolute(folder).lexically_normal();
  if (place.filename().empty()) place = place.parent_path();
  std::string title = options.title;
  if (title.empty() && !options.repo.empty()) {
    title = options.repo.substr(options.repo.find('/') + 1);
  }
  if (title.empty()) title = place.stem().string();
  std::string text = write_card_metadata(metadata_of(models, base, options));
  text += fmt::format("\n# {}\n\nCore ML packages", title);
  if (!base.empty()) text += fmt::format(" of [{}](https://huggingface.co/{})", base, base);
  text += fmt::format(
      ", written by {}. Figures are sizes of the files, and\nmeasurements with the dates and "
      "machines that the tables name.\n\n",
      options.version);
  text += packages_section(models);
  text += card_agreement_section(options.agreements);
  text += card_speed_section(options.speeds);
  text += card_commands_section(models, options.repo, place);
  return text;
}

}  // namespace pippin::app
