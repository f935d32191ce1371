#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "pippin/api/device.h"
#include "pippin/base/numbers/number.h"
#include "pippin/c/boundary.h"
#include "pippin/c/handles.h"
#include "pippin/io/load_cache.h"
#include "pippin/runtime/run_adapter.h"
#include "pippin/runtime/sampling/option_table.h"
#include "pippin/speech/option_table.h"

namespace pippin::c {
namespace {

using runtime::PrefillMode;

// Each returns false if the text is not a valid value.
bool read(std::string_view text, bool& value) {
  if (text != "true" && text != "false" && text != "1" && text != "0") return false;
  value = text == "true" || text == "1";
  return true;
}

template <std::integral T>
bool read(std::string_view text, T& value) {
  return parse_number(text, value);
}

bool read(std::string_view text, double& value) {
  return parse_number(text, value);
}

bool read(std::string_view text, std::string& value) {
  value = text;
  return true;
}

bool read(std::string_view text, std::filesystem::path& value) {
  value = text;
  return true;
}

// A number, or none.
bool read(std::string_view text, std::optional<double>& value) {
  if (text == "none") {
    value.reset();
    return true;
  }
  double number = 0;
  if (!read(text, number)) return false;
  value = number;
  return true;
}

// Numbers separated by commas; an empty text is an empty list.
template <typename T>
bool read(std::string_view text, std::vector<T>& list) {
  std::vector<T> numbers;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (!read(text.substr(0, comma), numbers.emplace_back())) return false;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  list = std::move(numbers);
  return true;
}

template <typename T>
using Names = std::map<std::string_view, T>;

template <typename T>
bool read(std::string_view text, const Names<T>& names, T& value) {
  const auto found = names.find(text);
  if (found == names.end()) return false;
  value = found->second;
  return true;
}

bool read(std::string_view text, Precision& value) {
  static const Names<Precision> names = {
      {"fast", Precision::Fast}, {"exact", Precision::Exact}, {"reference", Precision::Reference}};
  return read(text, names, value);
}

bool read(std::string_view text, engine::CacheType& value) {
  using enum engine::CacheType;
  static const Names<engine::CacheType> names = {
      {"f16", F16}, {"q8", Q8}, {"q8_0", Q8}, {"q4", Q4}, {"q4_0", Q4}};
  return read(text, names, value);
}

bool read(std::string_view text, PrefillMode& value) {
  static const Names<PrefillMode> names = {{"auto", PrefillMode::Auto},
                                           {"batches", PrefillMode::Batches},
                                           {"steps", PrefillMode::Steps}};
  return read(text, names, value);
}

bool read(std::string_view text, Overflow& value) {
  static const Names<Overflow> names = {
      {"stop", Overflow::Stop}, {"shift", Overflow::Shift}, {"error", Overflow::Error}};
  return read(text, names, value);
}

template <auto kMember>
bool set_model(pippin_options& options, std::string_view text) {
  return read(text, options.model.*kMember);
}

template <auto kMember>
bool set_language(pippin_options& options, std::string_view text) {
  return read(text, options.language.*kMember);
}

// Models and language models have different defaults.
bool set_precision(pippin_options& options, std::string_view text) {
  if (!read(text, options.model.precision)) return false;
  options.language.compute.precision = options.model.precision;
  return true;
}

template <auto kMember>
bool set_name(pippin_options& options, std::string_view text) {
  return read(text, options.*kMember);
}

template <auto kMember>
bool set_text(pippin_options& options, std::string_view text) {
  return read(text, options.text.*kMember);
}

bool set_seed(pippin_options& options, std::string_view text) {
  uint64_t value = 0;
  if (!read(text, value)) return false;
  options.sampling.emplace_back([value](SamplingOptions& sampling) { sampling.seed = value; });
  return true;
}

bool add_stop(pippin_options& options, std::string_view text) {
  if (text.empty()) return false;
  options.text.stop.emplace_back(text);
  return true;
}

bool add_adapter(pippin_options& options, std::string_view text) {
  options.language.run_adapters.push_back(runtime::parse_run_adapter(text));
  return true;
}

bool add_bias(pippin_options& options, std::string_view text) {
  const size_t colon = text.find(':');
  int32_t id = 0;
  double bias = 0;
  if (colon == std::string_view::npos || !read(text.substr(0, colon), id) ||
      !read(text.substr(colon + 1), bias)) {
    return false;
  }
  options.sampling.emplace_back(
      [id, bias](SamplingOptions& sampling) { sampling.logit_bias[id] = bias; });
  return true;
}

template <TextForm::Kind kKind>
bool set_form(pippin_options& options, std::string_view text) {
  options.text.form = TextForm{kKind, std::string(text), {}};
  return true;
}

bool set_json_object(pippin_options& options, std::string_view text) {
  bool wanted = false;
  if (!read(text, wanted)) return false;
  options.text.form.reset();
  return !wanted || set_form<TextForm::Kind::JsonObject>(options, {});
}

bool add_choice(pippin_options& options, std::string_view text) {
  std::optional<TextForm>& form = options.text.form;
  if (!form || form->kind != TextForm::Kind::Choice) form = TextForm{TextForm::Kind::Choice};
  form->choices.emplace_back(text);
  return true;
}

// Sets an option of transcriptions by a function that throws for a wrong value.
template <auto kSet>
bool set_transcription(pippin_options& options, std::string_view text) {
  try {
    kSet(options.transcription, text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

template <auto kMember>
bool set_temperature(pippin_options& options, std::string_view text) {
  return read(text, options.*kMember);
}

struct Option {
  const char* name;
  std::string help;
  std::function<bool(pippin_options& options, std::string_view value)> set;  // false: invalid value
};

Option sampling_option(const runtime::SamplingOption& known) {
  const auto set = [&known](pippin_options& options, std::string_view text) {
    return std::visit(
        [&](const auto& of) {
          auto value = SamplingOptions().*of.option;
          if (!read(text, value)) return false;
          options.sampling.emplace_back(
              [value, member = of.option](SamplingOptions& sampling) { sampling.*member = value; });
          return true;
        },
        known.member);
  };
  return {known.name, fmt::format("sampling: {}", known.help), set};
}

// Adds an option; if there is one of this name, it is an option of both.
void add(std::vector<Option>& all, Option option) {
  for (Option& known : all) {
    if (std::string_view(known.name) != option.name) continue;
    known.help = fmt::format("{}; {}", known.help, option.help);
    known.set = [first = known.set, second = option.set](pippin_options& options,
                                                         std::string_view text) {
      return first(options, text) && second(options, text);
    };
    return;
  }
  all.push_back(std::move(option));
}

void add_transcription(std::vector<Option>& all) {
  add(all, {"language", "transcription: a code, an English name, or auto",
            set_transcription<speech::set_language>});
  add(all, {"task", "transcription: transcribe, or translate into English",
            set_transcription<speech::set_task>});
  add(all, {"temperature", "transcription: Temperature of samples; 0: greedy (0)",
            set_temperature<&pippin_options::temperature>});
  add(all, {"temperature_increment_on_fallback",
            "transcription: Temperature to add, up to 1, while a window's text fails; 0: accept it "
            "(0.2)",
            set_temperature<&pippin_options::temperature_increment>});
  for (const speech::TranscribeOption& known : speech::transcribe_options()) {
    const auto set = [&known](pippin_options& options, std::string_view text) {
      return std::visit(
          [&](const auto member) { return read(text, options.transcription.*member); },
          known.member);
    };
    add(all, {known.name, fmt::format("transcription: {}", known.help), set});
  }
}

// clang-format off
using Kind = TextForm::Kind;
std::vector<Option> make_options() {
  std::vector<Option> all = {
    {"precision", "model: fast, exact (fp32 arithmetic) or reference (operation by operation); exact, of language models fast", set_precision},
    {"threads", "model: how many compute; 0: one per core", set_model<&LoadOptions::num_threads>},
    {"backend", "model: cpu, cuda or cuda:N (the N-th of NVIDIA's GPUs, from 0), auto (a GPU that can be used, else the CPU), or coreml on a Mac", set_name<&pippin_options::backend>},
    {"compute_units", "model: what Core ML may use: all, cpuAndNeuralEngine, cpuAndGPU or cpuOnly", set_name<&pippin_options::compute_units>},
    {"fusion", "model: whether patterns of operations become one step", set_model<&LoadOptions::fusion>},
    {"load_cache", "model: a folder that keeps what loading computes for the next load", set_model<&LoadOptions::load_cache>},
    {"load_cache_bytes", "model: the most that it keeps; 0: 20 GB or a tenth of the disk", set_model<&LoadOptions::load_cache_bytes>},
    {"max_elements", "model, no language model: the most elements of one value", set_model<&LoadOptions::max_elements>},
    {"max_iterations", "model, no language model: the most turns of all loops of a prediction", set_model<&LoadOptions::max_iterations>},
    {"trace", "model, no language model: pippin_function_describe() says how predictions were computed", set_model<&LoadOptions::trace>},

    {"context", "language model: the most tokens of a session; 0: what the model has", set_language<&LanguageModelOptions::context>},
    {"low_memory", "language model: load the parts of a model of several packages one after another", set_language<&LanguageModelOptions::low_memory>},
    {"slide", "language model: a windowed model goes on past its context", set_language<&LanguageModelOptions::slide>},
    {"prefill", "language model: auto, batches or steps", set_language<&LanguageModelOptions::prefill>},
    {"prefill_chunk", "language model: the most tokens of a prompt that one run takes; 0: 256, or more where that is quicker", set_language<&LanguageModelOptions::prefill_chunk>},
    {"cache_type", "language model: how keys and values are stored: f16, q8 (about half the memory) or q4 (a quarter)", set_language<&LanguageModelOptions::cache_type>},
    {"adapter", "language model: the adapter whose functions to use", set_language<&LanguageModelOptions::adapter>},
    {"lora", "language model: an adapter that its runs add, [NAME=]PATH[:SCALE]; may be set for several", add_adapter},
    {"mmproj", "language model: the vision tower of a GGUF, mmproj-*.gguf; empty: the only one next to it, or its repository's; none", set_language<&LanguageModelOptions::mmproj>},
    {"chat_template", "language model: a file with the template; empty: the model's own", set_language<&LanguageModelOptions::chat_template>},
    {"vad", "transcriber: a model of voice for vad_filter, a package or org/name; empty: none", set_name<&pippin_options::vad>},
    {"tokenizer", "language model, transcriber: a folder, a file or org/name; empty: the model's own", set_language<&LanguageModelOptions::tokenizer>},
  };
  for (const runtime::SamplingOption& known : runtime::sampling_options()) {
    all.push_back(sampling_option(known));
  }
  const Option others[] = {
    {"logit_bias", "sampling: id:number, added to a token's logit; may be set for several", add_bias},
    {"seed", "sampling: of the random numbers", set_seed},

    {"max_tokens", "text: the most tokens; below 0: any number", set_text<&TextSettings::max_tokens>},
    {"stop", "text: ends before this; may be set several times", add_stop},
    {"overflow", "text: stop, shift or error when the context is full", set_text<&TextSettings::overflow>},
    {"drafts", "text: whether tokens are guessed and verified together: the same text, sooner", set_text<&TextSettings::drafts>},
    {"json_schema", "text: JSON of this schema", set_form<Kind::JsonSchema>},
    {"json_object", "text: whether it is a JSON object", set_json_object},
    {"grammar", "text: of this grammar (GBNF)", set_form<Kind::Grammar>},
    {"regex", "text: what this expression matches", set_form<Kind::Regex>},
    {"choice", "text: one of these; to be set for each", add_choice},
  };
  all.insert(all.end(), std::begin(others), std::end(others));
  add_transcription(all);
  return all;
}
// clang-format on

const std::vector<Option>& all_options() {
  static const std::vector<Option> options = make_options();
  return options;
}

}  // namespace

LoadOptions model_options(const pippin_options* options) {
  if (options == nullptr) return {};
  LoadOptions model = options->model;
  set_backend(model, options->backend, options->compute_units);
  return model;
}

LanguageModelOptions language_options(const pippin_options* options) {
  if (options == nullptr) return {};
  const LoadOptions model = model_options(options);
  LanguageModelOptions language = options->language;
  language.threads = model.num_threads;
  language.compute = static_cast<const engine::ComputeOptions&>(model);
  language.compute.precision = options->language.compute.precision;
  if (!model.load_cache.empty()) {
    language.compute.cache = std::make_shared<LoadCache>(model.load_cache, model.load_cache_bytes);
  }
  return language;
}

TranscriberOptions transcriber_options(const pippin_options* options) {
  const LanguageModelOptions language = language_options(options);
  TranscriberOptions transcriber;
  static_cast<runtime::LoadOptions&>(transcriber) =
      static_cast<const runtime::LoadOptions&>(language);
  transcriber.tokenizer = language.tokenizer;
  if (options != nullptr) transcriber.vad = options->vad;
  return transcriber;
}

speech::TranscribeOptions transcription_options(const pippin_options* options) {
  if (options == nullptr) return {};
  speech::TranscribeOptions transcription = options->transcription;
  transcription.temperatures =
      speech::fallback_temperatures(options->temperature, options->temperature_increment);
  transcription.check();
  return transcription;
}

SamplingOptions sampling_options(const LanguageModel& model, const pippin_options* options) {
  SamplingOptions sampling = model.default_sampling();
  if (options != nullptr) {
    for (const auto& change : options->sampling) change(sampling);
  }
  sampling.check();
  if (sampling.dry_multiplier > 0 && sampling.dry_breakers.empty()) {
    sampling.dry_breakers = model.default_dry_breakers();
  }
  return sampling;
}

}  // namespace pippin::c

namespace c = pippin::c;
using pippin::ErrorCode;
using pippin::fail;

pippin_code pippin_options_new(pippin_options** options, pippin_error** error) {
  return c::give(options, "options", error, [] { return std::make_unique<pippin_options>(); });
}

void pippin_options_free(pippin_options* options) {
  delete options;
}

pippin_code pippin_options_set(pippin_options* options, const char* name, const char* value,
                               pippin_error** error) {
  return c::guarded(error, [&] {
    c::needed(options, "options");
    const std::string_view wanted = c::needed_text(name, "name");
    const std::string_view text = c::needed_text(value, "value");
    for (const c::Option& option : c::all_options()) {
      if (option.name != wanted) continue;
      if (option.set(*options, text)) return;
      fail(ErrorCode::InvalidArgument, "{} cannot be '{}' ({})", name, text, option.help);
    }
    fail(ErrorCode::NotFound, "unknown option '{}'", wanted);
  });
}

int64_t pippin_option_count(void) {
  return std::ssize(c::all_options());
}

const char* pippin_option_name(int64_t index) {
  if (index < 0 || index >= pippin_option_count()) return nullptr;
  return c::all_options()[static_cast<size_t>(index)].name;
}

const char* pippin_option_help(int64_t index) {
  if (index < 0 || index >= pippin_option_count()) return nullptr;
  return c::all_options()[static_cast<size_t>(index)].help.c_str();
}
