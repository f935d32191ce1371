#include "pippin/hub/choose.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/families/fluidaudio.h"
#include "pippin/families/whisperkit.h"
#include "pippin/hub/gguf_files.h"
#include "pippin/hub/glob.h"
#include "pippin/hub/repository_paths.h"
#include "pippin/io/model_files.h"

namespace pippin::hub {
namespace {

constexpr std::array kPackageEndings = {".mlmodelc", ".mlpackage", ".mlmodelc.zip",
                                        ".mlpackage.zip", ".mlmodel"};  // best first

// Returns whether a file is needed for text, at the top of the repository or in `folder`.
bool is_text_file(std::string_view path, std::string_view folder) {
  if (find_model_file(path) != nullptr) return true;
  const std::string_view own = folder_of(path);
  // The tokens of FluidAudio's packages.
  if (name_of(path) == families::fluidaudio::kVocabularyFile) return own.empty() || own == folder;
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/' &&
         find_model_file(path.substr(folder.size() + 1)) != nullptr;
}

// Returns the path of the package that contains a file; nothing if none exists.
std::optional<std::string_view> package_of(std::string_view path) {
  for (size_t end = path.find('/');; end = path.find('/', end + 1)) {
    const std::string_view part = path.substr(0, end);
    const bool is_folder = end != std::string_view::npos;
    for (const std::string_view ending : kPackageEndings) {
      // The first two endings are of folders, the others of files.
      const bool of_folder = ending == ".mlmodelc" || ending == ".mlpackage";
      if (is_folder == of_folder && part.ends_with(ending) && part.size() > ending.size()) {
        return part;
      }
    }
    if (!is_folder) return std::nullopt;
  }
}

size_t ending_rank(std::string_view package) {
  for (size_t i = 0; i < kPackageEndings.size(); ++i) {
    if (package.ends_with(kPackageEndings[i])) return i;
  }
  return kPackageEndings.size();
}

std::string_view stem_of(std::string_view package) {
  const size_t rank = ending_rank(package);
  if (rank < kPackageEndings.size()) {
    package.remove_suffix(std::string_view(kPackageEndings[rank]).size());
  }
  return package;
}

// whisper.cpp's Core ML form of an encoder, which a GGML file has next to it.
bool is_encoder_of_ggml(std::string_view package) {
  const std::string_view name = stem_of(name_of(package));
  return name.starts_with("ggml-") && name.ends_with("-encoder");
}

// package -> bytes
using Packages = std::map<std::string, uint64_t>;

Packages packages_of(const std::vector<RepoFile>& files) {
  Packages packages;
  for (const RepoFile& file : files) {
    if (const auto package = package_of(file.path)) {
      packages[std::string(*package)] += file.size;
    }
  }
  // Packages at the top take precedence over nested ones.
  const auto nested = [](const auto& item) { return item.first.find('/') != std::string::npos; };
  if (!std::all_of(packages.begin(), packages.end(), nested)) std::erase_if(packages, nested);
  // If a model has several forms, choose the one that needs the least work.
  std::map<std::string, size_t, std::less<>> best;
  for (const auto& [package, bytes] : packages) {
    const auto [item, first] = best.emplace(stem_of(package), ending_rank(package));
    if (!first) item->second = std::min(item->second, ending_rank(package));
  }
  std::erase_if(packages, [&](const auto& item) {
    return ending_rank(item.first) != best.find(stem_of(item.first))->second;
  });
  return packages;
}

// "<prefix>_chunk3", "..._chunk_03of08": one part of a model.
bool is_part(std::string_view package) {
  std::string name(stem_of(name_of(package)));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.find("_chunk") != std::string::npos;
}

bool has_file(const std::vector<RepoFile>& files, std::string_view path) {
  return std::any_of(files.begin(), files.end(),
                     [&](const RepoFile& file) { return file.path == path; });
}

bool says_how_packages_fit(const std::vector<RepoFile>& files, std::string_view folder) {
  return std::any_of(files.begin(), files.end(), [&](const RepoFile& file) {
    const ModelFile* row = find_model_file(name_of(file.path));
    return row != nullptr && row->role == FileRole::Family && folder_of(file.path) == folder;
  });
}

// Families whose packages have fixed names, perhaps with endings: Encoder, Encoder_v2.
constexpr std::array<std::string_view, 4> kFluidAudioParts = {
    families::fluidaudio::kPreprocessorPart, families::fluidaudio::kEncoderPart,
    families::fluidaudio::kDecoderPart, families::fluidaudio::kJointPart};
constexpr std::array<std::string_view, 2> kWhisperKitParts = {families::whisperkit::kEncoderPart,
                                                              families::whisperkit::kDecoderPart};
constexpr std::array<std::string_view, 1> kWhisperKitOptional = {families::whisperkit::kMelPart};
struct NamedParts {
  std::span<const std::string_view> needed, optional;
};
constexpr NamedParts kNamedParts[] = {{kFluidAudioParts, {}},
                                      {kWhisperKitParts, kWhisperKitOptional}};

// The package of a part: that of its name, or the only one whose name begins with it.
std::optional<std::string> package_of_part(const Packages& packages, std::string_view part) {
  std::vector<std::string> same, longer;
  for (const auto& [package, bytes] : packages) {
    const std::string_view name = stem_of(name_of(package));
    if (name == part) {
      same.push_back(package);
    } else if (name.starts_with(part)) {
      longer.push_back(package);
    }
  }
  if (same.size() == 1) return same.front();
  if (!same.empty() || longer.size() != 1) return std::nullopt;
  return longer.front();
}

// The parts of the family of which all are there; nothing if a part is missing or occurs twice.
std::optional<Packages> named_parts(const Packages& packages) {
  for (const NamedParts& family : kNamedParts) {
    Packages parts;
    const auto add = [&](std::string_view part) {
      if (const auto package = package_of_part(packages, part)) {
        parts[*package] = packages.at(*package);
      }
    };
    std::for_each(family.needed.begin(), family.needed.end(), add);
    if (parts.size() < family.needed.size()) continue;
    std::for_each(family.optional.begin(), family.optional.end(), add);
    return parts;
  }
  return std::nullopt;
}

// Accepts one model in parts, or one package; otherwise asks the user to choose.
void check_one_model(const std::vector<RepoFile>& files, const Packages& packages,
                     std::string_view repo) {
  if (packages.size() == 1 || named_parts(packages)) return;
  for (const auto& [package, bytes] : packages) {
    const std::string_view folder = folder_of(package);
    if (is_part(package) || says_how_packages_fit(files, folder)) return;
  }
  std::string list;
  for (const auto& [package, bytes] : packages) {
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", package, format_bytes(bytes));
    if (list.size() > 2000) break;
  }
  fail(ErrorCode::InvalidArgument, "{} has {} packages: {}; name one, like {}/{}", repo,
       packages.size(), list, repo, packages.begin()->first);
}

bool is_left_out(const RepoFile& file, const ChooseOptions& options) {
  return any_glob_matches(options.exclude, file.path);
}

// The weights of a checkpoint at the top: file names, or an index of them.
struct Weights {
  std::vector<std::string> files;
  std::string index;
  bool any() const { return !files.empty() || !index.empty(); }
};

Weights find_weights(const std::vector<RepoFile>& files) {
  for (const WeightFiles& form : kWeightFiles) {
    // A repository has several sizes of them.
    if (form.pattern == "*.gguf" || form.pattern == "ggml-*.bin") continue;
    // A single file next to an index is also the whole model; the index may be a leftover.
    if (has_file(files, form.single)) return {{std::string(form.single)}, ""};
    if (has_file(files, form.index)) return {{}, std::string(form.index)};
    Weights weights;
    for (const RepoFile& file : files) {
      if (folder_of(file.path).empty() && fits_weights(form, file.path)) {
        weights.files.push_back(file.path);
      }
    }
    if (weights.any()) return weights;
  }
  return {};
}

std::string kinds_of(const std::vector<RepoFile>& files) {
  std::map<std::string, int> kinds;
  for (const RepoFile& file : files) {
    const std::string_view name = name_of(file.path);
    const size_t dot = name.rfind('.');
    if (dot != std::string_view::npos && dot > 0) ++kinds[std::string(name.substr(dot))];
  }
  std::string text;
  for (const auto& [kind, count] : kinds) {
    if (text.size() < 200) text += fmt::format("{}{}", text.empty() ? "" : ", ", kind);
  }
  return text.empty() ? "no files" : text;
}

class Chooser {
 public:
  Chooser(const std::vector<RepoFile>& files, const ChooseOptions& options, std::string_view repo)
      : files_(files), options_(options), repo_(repo) {}

  Choice choose() {
    if (!options_.include.empty()) return choose_included();
    if (options_.tokenizer_only) return choose_text(options_.path);
    if (!options_.path.empty()) return choose_path();
    if (!options_.gguf.empty()) return choose_gguf_files();
    Packages packages = packages_of(files_);
    if (auto parts = named_parts(packages)) packages = std::move(*parts);
    std::erase_if(packages, [](const auto& item) { return is_encoder_of_ggml(item.first); });
    const bool at_top = !packages.empty() && packages.begin()->first.find('/') == std::string::npos;
    Weights weights = find_weights(files_);
    if (at_top || (!packages.empty() && !weights.any())) return choose_packages(packages);
    if (!weights.any()) {
      if (Choice choice = choose_gguf_files(); !choice.files.empty()) return choice;
      fail(ErrorCode::NotFound,
           "{}: neither Core ML packages nor weights in safetensors, .bin or .gguf files (it has "
           "{})",
           repo_, kinds_of(files_));
    }
    return choose_checkpoint(weights);
  }

 private:
  template <typename Wanted>
  Choice pick(Wanted wanted) const {
    Choice choice;
    for (const RepoFile& file : files_) {
      if (wanted(file) && !is_left_out(file, options_)) choice.files.push_back(file);
    }
    return choice;
  }

  Choice choose_included() const {
    Choice choice = pick([&](const RepoFile& file) {
      return any_glob_matches(options_.include, file.path) &&
             (options_.path.empty() || inside(file.path, options_.path));
    });
    if (choice.files.empty()) {
      fail(ErrorCode::NotFound, "{}: no file of its {} fits {}", repo_, files_.size(),
           fmt::to_string(fmt::join(options_.include, ", ")));
    }
    return with_packages(std::move(choice));
  }

  Choice choose_text(std::string_view folder) const {
    Choice choice = pick([&](const RepoFile& file) { return is_text_file(file.path, folder); });
    if (choice.files.empty()) {
      fail(ErrorCode::NotFound, "{}: no tokenizer (it has {})", repo_, kinds_of(files_));
    }
    return choice;
  }

  Choice choose_path() const {
    const std::string_view folder = folder_of(options_.path);
    bool found = false;
    Choice choice = pick([&](const RepoFile& file) {
      const bool wanted = file.path == options_.path || inside(file.path, options_.path);
      found = found || wanted;
      return wanted || is_text_file(file.path, folder);
    });
    if (!found) {
      fail(ErrorCode::NotFound, "{} has no {} (it has {})", repo_, options_.path, kinds_of(files_));
    }
    if (package_of(options_.path + "/") == options_.path || package_of(options_.path)) {
      choice.packages = {options_.path};
    }
    return choice;
  }

  Choice choose_packages(const Packages& packages) const {
    check_one_model(files_, packages, repo_);
    const std::string folder(folder_of(packages.begin()->first));
    Choice choice = pick([&](const RepoFile& file) {
      const auto package = package_of(file.path);
      return (package && packages.contains(std::string(*package))) ||
             is_text_file(file.path, folder);
    });
    for (const auto& [package, bytes] : packages) choice.packages.push_back(package);
    return choice;
  }

  Choice choose_checkpoint(const Weights& weights) const {
    Choice choice = pick([&](const RepoFile& file) {
      return is_text_file(file.path, "") || file.path == weights.index ||
             std::find(weights.files.begin(), weights.files.end(), file.path) !=
                 weights.files.end();
    });
    choice.index = weights.index;
    return choice;
  }

  Choice choose_gguf_files() const {
    std::vector<std::string> paths;
    for (const RepoFile& file : files_) {
      if (!is_left_out(file, options_)) paths.push_back(file.path);
    }
    std::vector<std::string> chosen = choose_gguf(paths, options_.gguf, repo_);
    if (options_.projector && !chosen.empty()) {
      if (auto projector = choose_projector(paths, chosen.front())) {
        chosen.push_back(std::move(*projector));
      }
    }
    return pick([&](const RepoFile& file) {
      return std::find(chosen.begin(), chosen.end(), file.path) != chosen.end();
    });
  }

  static Choice with_packages(Choice choice) {
    for (const auto& [package, bytes] : packages_of(choice.files)) {
      choice.packages.push_back(package);
    }
    return choice;
  }

  static bool inside(std::string_view path, std::string_view folder) {
    return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
  }

  const std::vector<RepoFile>& files_;
  const ChooseOptions& options_;
  std::string_view repo_;
};

}  // namespace

Choice choose_files(const std::vector<RepoFile>& files, const ChooseOptions& options,
                    std::string_view repo) {
  return Chooser(files, options, repo).choose();
}

std::vector<RepoFile> choose_shards(const std::vector<RepoFile>& files, const Json& index,
                                    const ChooseOptions& options) {
  std::map<std::string_view, const RepoFile*> by_path;
  for (const RepoFile& file : files) by_path[file.path] = &file;
  std::vector<RepoFile> shards;
  for (const std::string& name : parse_shards(index)) {
    const auto found = by_path.find(name);
    if (found == by_path.end()) {
      fail(ErrorCode::NotFound, "{}: it names {}, which is not in the repository", index.where(),
           name);
    }
    if (!is_left_out(*found->second, options)) shards.push_back(*found->second);
  }
  return shards;
}

}  // namespace pippin::hub
