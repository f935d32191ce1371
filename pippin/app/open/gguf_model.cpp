#include "pippin/app/open/gguf_model.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/app/open/ggml_model.h"
#include "pippin/base/error.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/files/temporary_folder.h"
#include "pippin/base/threads/fork.h"
#include "pippin/io/ggml.h"
#include "pippin/io/gguf_metadata.h"
#include "pippin/io/model_files.h"
#include "pippin/models/gguf/gguf.h"
#include "pippin/models/gguf/gguf_projector.h"
#include "pippin/models/vision/vision_model.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".gguf", kOf = "-of-", kGgmlBegin = "ggml-";

bool is_model_file(const fs::path& file) {
  return file.extension() == kEnding || is_ggml_file(file);
}

// "model-00002-of-00003.gguf": a part of "model".
std::string stem_of(const fs::path& file) {
  std::string stem = file.stem().string();
  const size_t of = stem.rfind(kOf);
  const size_t dash = of == stem.npos || of == 0 ? stem.npos : stem.rfind('-', of - 1);
  if (dash == stem.npos) return stem;
  const std::string_view part = std::string_view(stem).substr(dash + 1, of - dash - 1);
  const std::string_view parts = std::string_view(stem).substr(of + kOf.size());
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  };
  return is_number(part) && is_number(parts) ? stem.substr(0, dash) : stem;
}

void write_text(const fs::path& path, std::string_view text) {
  FileWriter writer(path);
  writer.write(std::as_bytes(std::span(text.data(), text.size())));
  writer.close();
}

struct Unpacked {
  TemporaryFolder folder{"gguf"};
  fs::path path;
  bool has_tokenizer = false;
};

// The metadata of the first part, with the tensors of all.
struct Whole {
  explicit Whole(const std::vector<fs::path>& paths) : name(paths.front().filename().string()) {
    for (const fs::path& path : paths) {
      mapped.push_back(MappedFile::open(path));
      GgufContent part = parse_gguf(mapped.back()->bytes(), path.filename().string());
      check_part(part, path.filename().string(), paths.size());
      if (mapped.size() == 1) {
        content = std::move(part);
      } else {
        std::move(part.tensors.begin(), part.tensors.end(), std::back_inserter(content.tensors));
      }
    }
    const GgufMetadata metadata(content, name);
    const auto tensors = metadata.size("split.tensors.count");
    if (tensors && *tensors != std::ssize(content.tensors)) {
      metadata.invalid("split.tensors.count", fmt::format("{}, but the files have {} tensors",
                                                          *tensors, content.tensors.size()));
    }
  }

  // Which part it is, and of how many.
  void check_part(const GgufContent& part, const std::string& file, size_t files) const {
    const GgufMetadata metadata(part, file);
    const auto count = metadata.size("split.count"), number = metadata.size("split.no");
    if (count.value_or(0) > 1 && *count != static_cast<int64_t>(files)) {
      metadata.invalid("split.count",
                       fmt::format("{}, but the folder has {} files of the model", *count, files));
    }
    const auto place = static_cast<int64_t>(mapped.size()) - 1;
    if (number && count.value_or(0) > 1 && *number != place) {
      metadata.invalid("split.no",
                       fmt::format("{}, but the file is number {} of its names", *number, place));
    }
  }

  std::string name;
  std::vector<std::shared_ptr<const MappedFile>> mapped;
  GgufContent content;
};

// With the tokenizer: it is in no other form in the file.
std::unique_ptr<Unpacked> unpack_ggml(const fs::path& file) {
  const auto mapped = MappedFile::open(file);
  const std::string name = file.filename().string();
  const GgmlContent content = parse_ggml(mapped->bytes(), name);
  auto unpacked = std::make_unique<Unpacked>();
  unpacked->path = unpacked->folder.path() / file.stem();
  unpacked->has_tokenizer = true;
  fs::create_directory(unpacked->path);
  for (const TextFile& text : ggml_files(content, name)) {
    write_text(unpacked->path / text.name, text.text);
  }
  // A name by which io/model_files.h knows it.
  const bool is_usual = name.starts_with(kGgmlBegin);
  fs::create_symlink(fs::absolute(file),
                     unpacked->path / (is_usual ? name : fmt::format("{}{}", kGgmlBegin, name)));
  return unpacked;
}

// The name of a link to a file of weights, which is not that of a complete checkpoint.
std::string link_name(const fs::path& file, bool is_projector) {
  const std::string name = file.filename().string();
  if (is_projector && !is_projector_name(name)) return fmt::format("mmproj-{}", name);
  return name == "model.gguf" ? "language-model.gguf" : name;
}

// Replaces config.json, and adds the tower with its processor.
void add_projector(const Unpacked& unpacked, const Whole& language, const fs::path& projector) {
  const auto mapped = MappedFile::open(projector);
  const std::string name = projector.filename().string();
  const GgufContent tower = parse_gguf(mapped->bytes(), name);
  const models::GgufVisionConfig made = models::gguf_vision_config(
      {language.content, language.name}, models::gguf_config(language.content, language.name),
      {tower, name});
  write_text(unpacked.path / "config.json", made.config);
  write_text(unpacked.path / "processor_config.json", made.processor);
  with_context(name, [&] { models::vision_passes(unpacked.path); });
  fs::create_symlink(fs::absolute(projector), unpacked.path / link_name(projector, true));
}

std::unique_ptr<Unpacked> unpack(const fs::path& file, const fs::path& projector) {
  if (file.extension() != kEnding) return unpack_ggml(file);
  const std::vector<fs::path> parts = gguf_parts(fs::absolute(file));
  const Whole first(parts);
  const GgufContent& content = first.content;
  const std::string& name = first.name;
  auto unpacked = std::make_unique<Unpacked>();
  unpacked->path = unpacked->folder.path() / stem_of(file);
  fs::create_directory(unpacked->path);
  write_text(unpacked->path / "config.json", models::gguf_config(content, name));
  for (const auto& files :
       {tokenizers::gguf_settings_files(content, name), gguf_sentence_files(content, name)}) {
    for (const TextFile& text : files) {
      const fs::path path = unpacked->path / text.name;
      fs::create_directories(path.parent_path());
      write_text(path, text.text);
    }
  }
  if (!projector.empty()) add_projector(*unpacked, first, projector);
  for (const fs::path& part : parts) {
    fs::create_symlink(part, unpacked->path / (projector.empty() ? part.filename().string()
                                                                 : link_name(part, false)));
  }
  return unpacked;
}

void add_tokenizer(Unpacked& unpacked, const fs::path& file) {
  if (unpacked.has_tokenizer) return;
  const Whole first(gguf_parts(fs::absolute(file)));
  const TextFile text = tokenizers::gguf_tokenizer_file(first.content, first.name);
  write_text(unpacked.path / text.name, text.text);
  unpacked.has_tokenizer = true;
}

// Changes with the file.
std::string key_of(const fs::path& file) {
  const fs::path path = fs::canonical(file);
  return fmt::format("{} {} {}", path.string(), fs::file_size(path),
                     fs::last_write_time(path).time_since_epoch().count());
}

fs::path folder_of(const fs::path& file, const fs::path& projector, bool with_tokenizer) {
  static ForkMutex mutex;
  static std::map<std::string, std::unique_ptr<Unpacked>> known;
  std::string key = key_of(file);
  if (!projector.empty()) key += "\n" + key_of(projector);
  const std::lock_guard lock(mutex);
  auto& unpacked = known[key];
  if (unpacked == nullptr) unpacked = unpack(file, projector);
  if (with_tokenizer) add_tokenizer(*unpacked, file);
  return unpacked->path;
}

}  // namespace

std::optional<fs::path> find_gguf(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) {
    return is_model_file(path) ? std::optional(path) : std::nullopt;
  }
  if (!fs::is_directory(path, ignored)) return std::nullopt;
  std::map<std::string, fs::path> models;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool is_model = is_model_file(entry.path());
    if (is_projector_name(name)) continue;
    const bool other =
        std::any_of(kWeightFiles.begin(), kWeightFiles.end(),
                    [&](const WeightFiles& form) { return !is_model && fits_weights(form, name); });
    if (other || name.ends_with(".mlpackage")) return std::nullopt;
    if (!is_model) continue;
    const auto [known, added] = models.emplace(stem_of(entry.path()), entry.path());
    if (!added) known->second = std::min(known->second, entry.path());
  }
  if (models.size() > 1) {
    std::vector<std::string> names;
    names.reserve(models.size());
    for (const auto& [stem, file] : models) names.push_back(file.filename().string());
    fail(ErrorCode::InvalidArgument, "{}: several models: name one of {}", path.string(),
         fmt::join(names, ", "));
  }
  return models.empty() ? std::nullopt : std::optional(models.begin()->second);
}

std::vector<fs::path> find_projectors(const fs::path& file) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::absolute(file).parent_path(), ignored)) {
    const bool is_one = is_projector_name(entry.path().filename().string());
    if (is_one && entry.path().filename() != file.filename()) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<fs::path> gguf_parts(const fs::path& file) {
  const std::string stem = stem_of(file);
  if (stem == file.stem().string()) return {file};
  std::vector<fs::path> parts;
  for (const auto& entry : fs::directory_iterator(file.parent_path())) {
    if (entry.path().extension() == kEnding && stem_of(entry.path()) == stem &&
        entry.path().stem() != stem) {
      parts.push_back(entry.path());
    }
  }
  std::sort(parts.begin(), parts.end());
  return parts;
}

fs::path gguf_folder(const fs::path& file, const fs::path& projector) {
  return folder_of(file, projector, false);
}

fs::path gguf_folder_with_tokenizer(const fs::path& file, const fs::path& projector) {
  return folder_of(file, projector, true);
}

}  // namespace pippin::app
