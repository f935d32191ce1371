// A Core ML model on disk.
//
// read_package opens X.mlpackage (Manifest.json, Data/com.apple.CoreML/model.mlmodel,
// weights/*.bin), X.mlmodelc (a compiled model: model.mil, weights, coremldata.bin) or a bare
// X.mlmodel, the text of a program (model.mil), or any of them in an archive (archive.h), and gives
// verified Programs whose large constants are read from the mapped weight
// files only when they are used. write_package streams a Model into a new package, beside its
// place, and renames it; write_compiled writes an .mlmodelc so. Facts: docs/format.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/mil/model.h"

namespace pippin::mil {

// An .mlpackage, an .mlmodelc, an .mlmodel or a .mil, or an archive of one, whatever its name.
// Throws InvalidFile, NotFound, Unsupported (a model or a stage that is not an ML Program is named
// with its kind and version). Weight files that are absent are an error only when a weight is used.
Model read_package(const std::filesystem::path& path);
// Whether `path` has the name or the files of something that read_package takes, whatever is in it.
bool is_package(const std::filesystem::path& path);

// A further file of the package: Data/huggingface/tokenizer.json and the like. `item` is the folder
// under Data/ (listed in the manifest), `name` the file's path in it; empty where the item is a
// file.
struct ExtraFile {
  std::string item;
  std::string name;
  std::string content;
};
inline constexpr std::string_view kTokenizerItem = "huggingface";

// The files of the manifest's items other than the model and its weights; none for anything but a
// .mlpackage. Throws as read_package.
std::vector<ExtraFile> read_extra_files(const std::filesystem::path& package);

struct WriteOptions {
  std::vector<ExtraFile> extra_files;
  // Called every few megabytes with the bytes written so far and in all.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

// The bytes of all weights that write_package would put into the model's weight files.
uint64_t weight_file_bytes(const Model& model);

// Constants go to weights/weight.bin by coremltools' rule (10 or more elements of a blob type);
// equal ones are stored once. Memory stays bounded whatever the size. Polls check_cancel().
// `path` must end in .mlpackage.
void write_package(const Model& model, const std::filesystem::path& path,
                   const WriteOptions& options = {});

struct CompileOptions {
  // Called every few megabytes of weights that are written, with their bytes so far and in all;
  // where they are linked, never.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

// The model in the form of Core ML's compiler, as read_package reads it; the files that
// read_extra_files gives have no place there. Weight files of the package that the model was read
// from become further names of the same files where the disk allows, else copies; weights from
// elsewhere are written. `path` must end in .mlmodelc.
void write_compiled(const Model& model, const std::filesystem::path& path,
                    const CompileOptions& options = {});

}  // namespace pippin::mil
