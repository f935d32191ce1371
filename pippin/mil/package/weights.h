// Reads a package's weight files, and decides which constants are written to one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "pippin/io/blob_file.h"
#include "pippin/mil/program.h"

namespace pippin::mil {

// Paths of weight files start with this: the folder of the model's file.
inline constexpr std::string_view kModelFolderPrefix = "@model_path/";

// Nullopt for bool, string and 64-bit types, which weight files cannot hold.
std::optional<BlobType> blob_type(DataType type);

// Whether a constant is written to a weight file: a tensor of 10 or more elements, of a type that
// files of this specification version can hold.
bool belongs_in_weight_file(const Value& value, int specification_version);

// Attaches sources to the constants of a program that refer to blobs: views of the mapped files.
// Equal references share one source. Checks the blob's record against the constant's type. If a
// file is absent, its sources throw NotFound when read.
class WeightFiles {
 public:
  // `model_folder` replaces "@model_path". Paths may lead up to `package` (the stages of a compiled
  // pipeline may share a file), and links into `roots`, but nowhere else.
  WeightFiles(std::filesystem::path model_folder, std::filesystem::path package,
              std::vector<std::filesystem::path> roots)
      : model_folder_(std::move(model_folder)),
        package_(std::move(package)),
        roots_(std::move(roots)) {}

  void attach(Program& program);

 private:
  std::shared_ptr<const BlobFile> open(const std::string& path);
  std::shared_ptr<const TensorSource> source(const Value& value);

  std::filesystem::path model_folder_, package_;
  std::vector<std::filesystem::path> roots_;
  std::map<std::string, std::shared_ptr<const BlobFile>> files_;  // null: absent
  std::map<std::tuple<std::string, uint64_t, DataType>, std::shared_ptr<const TensorSource>>
      sources_;
};

// The weight file that WeightFiles has mapped for a source, if the file still has its name; nullopt
// for other sources, an empty path for a file that is absent.
std::optional<std::filesystem::path> weight_file_of(const TensorSource& source);

// Both paths must be without "." and "..".
bool is_within(const std::filesystem::path& path, const std::filesystem::path& folder);

// Returns base / relative if it stays inside: no absolute path, no "..", and no link that leads out
// of `roots`. Otherwise throws InvalidFile, starting with `what`. The file need not exist.
std::filesystem::path inside(const std::filesystem::path& base, std::string_view relative,
                             const std::vector<std::filesystem::path>& roots,
                             std::string_view what);

}  // namespace pippin::mil
