#include "pippin/cli/release/recipe.h"

#include <algorithm>
#include <initializer_list>
#include <set>

#include <fmt/format.h>

#include "pippin/app/convert/device_presets.h"
#include "pippin/doctor/rule.h"
#include "pippin/doctor/target.h"
#include "pippin/hub/repo_spec.h"
#include "pippin/io/json.h"
#include "pippin/io/yaml.h"

namespace pippin::cli {
namespace {

namespace fs = std::filesystem;

// Options that a release sets itself.
constexpr std::string_view kOwnOptions[] = {"output", "json",  "against", "dry-run", "quiet",
                                            "verify", "bench", "repo",    "token",   "all"};

// A scalar as it was written, nearly: 0.05, 8, text.
std::string scalar_text(const Json& value) {
  if (value.is_string()) return std::string(value.as_string());
  if (!value.is_number()) value.invalid("expected a text or a number");
  return value.dump();
}

void check_keys(const Json& object, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object.members()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string names;
    for (const std::string_view name : known) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    }
    value.invalid(fmt::format("not a key of a recipe here (known: {})", names));
  }
}

class Reader {
 public:
  Reader(const fs::path& file, const HasOption& has_option)
      : yaml_(load_yaml(file)), has_option_(has_option) {
    recipe_.file = fs::absolute(file);
  }

  Recipe read() {
    check_keys(yaml_, {"source", "repo", "output", "variants", "verify", "doctor", "bench", "card",
                       "push"});
    recipe_.source = yaml_.get_string("source");
    recipe_.repo = yaml_.get_string_or("repo", "");
    if (!recipe_.repo.empty() && !hub::is_repo_id(recipe_.repo)) {
      yaml_.at("repo").invalid("not a repository: org/name");
    }
    const std::string folder =
        yaml_.get_string_or("output", recipe_.file.stem().string() + "-release");
    recipe_.output = fs::absolute(recipe_.file.parent_path() / folder).lexically_normal();
    for (const auto& [name, options] : yaml_.at("variants").members()) {
      add_variant(std::string(name), options);
    }
    if (recipe_.variants.empty()) yaml_.at("variants").invalid("no variant");
    read_steps();
    return std::move(recipe_);
  }

 private:
  void read_steps() {
    if (const auto verify = yaml_.find("verify")) recipe_.verify = arguments("verify", *verify, {});
    if (const auto doctor = yaml_.find("doctor")) read_doctor(*doctor);
    if (const auto bench = yaml_.find("bench")) {
      recipe_.bench = arguments("bench", *bench, {"min-tokens-per-second"});
      recipe_.min_tokens_per_second = bench->find_float("min-tokens-per-second");
    }
    if (const auto card = yaml_.find("card")) recipe_.card = arguments("card", *card, {});
    if (const auto push = yaml_.find("push")) recipe_.push = arguments("push", *push, {});
  }

  void read_doctor(const Json& yaml) {
    check_keys(yaml, {"target", "fail-on", "allow"});
    DoctorGate gate;
    gate.target = yaml.get_string_or("target", "");
    if (!gate.target.empty()) doctor::parse_target(gate.target);
    gate.fail_on = yaml.get_string_or("fail-on", "error");
    if (gate.fail_on != "error" && gate.fail_on != "warning" && gate.fail_on != "never") {
      yaml.at("fail-on").invalid("not one of error, warning, never");
    }
    if (const auto allowed = yaml.find("allow")) gate.allowed = allowed->as_strings();
    for (const std::string& rule : gate.allowed) {
      if (doctor::find_rule(rule) == nullptr) {
        yaml.at("allow").invalid(
            fmt::format("\"{}\" is not a rule (`pippin doctor --rules` lists them)", rule));
      }
    }
    recipe_.doctor = std::move(gate);
  }

  void add_variant(std::string name, const Json& yaml) {
    Variant variant;
    const bool is_plain = hub::is_safe_path(name) && !name.starts_with('.') &&
                          name.find_first_of("/=") == std::string::npos;
    if (!is_plain) yaml.invalid("not the name of a variant");
    variant.name = std::move(name);
    variant.convert = arguments("convert", yaml, {"folder"});
    std::string family = "stateful";
    if (!yaml.is_null()) {
      if (const auto device = yaml.find("device")) {
        for (const auto& option : app::find_device_preset(device->as_string()).options) {
          if (option.name == "--family") family = option.value;
        }
      }
      family = yaml.get_string_or("family", family);
      variant.is_folder = yaml.get_bool_or("folder", false);
    }
    variant.is_folder = variant.is_folder || (family != "stateful" && family != "encoder");
    recipe_.variants.push_back(std::move(variant));
  }

  // {quantize: int8, pin: true} -> --quantize int8 --pin; a list repeats the option.
  Arguments arguments(std::string_view command, const Json& yaml,
                      std::initializer_list<std::string_view> own_keys) {
    Arguments words;
    if (yaml.is_null()) return words;
    for (const auto& [name, value] : yaml.members()) {
      if (std::find(own_keys.begin(), own_keys.end(), name) != own_keys.end()) continue;
      const std::string option = fmt::format("--{}", name);
      if (std::find(std::begin(kOwnOptions), std::end(kOwnOptions), name) !=
          std::end(kOwnOptions)) {
        value.invalid("a release sets this option itself");
      }
      if (!has_option_(command, option)) {
        value.invalid(fmt::format("pippin {} has no option {}", command, option));
      }
      if (value.is_bool()) {
        if (value.as_bool()) words.push_back(option);
      } else if (value.is_array()) {
        for (const Json& one : value.elements()) {
          words.insert(words.end(), {option, scalar_text(one)});
        }
      } else {
        words.insert(words.end(), {option, scalar_text(value)});
      }
    }
    return words;
  }

  const Json yaml_;
  const HasOption& has_option_;
  Recipe recipe_;
};

}  // namespace

Recipe read_recipe(const fs::path& file, const HasOption& has_option) {
  return Reader(file, has_option).read();
}

}  // namespace pippin::cli
