#include "pippin/app/open/open_model.h"

#include <utility>

#include "pippin/app/open/hidden_output.h"
#include "pippin/app/open/hub_model.h"
#include "pippin/app/open/speech_model.h"
#include "pippin/app/open/vision_model.h"
#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/files/temporary_folder.h"
#include "pippin/base/numbers/number.h"
#include "pippin/base/platform/free_memory.h"
#include "pippin/demo/demo_model.h"
#include "pippin/families/package.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/encoders/encoder_decoder.h"
#include "pippin/models/encoders/encoder_model.h"
#include "pippin/models/model_source.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/encoder_decoder_schema.h"

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

mil::Model build_folder(const ModelChoice& choice, const fs::path& folder) {
  if (models::only_encodes(folder)) {
    fail(ErrorCode::Unsupported,
         "{}: embeds or scores texts and writes none: `pippin embed` or `pippin rerank` runs it, "
         "`pippin convert` makes a package of it",
         models::model_name(folder, models::load_config(folder)));
  }
  if (models::text_task(folder) == models::TextTask::EncodeDecode) {
    if (!choice.load.adapter.empty()) {
      fail(ErrorCode::Unsupported, "{}: adapters are not supported for encoder-decoder models",
           folder.string());
    }
    return models::build_encoder_decoder(folder,
                                         {.context = choice.load.context,
                                          .compute = models::BuildOptions::Compute::Float32Direct,
                                          .attend = !choice.load.encoder.empty()});
  }
  models::BuildOptions options;
  options.context = choice.load.context;
  options.context_memory = total_memory() / kPartForContext;
  options.compute = models::BuildOptions::Compute::Float32Direct;
  options.layer_outputs = choice.layers;
  options.rows = true;
  options.fused_adapter = choice.load.adapter;
  return models::build(folder, options);
}

// A folder's adapter is merged into its weights when built; a package has adapters as functions.
runtime::LoadOptions folder_options(const ModelChoice& choice) {
  runtime::LoadOptions options = choice.load;
  options.adapter.clear();
  return options;
}

// Whether the path names packages rather than a Hugging Face folder.
bool names_packages(const ModelChoice& choice) {
  const fs::path path = choice.path;
  if (!fs::exists(path)) {
    const bool is_name = choice.path.find('/') == std::string::npos && !path.has_extension();
    fail(
        ErrorCode::NotFound, "{}: there is no such model{}", choice.path,
        is_name
            ? " here; those on the Hub are called ORG/NAME, HuggingFaceTB/SmolLM2-135M-Instruct say"
            : "");
  }
  if (runtime::names_packages(path)) return true;
  if (fs::exists(path / "config.json")) return false;
  fail(ErrorCode::InvalidArgument,
       "{}: neither a Core ML package (no Manifest.json), nor a folder of packages, nor a Hugging "
       "Face folder (no config.json), nor a GGUF file",
       choice.path);
}

// `given`: as the caller names it; a GGML file is opened as a generated folder.
[[noreturn]] void refuse_speech(const ModelChoice& given) {
  fail(ErrorCode::Unsupported, "{}: a model of speech: `pippin transcribe` runs it", given.path);
}

}  // namespace

LoadedModel open_model(const ModelChoice& given) {
  const ModelChoice choice = resolve_choice(given);
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
  LoadedModel loaded = runtime::load_model(std::move(packages), text, choice.load);
  if (loaded.model->source()) refuse_speech(given);
  if (!tower.empty()) open_package_images(choice.path, tower, choice.load.compute, loaded);
  return loaded;
}

runtime::RunnableModel open_runnable(const ModelChoice& given) {
  const ModelChoice choice = resolve_choice(given, false);
  if (choice.path.empty()) {
    const UnpackedDemo demo;
    return runtime::make_runnable(build_folder(choice, demo.path()), folder_options(choice));
  }
  if (!names_packages(choice)) {
    return runtime::make_runnable(build_folder(choice, choice.path), folder_options(choice));
  }
  return runtime::make_runnable(runtime::find_packages(choice.path), choice.load);
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
  const ModelChoice choice = resolve_choice(given, false);
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
    return made(build_folder(choice, demo.path()), folder_options(choice));
  }
  if (!names_packages(choice)) {
    return made(build_folder(choice, choice.path), folder_options(choice));
  }
  const runtime::FoundPackages packages = runtime::find_packages(choice.path);
  if (packages.family != runtime::FoundPackages::Family::Single) {
    fail(ErrorCode::Unsupported, "{}: a model of several packages gives no embeddings",
         choice.path);
  }
  return made(mil::read_package(packages.package), choice.load);
}

}  // namespace pippin::app
