#include "pippin/app/open/hub_model.h"

#include <algorithm>

#include <fmt/format.h>

#include "pippin/app/open/ggml_model.h"
#include "pippin/app/open/gguf_model.h"
#include "pippin/app/open/unpacked_package.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/families/package.h"
#include "pippin/hub/gguf_files.h"
#include "pippin/io/ggml.h"
#include "pippin/io/model_files.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/encoders/sentence_transformer.h"
#include "pippin/speech/recognition/ctc_vocabulary.h"
#include "pippin/speech/recognition/parakeet_packages.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

// "models/x.mlpackage", if absent, is the name of a file and not a repository.
bool looks_like_file(const std::string& model) {
  for (const char* ending : {".mlpackage", ".mlmodelc", ".mlmodel", ".mil", ".json", ".jinja",
                             ".zip", ".safetensors", ".npz", ".bin", ".gguf"}) {
    if (model.ends_with(ending) && std::count(model.begin(), model.end(), '/') == 1) return true;
  }
  return false;
}

bool is_zip(const std::string& package) {
  return package.ends_with(".zip");
}

bool has_meta(const hub::PullResult& pulled) {
  return std::any_of(pulled.files.begin(), pulled.files.end(), [](const hub::RepoFile& file) {
    const ModelFile* row = find_model_file(fs::path(file.path).filename().string());
    return row != nullptr && row->role == FileRole::Family;
  });
}

hub::PullResult pull_for(const std::string& model, const hub::RepoSpec& spec, ModelPart part,
                         const PullObserver& pulls, bool with_projector = false) {
  hub::PullOptions options;
  options.choose.projector = with_projector;
  options.cached_first = true;
  options.choose.tokenizer_only = part == ModelPart::Tokenizer;
  const auto observer = pulls ? pulls(spec.id, options) : nullptr;
  try {
    return hub::pull(spec, hub::read_settings(), options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::NotFound) throw;
    fail(error.code(), "{} (and no file or folder {} here)", error.what(), model);
  }
}

// For a GGUF, the folder generated for it; for an archive, its content; for a pair of towers, the
// module's folder.
std::string as_folder(const std::string& path, bool several = true) {
  const auto file = path.empty() ? std::nullopt : find_gguf(path);
  if (file) return gguf_folder(*file).string();
  return models::pair_folder(unpacked_package(path, several)).string();
}

// The same with the vision tower that the options name, or with the one that belongs to a GGUF:
// `pulled` in its repository, or the only one next to it. If that one is not usable, texts are.
void use_folder(const std::string& path, const std::optional<fs::path>& pulled,
                ModelChoice& choice) {
  const std::string& given = choice.load.mmproj;
  const auto file = path.empty() ? std::nullopt : find_gguf(path);
  const bool is_named = !given.empty() && given != runtime::kNoProjector;
  if (is_named && (!file || file->extension() != ".gguf")) {
    fail(ErrorCode::InvalidArgument, "mmproj: belongs to a GGUF file; {} is not one",
         path.empty() ? "the demo model" : path);
  }
  if (is_named) {
    const std::string local = resolve_model(given, ModelPart::Files, choice.pulls);
    if (!fs::is_regular_file(local)) {
      fail(ErrorCode::NotFound, "mmproj: {}: there is no such file", given);
    }
    choice.path = gguf_folder(*file, local).string();
    return;
  }
  choice.path = as_folder(path);
  if (!file || file->extension() != ".gguf" || !given.empty()) return;
  std::vector<fs::path> all;
  if (pulled) {
    all = {*pulled};
  } else {
    all = find_projectors(*file);
  }
  if (all.empty()) return;
  try {
    if (all.size() > 1) {
      fail(ErrorCode::InvalidArgument, "several vision towers are next to {}: name one (--mmproj)",
           file->filename().string());
    }
    choice.path = gguf_folder(*file, all.front()).string();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Cancelled) throw;
    choice.images_error = error;
  }
}

bool is_checkpoint(const fs::path& path) {
  if (find_gguf(path)) return true;
  if (mil::is_package(path) || !fs::is_regular_file(path / "config.json")) return false;
  return std::none_of(fs::directory_iterator(path), fs::directory_iterator(),
                      [](const auto& entry) { return mil::is_package(entry.path()); });
}

// The path to use for a part of a local model.
std::string part_of(const std::string& path, ModelPart part, const std::string& model) {
  if (part == ModelPart::Package && !path.empty() && is_checkpoint(path)) {
    fail(ErrorCode::InvalidArgument,
         "{} is a checkpoint, not a package; `pippin convert` makes a package of it", model);
  }
  return part == ModelPart::Files ? path : as_folder(path, part != ModelPart::Package);
}

// The first pulled file, if it is a GGUF.
std::optional<std::string> gguf_of(const hub::PullResult& pulled, const hub::RepoSpec& spec) {
  if (spec.gguf.empty() && (!pulled.packages.empty() || fs::exists(pulled.folder / "config.json")))
    return std::nullopt;
  std::vector<std::string> paths;
  for (const auto& entry : fs::recursive_directory_iterator(pulled.folder)) {
    paths.push_back(entry.path().lexically_relative(pulled.folder).generic_string());
  }
  const std::vector<std::string> files = hub::choose_gguf(paths, spec.gguf, spec.id);
  return files.empty() ? std::nullopt : std::optional(files.front());
}

std::string local_path(const hub::PullResult& pulled, const hub::RepoSpec& spec) {
  if (!spec.path.empty()) return (pulled.folder / spec.path).string();
  if (const auto gguf = gguf_of(pulled, spec)) return (pulled.folder / *gguf).string();
  if (pulled.packages.size() == 1 && !is_zip(pulled.packages[0]) && !has_meta(pulled)) {
    return (pulled.folder / pulled.packages[0]).string();
  }
  return pulled.folder.string();
}

// The vision tower among the pulled files.
std::optional<fs::path> projector_of(const hub::PullResult& pulled) {
  for (const hub::RepoFile& file : pulled.files) {
    const fs::path path = pulled.folder / file.path;
    if (is_projector_name(path.filename().string())) return path;
  }
  return std::nullopt;
}

// The folder with a tokenizer in the snapshot: its top, or that of the packages.
std::optional<fs::path> text_folder(const hub::PullResult& pulled) {
  std::vector<fs::path> folders = {pulled.folder};
  for (const std::string& package : pulled.packages) {
    folders.push_back((pulled.folder / package).parent_path());
    folders.push_back(pulled.folder / package / "Data" / mil::kTokenizerItem);
  }
  for (const fs::path& folder : folders) {
    const bool has_texts = Tokenizer::is_tokenizer_folder(folder) ||
                           speech::CtcVocabulary::is_in(folder) ||
                           speech::PieceVocabulary::is_in(folder);
    if (has_texts) return folder;
  }
  return std::nullopt;
}

// The model that a package says it was made from; nullopt if the package cannot be read, which is
// reported when it is opened.
std::optional<std::string> maker_of(const fs::path& package) {
  try {
    const mil::Model model = mil::read_package(package);
    const auto& metadata = model.metadata.user_defined;
    const auto found = metadata.find(families::kMadeFromKey);
    if (found != metadata.end()) return found->second;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Cancelled) throw;
  }
  return std::nullopt;
}

// The model that the packages say they were made from.
std::optional<hub::RepoSpec> source_of(const hub::PullResult& pulled) {
  for (const std::string& package : pulled.packages) {
    if (is_zip(package)) continue;
    const auto name = maker_of(pulled.folder / package);
    if (auto spec = hub::parse_repo_spec(name.value_or(""))) return spec;
  }
  return std::nullopt;
}

// Empty if it is in the model's own folder.
std::string tokenizer_of(const hub::PullResult& pulled, const hub::RepoSpec& spec,
                         const std::string& model, const PullObserver& pulls) {
  if (const auto folder = text_folder(pulled)) {
    const std::string place = folder->lexically_relative(model).generic_string();
    return place.starts_with("..") ? folder->string() : std::string();
  }
  hub::PullOptions options;
  options.cached_first = true;
  const auto observer = pulls ? pulls(spec.id, options) : nullptr;
  if (const auto named = pull_named_tokenizer(pulled, hub::read_settings(), options)) {
    return named->folder.string();
  }
  fail(ErrorCode::NotFound,
       "{} has no tokenizer and does not name its source: name one, --tokenizer FOLDER or "
       "--tokenizer org/name",
       spec.id);
}

// A GGML file runs with the encoder next to it, unless another one is named.
void resolve_encoder(const std::string& path, std::string& encoder) {
  if (encoder == kNoEncoder) {
    encoder.clear();
    return;
  }
  const auto file = path.empty() || !encoder.empty() ? std::nullopt : find_gguf(path);
  if (!file || !is_ggml_file(*file)) return;
  encoder = ggml_encoder(*file).string();
  if (!encoder.empty()) log_info("{} runs with the encoder {}", file->string(), encoder);
}

}  // namespace

std::optional<hub::RepoSpec> repository_of(const std::string& model) {
  std::error_code ignored;
  if (model.empty() || fs::exists(model, ignored) || looks_like_file(model)) return std::nullopt;
  return hub::parse_repo_spec(model);
}

std::string resolve_model(const std::string& model, ModelPart part, const PullObserver& pulls) {
  const auto spec = repository_of(model);
  if (!spec) return part_of(model, part, model);
  const auto pulled = pull_for(model, *spec, part, pulls);
  return part_of(part == ModelPart::Tokenizer ? pulled.folder.string() : local_path(pulled, *spec),
                 part, model);
}

std::optional<std::string> find_local_model(const std::string& model) {
  const auto spec = repository_of(model);
  if (!spec) return fs::exists(model) ? std::optional(model) : std::nullopt;
  hub::Settings settings = hub::read_settings();
  settings.offline = true;
  hub::PullOptions options;
  options.cached_first = true;
  options.choose.projector = false;
  try {
    return local_path(hub::pull(*spec, settings, options), *spec);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::NotFound || error.code() == ErrorCode::Network) {
      return std::nullopt;
    }
    throw;
  }
}

ModelChoice resolve_choice(const ModelChoice& choice, bool text) {
  ModelChoice local = choice;
  if (text) local.tokenizer = resolve_model(choice.tokenizer, ModelPart::Tokenizer, choice.pulls);
  const auto spec = repository_of(choice.path);
  if (!spec) {
    resolve_encoder(choice.path, local.load.encoder);
    use_folder(choice.path, std::nullopt, local);
    return local;
  }
  const auto pulled =
      pull_for(choice.path, *spec, ModelPart::All, choice.pulls, choice.load.mmproj.empty());
  const std::string path = local_path(pulled, *spec);
  resolve_encoder(path, local.load.encoder);
  use_folder(path, projector_of(pulled), local);
  if (text && local.tokenizer.empty() && !pulled.packages.empty()) {
    local.tokenizer = tokenizer_of(pulled, *spec, local.path, choice.pulls);
  }
  return local;
}

std::optional<PulledTokenizer> pull_named_tokenizer(const hub::PullResult& pulled,
                                                    const hub::Settings& settings,
                                                    const hub::PullOptions& options) {
  if (pulled.packages.empty() || text_folder(pulled)) return std::nullopt;
  const auto source = source_of(pulled);
  if (!source) return std::nullopt;
  hub::PullOptions only_text = options;
  only_text.choose = {};
  only_text.choose.tokenizer_only = true;
  only_text.local_dir.clear();
  return PulledTokenizer{source->id, hub::pull(*source, settings, only_text).folder};
}

}  // namespace pippin::app
