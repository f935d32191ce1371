// A Core ML model on disk.
//
// read_package opens X.mlpackage (Manifest.json, Data/com.apple.CoreML/model.mlmodel,
// weights/*.bin), X.mlmodelc (a compiled model: model.mil, weights, coremldata.bin), a bare
// X.mlmodel, the text of a program (model.mil), or any of them in an archive (archive.h). The
// resulting Programs are verified; their large constants are read from the mapped weight files on
// first use. write_package streams a Model into a new package next to its destination and renames
// it; write_compiled writes an .mlmodelc in the same way. Facts: docs/format.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/mil/model.h"

namespace pippin::mil {

// Reads an .mlpackage, an .mlmodelc, an .mlmodel or a .mil, or an archive of one, whatever its
// name. Throws InvalidFile, NotFound, or Unsupported (a model or a stage of an unknown kind, with
// its number and version; a layer that only an app can compute). An absent weight file is an error
// only when a weight is used.
Model read_package(const std::filesystem::path& path);
// Whether `path` has the name or the files of something that read_package accepts, whatever its
// content.
bool is_package(const std::filesystem::path& path);

// An additional file of the package: Data/huggingface/tokenizer.json and the like. `item` is the
// folder under Data/ (listed in the manifest), `name` the file's path in it; empty if the item is a
// file.
struct ExtraFile {
  std::string item;
  std::string name;
  std::string content;
};
inline constexpr std::string_view kTokenizerItem = "huggingface";

// Reads the files of the manifest's items other than the model and its weights; none unless the
// package is an .mlpackage. Throws as read_package.
std::vector<ExtraFile> read_extra_files(const std::filesystem::path& package);

struct WriteOptions {
  std::vector<ExtraFile> extra_files;
  // Called every few megabytes with the bytes written so far and the total.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

// Size of all weights that write_package would put into the model's weight files.
uint64_t weight_file_bytes(const Model& model);

// Writes a package. Constants go to weights/weight.bin by coremltools' rule (10 or more elements of
// a blob type); equal ones are stored once. Memory use is bounded whatever the size. Polls
// check_cancel(). `path` must end in .mlpackage.
void write_package(const Model& model, const std::filesystem::path& path,
                   const WriteOptions& options = {});

struct CompileOptions {
  // Called every few megabytes of weights written, with the bytes so far and the total; not called
  // if weights are linked.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

// Writes the model in the form of Core ML's compiler, which read_package reads; it has no place for
// the files of read_extra_files. Weight files of the package that the model was read from are
// hard-linked if the file system allows it, otherwise copied; weights from elsewhere are written.
// `path` must end in .mlmodelc.
void write_compiled(const Model& model, const std::filesystem::path& path,
                    const CompileOptions& options = {});

}  // namespace pippin::mil
