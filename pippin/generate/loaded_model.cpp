#include "pippin/generate/loaded_model.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/generate/functions.h"
#include "pippin/generate/stateful_model.h"

namespace pippin::generate {
namespace {

namespace fs = std::filesystem;

// Everything but the model itself.
LoadedModel with_text(RunnableModel runnable, const fs::path& text) {
  const fs::path folder = fs::is_directory(text) ? text : text.parent_path();
  auto tokenizer = Tokenizer::open(text);
  auto config = read_generation_config(folder, tokenizer);
  std::optional<ChatTemplate> chat_template;
  std::optional<Error> template_error;
  try {
    chat_template = ChatTemplate::from_folder(folder);
  } catch (const Error& error) {
    template_error = error;
  }
  return {std::move(runnable), std::move(tokenizer), std::move(chat_template),
          std::move(template_error), std::move(config)};
}

// Whether a single package says positions by inputs and has a mask of a fixed length.
bool is_single_anemll(const mil::Model& model, const std::string& adapter) {
  const auto functions = functions_of(model, adapter);
  if (functions.empty()) fail_no_adapter(adapter, adapter_names(model));
  try {
    return std::any_of(functions.begin(), functions.end(), [](const auto* function) {
      const StepSchema step = step_schema(*function);
      return step.has_states && !step.mask.empty() && !step.end.is_range() && step.says_positions();
    });
  } catch (const Error&) {
    return false;  // the stateful family says what does not fit
  }
}

AnemllOptions anemll_options(const LoadOptions& options) {
  return {options.context, options.low_memory, options.prefill, options.adapter, options.compute};
}

RunnableModel make_single(const fs::path& package, const LoadOptions& options) {
  mil::Model model = mil::read_package(package);
  if (model.is_pipeline()) {
    fail(ErrorCode::Unsupported, "{}: a {}, which is not a language model", package.string(),
         to_string(model.kind));
  }
  if (!is_single_anemll(model, options.adapter)) return make_runnable(std::move(model), options);
  RunnableModel result;
  result.pool = std::make_unique<ThreadPool>(options.threads, options.pinning);
  result.language_model = make_single_anemll_model(package, *result.pool, anemll_options(options));
  return result;
}

}  // namespace

RunnableModel make_runnable(mil::Model model, const LoadOptions& options) {
  RunnableModel result;
  result.pool = std::make_unique<ThreadPool>(options.threads, options.pinning);
  result.program = std::make_unique<const mil::Model>(std::move(model));
  StatefulOptions stateful{
      .context = options.context, .adapter = options.adapter, .compute = options.compute};
  if (options.prefill == PrefillMode::Steps) stateful.prefill_chunk = 1;
  result.language_model = make_stateful_model(*result.program, *result.pool, stateful);
  return result;
}

RunnableModel make_runnable(FoundPackages packages, const LoadOptions& options) {
  using Family = FoundPackages::Family;
  if (packages.family == Family::Single) {
    auto result = make_single(packages.package, options);
    result.folder = std::move(packages.folder);
    return result;
  }
  RunnableModel result;
  result.pool = std::make_unique<ThreadPool>(options.threads, options.pinning);
  if (packages.family == Family::Anemll) {
    result.language_model = make_anemll_model(std::move(packages.folder.value()), packages.anemll,
                                              packages.meta, *result.pool, anemll_options(options));
    return result;
  }
  if (!options.adapter.empty()) fail_no_adapter(options.adapter, {});
  result.language_model =
      make_windowed_model(std::move(packages.folder.value()), packages.windowed, *result.pool,
                          {options.context, options.low_memory, options.slide,
                           packages.windowed_positions, options.compute});
  return result;
}

LoadedModel load_model(mil::Model model, const fs::path& text, const LoadOptions& options) {
  return with_text(make_runnable(std::move(model), options), text);
}

LoadedModel load_model(FoundPackages packages, fs::path text, const LoadOptions& options) {
  if (text.empty()) text = packages.tokenizer_folder();
  const auto sampling = packages.meta ? packages.meta->sampling : std::nullopt;
  // The text's files first: they may lie in an archive that is gone with the packages.
  LoadedModel result = with_text({}, text);
  if (sampling) result.config.sampling = *sampling;
  static_cast<RunnableModel&>(result) = make_runnable(std::move(packages), options);
  return result;
}

}  // namespace pippin::generate
