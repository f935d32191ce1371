#include <algorithm>
#include <string_view>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/files.h"
#include "pippin/mil/package/manifest.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/package/package_size.h"
#include "pippin/mil/package/weight_writer.h"
#include "pippin/mil/proto/serialize.h"

namespace pippin::mil {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModelItem = "com.apple.CoreML";

void add_item(Manifest& manifest, std::string path, std::string name, std::string author,
              std::string description) {
  std::string identifier = manifest_identifier(path);
  manifest.items.push_back({std::move(identifier), std::move(path), std::move(name),
                            std::move(author), std::move(description)});
}

void check_extra_files(const std::vector<ExtraFile>& files) {
  constexpr std::string_view kWhat = "an extra file";
  for (const ExtraFile& file : files) {
    check_file_name(file.item, kWhat);
    for (const fs::path& part : fs::path(file.name)) check_file_name(part.string(), kWhat);
    if (file.item == kModelItem) {
      fail(ErrorCode::InvalidArgument, "extra files cannot lie in {}", kModelItem);
    }
  }
}

Manifest manifest_of(bool has_weights, const std::vector<ExtraFile>& files) {
  Manifest manifest;
  add_item(manifest, "com.apple.CoreML/model.mlmodel", "model.mlmodel", std::string(kModelItem),
           "CoreML Model Specification");
  manifest.root = manifest.items.front().identifier;
  if (has_weights) {
    add_item(manifest, "com.apple.CoreML/weights", "weights", std::string(kModelItem),
             "CoreML Model Weights");
  }
  for (const ExtraFile& file : files) {
    const bool listed = std::any_of(manifest.items.begin(), manifest.items.end(),
                                    [&](const auto& item) { return item.path == file.item; });
    if (!listed) add_item(manifest, file.item, file.item, "pippin", "Files next to the model");
  }
  return manifest;
}

void check_model(const Model& model) {
  for (size_t i = 0; i < model.stages.size(); ++i) {
    with_context(stage_name(model, i), [&] { check_model(model.stages[i].model); });
  }
  if (model.is_pipeline() || model.is_translated()) return;
  for (const auto& [name, function] : model.program.functions) {
    const int needed = specification_version(function->opset_version());
    if (model.specification_version < needed) {
      fail(ErrorCode::InvalidArgument,
           "function '{}' of opset {} needs specification version {}, the model says {}", name,
           function->opset, needed, model.specification_version);
    }
  }
  verify(model.program);
}

void write_files(const Model& model, const fs::path& root, const WriteOptions& options) {
  const fs::path data = root / "Data";
  const fs::path folder = data / kModelItem;
  fs::create_directories(folder);
  WeightWriter weights(model, options.progress);
  weights.write(folder / "weights");
  check_cancel();
  write_whole(folder / "model.mlmodel",
              serialize_model(model, [&](const Value& value) { return weights.find(value); }));
  check_extra_files(options.extra_files);
  for (const ExtraFile& file : options.extra_files) {
    write_whole(file.name.empty() ? data / file.item : data / file.item / file.name, file.content);
  }
  const Manifest manifest = manifest_of(fs::exists(folder / "weights"), options.extra_files);
  write_whole(root / "Manifest.json", print_manifest(manifest));
}

}  // namespace

void write_whole(const fs::path& path, std::string_view content) {
  fs::create_directories(path.parent_path());
  FileWriter writer(path);
  writer.write(content);
  writer.close();
}

uint64_t weight_file_bytes(const Model& model) {
  return WeightWriter(model).total();
}

uint64_t package_bytes(const Model& model, const std::vector<ExtraFile>& extra_files) {
  WeightWriter weights(model);
  uint64_t total = weights.lay_out();
  const Manifest manifest = manifest_of(total > 0, extra_files);
  total += serialize_model(model, [&](const Value& value) { return weights.find(value); }).size();
  total += print_manifest(manifest).size();
  for (const ExtraFile& file : extra_files) total += file.content.size();
  return total;
}

void write_package(const Model& model, const fs::path& path, const WriteOptions& options) {
  const fs::path target = path.has_filename() ? path : path.parent_path();
  if (target.extension() != ".mlpackage") {
    fail(ErrorCode::InvalidArgument, "{}: a package's name must end in .mlpackage", path.string());
  }
  check_model(model);
  PendingOutput output(target);
  try {
    write_files(model, output.path(), options);
  } catch (const fs::filesystem_error& error) {
    fail(ErrorCode::Io, "{}", error.what());
  }
  output.commit();
}

}  // namespace pippin::mil
