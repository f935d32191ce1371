// What the readers of packages, compiled packages and bare models share.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/mil/package/package.h"

namespace pippin::mil {

// The last part of its path, for messages.
inline std::string package_name(const std::filesystem::path& package) {
  return (package.has_filename() ? package : package.parent_path()).filename().string();
}

// Runs `body`; its errors are the library's, and name the package.
template <typename Body>
decltype(auto) with_package(const std::filesystem::path& package, Body&& body) {
  return with_context(package_name(package), [&] {
    try {
      return body();
    } catch (const std::filesystem::filesystem_error& error) {  // permissions, loops of links
      fail(ErrorCode::Io, "{}", error.what());
    }
  });
}

// Where links of the package's files may lead: the package itself and, in the Hugging Face cache
// (models--x/snapshots/revision/X.mlpackage), the folder models--x/blobs that holds the contents.
std::vector<std::filesystem::path> allowed_roots(const std::filesystem::path& package);

// Throws InvalidArgument for what is no name of a file in a folder: empty, "..", with a slash.
// `what` it is for ends the message.
void check_file_name(const std::string& name, std::string_view what);

// A file of an output that is under construction, and the folders that it lies in.
void write_whole(const std::filesystem::path& path, std::string_view content);

// Throws InvalidFile where the description of the model speaks of other inputs, states or outputs
// than the program, of functions that are not there, or of a pipeline whose stages do not fit
// together.
void check_description(const Model& model);

// The model as a package has it, which earlier versions of Pippin put into compiled models of other
// kinds than programs and pipelines; read, and no longer written.
inline constexpr std::string_view kUncompiledModel = "model.mlmodel";
// The folders of a compiled pipeline's stages, model0, ...; more are not read.
inline constexpr size_t kMaxCompiledStages = 1000;

// A compiled model or a stage of one: a folder with coremldata.bin and model.mil or, for a
// pipeline, model0, model1, ... The programs are verified, weights are attached. `root` is the
// folder of the whole package. Throws as read_package.
Model read_compiled(const std::filesystem::path& folder, const std::filesystem::path& root,
                    const std::vector<std::filesystem::path>& roots);

// The text of a program by itself. Weights are looked for next to it, and so is its interface where
// it is called as in a compiled model; else that is what the program's types say.
Model read_program_text(const std::filesystem::path& file,
                        const std::vector<std::filesystem::path>& roots);

}  // namespace pippin::mil
