#include "pippin/runtime/open/loaded_model.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "pippin/base/call_context.h"
#include "pippin/base/error.h"
#include "pippin/base/threads/thread.h"
#include "pippin/engine/cache_type.h"
#include "pippin/engine/device.h"
#include "pippin/engine/fallback.h"
#include "pippin/mil/package/package.h"
#include "pippin/runtime/anemll/model.h"
#include "pippin/runtime/coreml_llm/model.h"
#include "pippin/runtime/encoder_decoder_model.h"
#include "pippin/runtime/package/functions.h"
#include "pippin/runtime/package/vocabulary.h"
#include "pippin/runtime/stateful/model.h"

namespace pippin::runtime {
namespace {

namespace fs = std::filesystem;

// The template of a file, with the model's special tokens.
ChatTemplate other_template(const fs::path& file, const fs::path& folder) {
  if (!fs::is_regular_file(file)) {
    fail(ErrorCode::NotFound, "{}: there is no such chat template", file.string());
  }
  chat::TemplateSources sources = chat::read_template_file(file);
  const chat::TemplateSources own = chat::read_template_folder(folder);
  for (const auto& [name, token] : own.special_tokens.entries()) {
    if (sources.special_tokens.find(name) == nullptr) sources.special_tokens.set(name, token);
  }
  auto found = ChatTemplate::from_sources(sources);
  if (!found) fail(ErrorCode::InvalidFile, "{}: has no chat template", file.string());
  return std::move(*found);
}

ModelText read_text(const fs::path& text, const LoadOptions& options) {
  const fs::path folder = fs::is_directory(text) ? text : text.parent_path();
  auto tokenizer = Tokenizer::open(text);
  auto config = read_generation_config(folder, tokenizer);
  std::optional<ChatTemplate> chat_template;
  std::optional<Error> template_error;
  if (!options.chat_template.empty()) {
    chat_template = other_template(options.chat_template, folder);
  } else {
    try {
      chat_template = ChatTemplate::from_folder(folder);
    } catch (const Error& error) {
      template_error = error;
    }
  }
  return {std::move(tokenizer), std::move(chat_template), std::move(template_error),
          std::move(config)};
}

// Returns open(options), or open() for the CPU where the options allow that instead of the device.
template <typename Open>
RunnableModel on_device_or_cpu(const LoadOptions& options, Open&& open) {
  return engine::on_device_or_cpu(options.compute, [&](const engine::ComputeOptions& compute) {
    LoadOptions chosen = options;
    chosen.compute = compute;
    RunnableModel model = open(chosen);
    model.device = engine::device_of(compute).name();
    return model;
  });
}

// Only the stateful family has quantized caches.
void check_cache_type(const LoadOptions& options, std::string_view family) {
  if (options.cache_type == engine::CacheType::F16) return;
  fail(ErrorCode::Unsupported, "cache type {}: {} have caches of f16 only",
       to_string(options.cache_type), family);
}

// Whether the package is a single one with position inputs and a mask of fixed length.
bool is_single_anemll(const mil::Model& model, const std::string& adapter) {
  const auto functions = functions_of(model, adapter);
  if (functions.empty()) fail_no_adapter(adapter, adapter_names(model));
  try {
    return std::any_of(functions.begin(), functions.end(), [](const auto* function) {
      const StepSchema step = step_schema(*function);
      return step.has_states && !step.mask.empty() && !step.end.is_range() && step.says_positions();
    });
  } catch (const Error&) {
    return false;  // the stateful family reports what does not fit
  }
}

RunnableModel joined(std::shared_ptr<ThreadPool> pool, std::shared_ptr<const mil::Model> program,
                     std::shared_ptr<Model> model) {
  model->keep(pool);
  model->keep(program);
  return {std::move(pool), std::move(program), std::move(model)};
}

RunnableModel make_single(const fs::path& package, const LoadOptions& options) {
  mil::Model model = mil::read_package(package);
  if (!model.has_program()) {
    fail(ErrorCode::Unsupported, "{}: a {}, which is not a language model", package.string(),
         to_string(model.kind));
  }
  if (!is_single_anemll(model, options.adapter)) return make_runnable(std::move(model), options);
  check_cache_type(options, "ANEMLL's packages");
  const auto pool = std::make_shared<ThreadPool>(options.threads, options.pinning);
  return on_device_or_cpu(options, [&](const LoadOptions& chosen) {
    return joined(pool, nullptr, make_single_anemll_model(package, *pool, chosen));
  });
}

// Packages of several parts.
RunnableModel make_parts(FoundPackages packages, const LoadOptions& options) {
  check_cache_type(options, "models of several packages");
  const auto pool = std::make_shared<ThreadPool>(options.threads, options.pinning);
  if (packages.family == FoundPackages::Family::Anemll) {
    return joined(pool, nullptr,
                  make_anemll_model(std::move(packages.folder.value()), packages.anemll,
                                    packages.meta, *pool, options));
  }
  if (packages.family == FoundPackages::Family::CoreMlLlm) {
    return joined(pool, nullptr,
                  make_coreml_llm_model(std::move(packages.folder.value()), packages.coreml_llm,
                                        *pool, options));
  }
  return joined(
      pool, nullptr,
      make_windowed_model(std::move(packages.folder.value()), packages.windowed, *pool, options));
}

}  // namespace

bool is_language_model(const mil::Model& model) {
  if (!model.has_program()) return false;
  if (is_encoder_decoder(model)) return true;
  return std::any_of(model.functions.begin(), model.functions.end(), [&](const auto& function) {
    try {
      const StepSchema step = step_schema(function);
      return step.takes_ids && (step.gives_logits() || step.gives_argmax()) &&
             !not_logits(model, step);
    } catch (const Error&) {
      return false;  // a program that fits no schema is not a language model
    }
  });
}

ImageInput& LoadedModel::image_input(const std::string& name) const {
  if (images != nullptr) return *images;
  if (images_error) fail(ErrorCode::Unsupported, "{}: {}", name, images_error->what());
  fail(ErrorCode::Unsupported, "{}: the model takes text only", name);
}

RunnableModel make_runnable(mil::Model model, const LoadOptions& options) {
  const auto pool = std::make_shared<ThreadPool>(options.threads, options.pinning);
  const auto program = std::make_shared<const mil::Model>(std::move(model));
  return on_device_or_cpu(options, [&](const LoadOptions& chosen) {
    if (is_encoder_decoder(*program)) {
      if (!options.run_adapters.empty()) {
        fail(ErrorCode::Unsupported, "adapters are not supported for encoder-decoder models");
      }
      check_cache_type(options, "encoder-decoder models");
      return joined(pool, program, std::make_shared<EncoderDecoderModel>(*program, *pool, chosen));
    }
    return joined(pool, program, make_stateful_model(*program, *pool, chosen));
  });
}

RunnableModel make_runnable(FoundPackages packages, const LoadOptions& options) {
  using Family = FoundPackages::Family;
  if (!options.run_adapters.empty()) {
    fail(ErrorCode::Unsupported, "{}: the program of a package takes no adapters",
         packages.root.string());
  }
  if (packages.family == Family::Single) {
    auto result = make_single(packages.package, options);
    // Keeps the unpacked files.
    if (packages.folder) {
      result.model->keep(std::make_shared<PackageFolder>(std::move(*packages.folder)));
    }
    return result;
  }
  if (packages.family == Family::WhisperKit || packages.family == Family::FluidAudio) {
    fail(ErrorCode::Unsupported,
         "{}: {}'s packages of a model of speech: `pippin transcribe` runs them",
         packages.root.string(),
         packages.family == Family::WhisperKit ? "WhisperKit" : "FluidAudio");
  }
  if (packages.family != Family::Anemll && !options.adapter.empty()) {
    fail_no_adapter(options.adapter, {});
  }
  // A model takes the folder, which is unpacked again for the next one.
  std::optional<FoundPackages> found = std::move(packages);
  const fs::path root = found->root;
  return on_device_or_cpu(options, [&](const LoadOptions& chosen) {
    if (!found) found = find_packages(root);
    return make_parts(*std::exchange(found, std::nullopt), chosen);
  });
}

LoadedModel load_model(const std::function<mil::Model()>& build, const fs::path& text,
                       const LoadOptions& options) {
  std::optional<ModelText> read;
  std::exception_ptr failure;
  const CallContext& call = CallContext::current();
  Thread reader;
  if (options.threads != 1) {
    reader = Thread([&] {
      const ContextScope scope(call);
      try {
        read = read_text(text, options);
      } catch (...) {
        failure = std::current_exception();
      }
    });
  }
  RunnableModel runnable = make_runnable(build(), options);
  reader = Thread();  // waits for it
  if (failure) std::rethrow_exception(failure);
  if (!read) read = read_text(text, options);
  return {std::move(runnable), std::move(*read)};
}

LoadedModel load_model(FoundPackages packages, fs::path text, const LoadOptions& options) {
  if (text.empty()) text = packages.tokenizer_folder();
  const auto sampling = packages.meta ? packages.meta->sampling : std::nullopt;
  // Reads the text's files first: they may be in an archive whose files are removed with the
  // packages.
  LoadedModel result{{}, read_text(text, options)};
  // meta.yaml has no entries for suppressed tokens, so the model's own apply.
  if (sampling) result.config.sampling = with_exclusions(*sampling, result.config.sampling);
  static_cast<RunnableModel&>(result) = make_runnable(std::move(packages), options);
  return result;
}

}  // namespace pippin::runtime
