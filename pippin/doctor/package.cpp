// A package's metadata and additional files.
#include "pippin/families/package.h"

#include <algorithm>

#include <fmt/format.h>

#include "pippin/doctor/rules.h"

namespace pippin::doctor {
namespace {

constexpr Rule kTokenizer = {
    .id = "missing-tokenizer",
    .severity = Severity::Warning,
    .what = "A language model without its tokenizer",
    .why =
        "Runners need tokenizer.json and the chat template; without them they download by the "
        "name in the metadata, or cannot run the model",
    .source = "huggingface/swift-transformers (co.huggingface.exporters.name); ANEMLL, meta.yaml",
    .remedy = "Put the tokenizer's files next to the packages, or into Data/huggingface"};

constexpr Rule kMetadata = {
    .id = "missing-metadata",
    .severity = Severity::Note,
    .what = "The model has no description",
    .why =
        "Xcode and the generated classes show the description; a language model without its "
        "origin cannot be told from others",
    .source = "Model.proto, Metadata; docs/format.md",
    .remedy = "--fix writes a description from the file's name and the model's functions",
    .fixable = true};

bool gives_logits(const Subject& subject) {
  const auto is_logits = [](const mil::Feature& feature) {
    return feature.name.find("logits") != std::string::npos || feature.name == "argmax_idx";
  };
  const auto is_ids = [](const mil::Feature& feature) {
    return feature.name == "inputIds" || feature.name == "input_ids";
  };
  return std::any_of(subject.model.functions.begin(), subject.model.functions.end(),
                     [&](const mil::FunctionDescription& one) {
                       return std::any_of(one.outputs.begin(), one.outputs.end(), is_logits) ||
                              std::any_of(one.inputs.begin(), one.inputs.end(), is_ids);
                     });
}

void check_package(const Subject& subject, Findings& findings) {
  const mil::Metadata& metadata = subject.model.metadata;
  if (subject.has_tokenizer == false && gives_logits(subject)) {
    const auto origin = metadata.user_defined.find(families::kMadeFromKey);
    findings.add(kTokenizer, {{},
                              {},
                              origin == metadata.user_defined.end()
                                  ? "nor does its metadata name a model that has one"
                                  : fmt::format("its metadata names {}", origin->second)});
  }
  if (metadata.short_description.empty() && subject.pipeline == nullptr) {
    findings.add(kMetadata, {{}, {}, "no description"});
  }
}

}  // namespace

const Group& package_rules() {
  static const Group group = {{&kTokenizer, &kMetadata}, check_package};
  return group;
}

}  // namespace pippin::doctor
