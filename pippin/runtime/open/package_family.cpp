#include "pippin/runtime/open/package_family.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/families/coreml_llm.h"
#include "pippin/families/fluidaudio.h"
#include "pippin/families/package.h"
#include "pippin/families/vision.h"
#include "pippin/families/whisperkit.h"
#include "pippin/families/windowed.h"
#include "pippin/io/model_files.h"
#include "pippin/io/yaml.h"
#include "pippin/mil/package/archive.h"
#include "pippin/mil/package/package.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::runtime {
namespace {

namespace fs = std::filesystem;

std::optional<AnemllMeta> load_meta(const fs::path& folder) {
  for (const fs::path& path : files_of_role(folder, FileRole::Family)) {
    constexpr size_t kMaxBytes = size_t{1} << 20;
    const Json json =
        path.extension() == ".json" ? Json::load(path, {.max_bytes = kMaxBytes}) : load_yaml(path);
    if (is_anemll_meta(json)) return read_anemll_meta(json);
  }
  return std::nullopt;
}

// Reads Pippin's own meta.json of a windowed model; other models have none.
int64_t load_positions(const fs::path& folder) {
  const fs::path path = folder / families::windowed::meta::kFile;
  if (!fs::is_regular_file(path)) return 0;
  const Json json = Json::load(path, {.max_bytes = size_t{1} << 20});
  namespace windowed = families::windowed;
  const bool is_ours =
      json.is_object() && json.get_string_or(windowed::meta::kFamily, "") == windowed::kName;
  return is_ours ? std::max<int64_t>(json.get_int_or(windowed::meta::kContext, 0), 0) : 0;
}

// Resolves a path read from a file. Empty if it is outside the folder.
std::optional<fs::path> inside(const fs::path& folder, const std::string& text) {
  const fs::path relative = fs::path(text).lexically_normal();
  if (text.empty() || relative.is_absolute() || *relative.begin() == "..") return std::nullopt;
  return folder / relative;
}

bool looks_like_whisperkit(const PackageFolder& folder) {
  return folder.contains(families::whisperkit::kEncoderPart) ||
         folder.contains(families::whisperkit::kDecoderPart);
}

bool looks_like_fluidaudio(const PackageFolder& folder) {
  namespace fluidaudio = families::fluidaudio;
  const std::vector<std::string> stems = folder.stems();
  const bool has_joint = std::any_of(stems.begin(), stems.end(), [](const std::string& stem) {
    return stem.starts_with(fluidaudio::kJointPart);
  });
  return has_joint && folder.contains(fluidaudio::kPreprocessorPart) &&
         folder.contains(fluidaudio::kDecoderPart);
}

}  // namespace

fs::path FoundPackages::tokenizer_folder() {
  if (fs::is_directory(root) && !mil::is_package(root)) {
    if (meta) {
      const auto named = inside(root, meta->tokenizer_path);
      if (named && Tokenizer::is_tokenizer_folder(*named)) return *named;
    }
    for (const fs::path& place :
         {root, root / "tokenizer", root / families::coreml_llm::kTokenizerFolder}) {
      if (Tokenizer::is_tokenizer_folder(place)) return place;
    }
  }
  std::vector<fs::path> packages;
  if (family == Family::Single) packages.push_back(package);
  if (family == Family::Windowed) packages.push_back(folder->package(windowed.chunks.front()));
  if (family == Family::WhisperKit) {
    packages.push_back(folder->package(families::whisperkit::kDecoderPart));
  }
  if (family == Family::FluidAudio) {
    packages.push_back(folder->package(families::fluidaudio::kDecoderPart));
  }
  if (family == Family::Anemll) {
    packages.push_back(
        folder->package(anemll.embeddings.empty() ? anemll.chunks.front() : anemll.embeddings));
  }
  if (family == Family::CoreMlLlm) {
    packages.push_back(folder->package(coreml_llm.chunks.front()));
  }
  fs::path own = packages.front() / "Data" / mil::kTokenizerItem;
  if (Tokenizer::is_tokenizer_folder(own)) return own;
  std::string source;
  const mil::Model model = mil::read_package(packages.front());
  const auto& metadata = model.metadata.user_defined;
  if (const auto said = metadata.find(families::kMadeFromKey); said != metadata.end()) {
    source = fmt::format(" (it was made from {})", said->second);
  }
  fail(ErrorCode::NotFound, "{} has no tokenizer inside{}; give its folder with --tokenizer",
       root.string(), source);
}

bool names_packages(const fs::path& path) {
  if (mil::is_package(path) || mil::is_archive(path)) return true;
  if (!fs::is_directory(path)) return false;
  if (is_coreml_llm(path)) return true;
  const bool is_checkpoint = fs::exists(path / "config.json") && has_weights(path);
  return !PackageFolder(path).stems().empty() && !is_checkpoint;
}

FoundPackages find_packages(const fs::path& path) {
  FoundPackages found;
  found.root = path;
  if (mil::is_package(path) && !mil::is_archive(path)) {
    found.package = path;
    return found;
  }
  if (is_coreml_llm(path)) {
    found.family = FoundPackages::Family::CoreMlLlm;
    found.coreml_llm = find_coreml_llm_files(path);
    found.folder.emplace(found.coreml_llm.chunk_folder);
    return found;
  }
  found.folder.emplace(path);
  const auto stems = found.folder->stems();
  if (fs::is_directory(path)) found.meta = load_meta(path);
  const bool is_anemll = found.meta.has_value();
  if (stems.empty()) {
    fail(ErrorCode::NotFound, "{}: holds no package (.mlpackage, .mlmodelc or a .zip)",
         path.string());
  }
  if (!is_anemll && looks_like_windowed(*found.folder)) {
    found.family = FoundPackages::Family::Windowed;
    found.windowed = find_windowed_files(*found.folder);
    found.windowed.positions = load_positions(path);
  } else if (is_anemll || looks_like_anemll(*found.folder)) {
    found.family = FoundPackages::Family::Anemll;
    found.anemll = find_anemll_files(*found.folder, found.meta ? &*found.meta : nullptr);
  } else if (looks_like_whisperkit(*found.folder)) {
    found.family = FoundPackages::Family::WhisperKit;
  } else if (looks_like_fluidaudio(*found.folder)) {
    found.family = FoundPackages::Family::FluidAudio;
  } else if (stems.size() == 2 && found.folder->contains(families::vision::kPart)) {
    const bool is_first = stems.front() == families::vision::kPart;
    found.package = found.folder->package(is_first ? stems.back() : stems.front());
    found.vision = found.folder->package(families::vision::kPart);
  } else if (stems.size() > 1) {
    fail(ErrorCode::InvalidArgument, "{}: holds several models: '{}' and '{}'; name one of them",
         path.string(), found.folder->file_name(stems[0]), found.folder->file_name(stems[1]));
  } else {
    found.package = found.folder->package(stems.front());
  }
  return found;
}

}  // namespace pippin::runtime
