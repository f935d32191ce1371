#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/base/stand_in.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/archive.h"
#include "pippin/mil/package/files.h"
#include "pippin/mil/package/manifest.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/package/weights.h"
#include "pippin/mil/proto/serialize.h"

namespace pippin::mil {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCoreMlFolder = "com.apple.CoreML";
constexpr size_t kMaxExtraBytes = size_t{1} << 30;

// The model file named by the manifest.
fs::path find_model(const fs::path& package, const std::vector<fs::path>& roots) {
  const Manifest manifest = load_manifest(package);
  if (manifest.root.empty()) fail(ErrorCode::InvalidFile, "Manifest.json: no rootModelIdentifier");
  fs::path model;
  for (const ManifestItem& item : manifest.items) {
    // An absent item is not an error: graphs are shared without their weights.
    const fs::path path = inside(package / "Data", item.path, roots,
                                 fmt::format("Manifest.json: item {}", item.identifier));
    if (item.identifier == manifest.root) model = path;
  }
  if (!fs::is_regular_file(model)) {
    fail(ErrorCode::NotFound, "{}, which Manifest.json names, does not exist",
         model.lexically_relative(package).string());
  }
  return model;
}

// Attaches weights to the programs of a model and its stages.
void attach_weights(Model& model, WeightFiles& weights) {
  weights.attach(model.program);
  for (size_t i = 0; i < model.stages.size(); ++i) {
    with_context(stage_name(model, i), [&] { attach_weights(model.stages[i].model, weights); });
  }
}

void verify_programs(const Model& model) {
  if (model.has_program()) verify(model.program);
  for (size_t i = 0; i < model.stages.size(); ++i) {
    with_context(stage_name(model, i), [&] { verify_programs(model.stages[i].model); });
  }
}

// Completes a model whose protobuf in `file` is parsed.
Model complete_model(Model model, const fs::path& file, const std::vector<fs::path>& roots) {
  const fs::path folder = fs::absolute(file).parent_path();
  WeightFiles weights(folder, folder, roots);
  attach_weights(model, weights);
  verify_programs(model);
  check_description(model);
  return model;
}

Model read_files(const fs::path& path) {
  if (!fs::is_directory(path)) {
    const fs::path folder = fs::absolute(path).parent_path();
    if (path.extension() == ".mil") return read_program_text(path, allowed_roots(folder));
    const auto file = MappedFile::open(path);
    return complete_model(parse_model(file->bytes(), file), path, allowed_roots(folder));
  }
  const auto roots = allowed_roots(path);
  if (fs::is_regular_file(path / "Manifest.json")) {
    const fs::path file = find_model(path, roots);
    const auto bytes = MappedFile::open(file);
    Model model =
        with_context(file.filename().string(), [&] { return parse_model(bytes->bytes(), bytes); });
    return complete_model(std::move(model), file, roots);
  }
  if (!is_package(path)) {
    fail(ErrorCode::NotFound,
         "no Manifest.json and no coremldata.bin in it; neither a model package nor a compiled "
         "model");
  }
  return read_compiled(path, path, roots);
}

// The files of an item of the manifest, sorted by name.
void collect_extra_files(const fs::path& data, const fs::path& item,
                         const std::vector<fs::path>& roots, std::vector<ExtraFile>& files) {
  const fs::path path = inside(data, item.string(), roots, "Manifest.json");
  std::vector<fs::path> found;
  if (fs::is_regular_file(path)) found.push_back(path);
  if (fs::is_directory(path)) {
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  for (const fs::path& file : found) {
    const fs::path relative = file.lexically_relative(data);
    inside(data, relative.string(), roots, "Manifest.json");
    const fs::path folder = *relative.begin();
    const fs::path name = relative == folder ? fs::path() : relative.lexically_relative(folder);
    // The package's other files may be anything, including web pages.
    std::string content = read_file(file, kMaxExtraBytes, StandIns::Allow);
    refuse_lfs_pointer(as_byte_span(content), file);
    files.push_back({folder.string(), name.string(), std::move(content)});
  }
}

}  // namespace

std::vector<fs::path> allowed_roots(const fs::path& package) {
  std::vector<fs::path> roots = {fs::canonical(package)};
  fs::path folder = fs::absolute(package).lexically_normal();
  while (folder.has_relative_path()) {
    const bool snapshots = folder.filename() == "snapshots";
    folder = folder.parent_path();
    if (snapshots && fs::is_directory(folder / "blobs")) {
      roots.push_back(fs::canonical(folder / "blobs"));
    }
  }
  return roots;
}

bool is_package(const fs::path& path) {
  if (!fs::is_directory(path)) {
    const bool is_named = path.extension() == ".mlmodel" || path.extension() == ".mil" ||
                          is_archived_package_name(path);
    return is_named && fs::is_regular_file(path);
  }
  return fs::exists(path / "Manifest.json") || fs::exists(path / "model.mil") ||
         fs::exists(path / "coremldata.bin") || path.extension() == ".mlmodelc";
}

Model read_package(const fs::path& path) {
  std::error_code error;
  if (fs::status(path, error).type() == fs::file_type::not_found) {
    fail(ErrorCode::NotFound, "{}: no such package", path.string());
  }
  if (is_archive(path)) {
    // Weights are mapped, so the folder may be removed.
    Model model = read_package(UnpackedArchive(path).package());
    model.path = path;
    return model;
  }
  return with_package(path, [&] {
    Model model = read_files(path);
    model.path = path;
    return model;
  });
}

std::vector<ExtraFile> read_extra_files(const fs::path& package) {
  if (is_archive(package)) return read_extra_files(UnpackedArchive(package).package());
  if (!fs::is_regular_file(package / "Manifest.json")) return {};
  return with_package(package, [&] {
    std::vector<ExtraFile> files;
    const auto roots = allowed_roots(package);
    const Manifest manifest = load_manifest(package);
    for (const ManifestItem& item : manifest.items) {
      if (item.identifier == manifest.root) continue;
      // Only items in their own folders; the model's folder also holds its weights.
      const fs::path normal = fs::path(item.path).lexically_normal();
      if (normal.empty() || *normal.begin() == kCoreMlFolder) continue;
      collect_extra_files(package / "Data", normal, roots, files);
    }
    return files;
  });
}

}  // namespace pippin::mil
