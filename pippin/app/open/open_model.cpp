#include "pippin/app/open/open_model.h"

#include <utility>

#include "pippin/app/open/hidden_output.h"
#include "pippin/app/open/hub_model.h"
#include "pippin/app/open/missing_model.h"
#include "pippin/app/open/programs.h"
#include "pippin/app/open/speech_model.h"
#include "pippin/app/open/vision_model.h"
#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/files/temporary_folder.h"
#include "pippin/base/numbers/number.h"
#include "pippin/base/platform/free_memory.h"
#include "pippin/demo/demo_model.h"
#include "pippin/engine/cache_type.h"
#include "pippin/families/package.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/encoders/encoder_decoder.h"
#include "pippin/models/encoders/encoder_model.h"
#include "pippin/models/model_source.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/encoder_decoder_schema.h"
#include "pippin/runtime/run_adapter.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;
using runtime::LoadedModel;

// A sequence allocates memory as tokens arrive: a context that would not fit into memory is
// useless.
constexpr uint64_t kPartForContext = 2;

// The demo model's files, only while they are opened: mapped files stay readable after the folder
// is removed, so nothing is left behind.
class UnpackedDemo {
 public:
  UnpackedDemo() {
    if (demo_model().empty())
      fail(ErrorCode::NotFound, "this program was built without a demo model; name a MODEL");
    for (const EmbeddedFile& file : demo_model()) {
      FileWriter writer(folder_.path() / file.name);
      writer.write(file.bytes);
      writer.close();
    }
  }

  const fs::path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_{"demo"};
};

fs::path text_path(const ModelChoice& choice, const fs::path& own) {
  if (choice.tokenizer.empty()) return own;
  if (!fs::exists(choice.tokenizer)) {
    fail(ErrorCode::NotFound, "{}: there is no such tokenizer", choice.tokenizer);
  }
  return choice.tokenizer;
}

ModelChoice with_names(ModelChoice choice) {
  runtime::name_run_adapters(choice.load);
  return choice;
}

// The options of a program that takes the adapters of the choice.
models::BuildOptions build_options(const ModelChoice& choice) {
  models::BuildOptions options;
  options.context = choice.load.context;
  options.layer_outputs = choice.layers;
  options.rows = true;
  options.run_adapters.reserve(choice.load.run_adapters.size());
  for (const runtime::RunAdapter& adapter : choice.load.run_adapters) {
    options.run_adapters.emplace_back(adapter.path);
  }
  options.half_adapters = choice.load.compute.precision == engine::Precision::Fast;
  return options;
}

mil::Model build_folder(const ModelChoice& choice, const fs::path& folder, bool prediction = true) {
  if (models::only_encodes(folder)) {
    fail(ErrorCode::Unsupported,
         "{}: embeds or scores texts and writes none: `pippin embed` or `pippin rerank` runs it, "
         "`pippin convert` makes a package of it",
         models::model_name(folder, models::load_config(folder)));
  }
  if (models::text_task(folder) == models::TextTask::EncodeDecode) {
    if (!choice.load.adapter.empty() || !choice.load.run_adapters.empty()) {
      fail(ErrorCode::Unsupported, "{}: adapters are not supported for encoder-decoder models",
           folder.string());
    }
    return models::build_encoder_decoder(folder,
                                         {.context = choice.load.context,
                                          .compute = models::BuildOptions::Compute::Float32Direct,
                                          .attend = !choice.load.encoder.empty()});
  }
  models::BuildOptions options = build_options(choice);
  // Rows of fewer bits leave room for more tokens than those of f16.
  const double fewer =
      engine::cache_bits(engine::CacheType::F16) / engine::cache_bits(choice.load.cache_type);
  const uint64_t memory = total_memory() / kPartForContext;
  options.context_memory = static_cast<uint64_t>(static_cast<double>(memory) * fewer);
  options.compute = models::BuildOptions::Compute::Float32Direct;
  // Recorded whether it is used or not: saved sequences are of one program.
  options.prediction = prediction;
  options.fused_adapter = choice.load.adapter;
  return models::build(folder, options);
}

// The program of packages that Pippin wrote, recorded again from their weights so that it takes
// adapters. The family becomes `stateful`.
mil::Model build_packages(const ModelChoice& choice, const runtime::FoundPackages& packages) {
  using Family = runtime::FoundPackages::Family;
  const fs::path source = packages.family == Family::Single ? packages.package : packages.root;
  if (!choice.load.adapter.empty()) {
    fail(ErrorCode::Unsupported,
         "{}: a function of the package (--adapter {}) takes no further adapters (--lora)",
         choice.path, choice.load.adapter);
  }
  return with_context("--lora needs a package that Pippin wrote", [&] {
    models::BuildOptions options = build_options(choice);
    const int64_t context = models::shape_of_packages(source).context;
    options.context = choice.load.context == 0 ? context : std::min(context, choice.load.context);
    return models::build(source, options);
  });
}

// A folder's adapter is merged into its weights when built; a package has adapters as functions.
runtime::LoadOptions folder_options(const ModelChoice& choice) {
  runtime::LoadOptions options = choice.load;
  options.adapter.clear();
  return options;
}

// Whether the path names packages rather than a Hugging Face folder.
bool names_packages(const ModelChoice& choice) {
  check_model_exists(choice.path);
  const fs::path path = choice.path;
  if (runtime::names_packages(path)) return true;
  if (fs::exists(path / "config.json")) return false;
  fail(ErrorCode::InvalidArgument,
       "{}: neither a Core ML package (no Manifest.json), nor a folder of packages, nor a Hugging "
       "Face folder (no config.json), nor a GGUF file",
       choice.path);
}

// Unpacked files stay as long as the model.
void keep_files(runtime::FoundPackages& packages, const runtime::RunnableModel& model) {
  if (!packages.folder) return;
  model.model->keep(std::make_shared<runtime::PackageFolder>(std::move(*packages.folder)));
}

// `given`: as the caller names it; a GGML file is opened as a generated folder.
[[noreturn]] void refuse_speech(const ModelChoice& given) {
  fail(ErrorCode::Unsupported, "{}: a model of speech: `pippin transcribe` runs it", given.path);
}

}  // namespace

LoadedModel open_model(const ModelChoice& given) {
  const ModelChoice choice = resolve_choice(with_names(given));
  if (choice.path.empty()) {
    const UnpackedDemo demo;
    return runtime::load_model([&] { return build_folder(choice, demo.path()); },
                               text_path(choice, demo.path()), folder_options(choice));
  }
  if (!names_packages(choice)) {
    if (is_speech_model(choice.path)) refuse_speech(given);
    LoadedModel loaded =
        runtime::load_model([&] { return build_folder(choice, choice.path); },
                            text_path(choice, choice.path), folder_options(choice));
    open_images(choice.path, choice.load.compute, loaded);
    if (choice.images_error) loaded.images_error = choice.images_error;
    return loaded;
  }
  const fs::path text = choice.tokenizer.empty() ? fs::path() : text_path(choice, choice.tokenizer);
  runtime::FoundPackages packages = runtime::find_packages(choice.path);
  const fs::path tower = packages.vision;
  const fs::path bundle = packages.coreml_llm.vision_folder;
  if (!choice.load.run_adapters.empty()) {
    LoadedModel loaded =
        runtime::load_model([&] { return build_packages(choice, packages); },
                            text.empty() ? packages.tokenizer_folder() : text, choice.load);
    if (!tower.empty()) open_package_images(choice.path, tower, choice.load.compute, loaded);
    keep_files(packages, loaded);
    return loaded;
  }
  LoadedModel loaded = runtime::load_model(std::move(packages), text, choice.load);
  if (loaded.model->source()) refuse_speech(given);
  if (!tower.empty()) open_package_images(choice.path, tower, choice.load.compute, loaded);
  if (!bundle.empty()) open_bundle_images(bundle, choice.load.compute, loaded);
  return loaded;
}

runtime::RunnableModel open_runnable(const ModelChoice& given) {
  const ModelChoice choice = resolve_choice(with_names(given), false);
  if (choice.path.empty()) {
    const UnpackedDemo demo;
    return runtime::make_runnable(build_folder(choice, demo.path()), folder_options(choice));
  }
  if (!names_packages(choice)) {
    return runtime::make_runnable(build_folder(choice, choice.path), folder_options(choice));
  }
  runtime::FoundPackages packages = runtime::find_packages(choice.path);
  if (choice.load.run_adapters.empty()) {
    return runtime::make_runnable(std::move(packages), choice.load);
  }
  auto model = runtime::make_runnable(build_packages(choice, packages), choice.load);
  keep_files(packages, model);
  return model;
}

std::vector<NamedProgram> read_programs(const ModelChoice& given) {
  const ModelChoice choice = resolve_choice(given, false);
  std::vector<NamedProgram> programs;
  if (choice.path.empty()) {
    const UnpackedDemo demo;
    programs.push_back({"", build_folder(choice, demo.path())});
    return programs;
  }
  if (!names_packages(choice)) {
    if (is_speech_model(choice.path)) refuse_speech(given);
    programs.push_back({"", build_folder(choice, choice.path)});
    return programs;
  }
  auto found = runtime::find_packages(choice.path);
  using Family = runtime::FoundPackages::Family;
  const auto read = [&](const std::string& stem) {
    if (stem.empty()) return;
    programs.push_back({stem, mil::read_package(found.folder.value().package(stem))});
  };
  if (found.family == Family::Single) {
    programs.push_back({"", mil::read_package(found.package)});
  } else if (found.family == Family::Anemll) {
    read(found.anemll.embeddings);
    for (const std::string& stem : found.anemll.chunks) read(stem);
    read(found.anemll.lm_head);
  } else if (found.family == Family::CoreMlLlm) {
    for (const std::string& stem : found.coreml_llm.chunks) read(stem);
  } else if (found.family != Family::Windowed) {
    refuse_speech(given);
  } else {
    // The cache processor is not used in most steps.
    for (const std::string& stem : found.windowed.chunks) read(stem);
    read(found.windowed.logit_processor);
  }
  return programs;
}

int64_t own_context(const runtime::RunnableModel& model) {
  int64_t own = model.model->context();
  if (model.program == nullptr) return own;
  const auto& metadata = model.program->metadata.user_defined;
  const auto found = metadata.find(families::kOwnContextKey);
  if (found != metadata.end()) parse_number(found->second, own);
  return own;
}

HiddenModel open_hidden(const ModelChoice& given) {
  const ModelChoice choice = resolve_choice(with_names(given), false);
  const auto made = [&](mil::Model model, const runtime::LoadOptions& load) {
    if (runtime::is_encoder_decoder(model)) {
      fail(ErrorCode::Unsupported,
           "{}: turns texts into other texts and gives no embeddings; a model of its encoder alone "
           "does",
           choice.path);
    }
    add_hidden_output(model);
    return HiddenModel{runtime::make_runnable(std::move(model), load), choice.path};
  };
  if (choice.path.empty()) {
    const UnpackedDemo demo;
    return made(build_folder(choice, demo.path(), false), folder_options(choice));
  }
  if (!names_packages(choice)) {
    return made(build_folder(choice, choice.path, false), folder_options(choice));
  }
  runtime::FoundPackages packages = runtime::find_packages(choice.path);
  if (packages.family != runtime::FoundPackages::Family::Single) {
    fail(ErrorCode::Unsupported, "{}: a model of several packages gives no embeddings",
         choice.path);
  }
  HiddenModel model = made(choice.load.run_adapters.empty() ? mil::read_package(packages.package)
                                                            : build_packages(choice, packages),
                           choice.load);
  keep_files(packages, model);
  return model;
}

}  // namespace pippin::app
