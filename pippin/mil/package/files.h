// Helpers shared by the readers of packages, compiled packages and bare models.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/mil/package/package.h"

namespace pippin::mil {

// The last component of its path, for messages.
inline std::string package_name(const std::filesystem::path& package) {
  return (package.has_filename() ? package : package.parent_path()).filename().string();
}

// Runs `body`; converts its errors to the library's and adds the package's name.
template <typename Body>
decltype(auto) with_package(const std::filesystem::path& package, Body&& body) {
  return with_context(package_name(package), [&] {
    try {
      return body();
    } catch (const std::filesystem::filesystem_error& error) {  // permissions, cycles of links
      fail(ErrorCode::Io, "{}", error.what());
    }
  });
}

// The folders that links in the package may lead to: the package itself and, in the Hugging Face
// cache (models--x/snapshots/revision/X.mlpackage), the folder models--x/blobs that holds the
// contents.
std::vector<std::filesystem::path> allowed_roots(const std::filesystem::path& package);

// Throws InvalidArgument if `name` is not the name of a file in a folder: empty, "..", or with a
// slash. The message ends with `what`, its purpose.
void check_file_name(const std::string& name, std::string_view what);

// Writes a file of an output that is under construction, and creates its folders.
void write_whole(const std::filesystem::path& path, std::string_view content);

// Throws InvalidFile if the model's description lists other inputs, states or outputs than the
// program, or functions that do not exist, or if a pipeline's stages do not fit together.
void check_description(const Model& model);

// The file name of a model in packages, which earlier versions of Pippin also put into compiled
// models of kinds other than programs and pipelines; read, but no longer written.
inline constexpr std::string_view kUncompiledModel = "model.mlmodel";
// The limit on the folders of a compiled pipeline's stages (model0, ...); more are not read.
inline constexpr size_t kMaxCompiledStages = 1000;

// Reads a compiled model or a stage of one: a folder with coremldata.bin and model.mil or, for a
// pipeline, model0, model1, ... Verifies the programs and attaches weights. `root` is the folder of
// the whole package. Throws as read_package.
Model read_compiled(const std::filesystem::path& folder, const std::filesystem::path& root,
                    const std::vector<std::filesystem::path>& roots);

// Reads the text of a program on its own. Weights are expected next to it. The interface is too if
// the file has the name that it has in a compiled model; otherwise the interface follows from the
// program's types.
Model read_program_text(const std::filesystem::path& file,
                        const std::vector<std::filesystem::path>& roots);

}  // namespace pippin::mil
