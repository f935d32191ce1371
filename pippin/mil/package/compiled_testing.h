// For tests only: writes a model in the form of Core ML's compiler.
#pragma once

#include <filesystem>
#include <fstream>

#include "pippin/base/error.h"
#include "pippin/mil/model.h"
#include "pippin/mil/proto/serialize.h"
#include "pippin/mil/text/text.h"

namespace pippin::mil {

inline void put_file(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

inline std::string little_endian(uint64_t number, int bytes) {
  std::string result;
  for (int i = 0; i < bytes; ++i) result += static_cast<char>(number >> (8 * i));
  return result;
}

inline std::string counted(std::string_view text) {
  return little_endian(text.size(), 8) + std::string(text);
}

// The bytes of a coremldata.bin. `target` is "generic" for everything but pipelines.
inline std::string coreml_data(uint32_t kind, uint32_t version, std::string_view description,
                               std::string_view target = "generic") {
  return little_endian(kind, 4) + little_endian(5, 4) + std::string(20, '\0') + counted(target) +
         little_endian(version, 4) + std::string(28, '\0') + counted(description) +
         little_endian(kind, 8) + little_endian(0, 8);
}

// X.mlmodelc of a model whose constants have the places of the package that it was read from:
// `weights` is that package's folder with its weight files. Metadata.json is left out.
inline void write_compiled(const Model& model, const std::filesystem::path& folder,
                           const std::filesystem::path& weights) {
  namespace fs = std::filesystem;
  fs::create_directories(folder);
  const auto version = static_cast<uint32_t>(model.specification_version);
  const std::string description = serialize_description(model);
  if (!model.is_pipeline()) {
    put_file(folder / "model.mil", print(model.program));
    put_file(folder / "coremldata.bin", coreml_data(kMlProgramField, version, description));
    if (fs::exists(weights)) fs::copy(weights, folder / "weights", fs::copy_options::recursive);
    return;
  }
  std::string target, names = little_endian(model.stages.size(), 8);
  for (size_t i = 0; i < model.stages.size(); ++i) {
    target += fmt::format("generic.model{}v9.0.0", i);
    names += counted(model.stages[i].name);
    write_compiled(model.stages[i].model, folder / fmt::format("model{}", i), weights);
  }
  const uint32_t kind = model.kind == ModelKind::Pipeline             ? kPipelineField
                        : model.kind == ModelKind::PipelineClassifier ? kPipelineClassifierField
                                                                      : kPipelineRegressorField;
  put_file(folder / "coremldata.bin", coreml_data(kind, version, description, target + "generic"));
  put_file(folder / "modelNames/coremldata.bin", names);
}

}  // namespace pippin::mil
