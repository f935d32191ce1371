// The weight files of a package that is read, and the rule of those that are written.
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

// What the paths of weight files start with: the folder of the model's file.
inline constexpr std::string_view kModelFolderPrefix = "@model_path/";

// Nullopt for bool, string and 64-bit types, which weight files do not hold.
std::optional<BlobType> blob_type(DataType type);

// Whether a constant is written to a weight file: a tensor of 10 or more elements, of a type that
// the files of this specification version hold.
bool belongs_in_weight_file(const Value& value, int specification_version);

// Gives sources to the constants of a program that name blobs: views of the mapped files. Equal
// references share one source. What a file says of a blob is checked against the constant's type;
// a file that is absent gives sources that throw NotFound when they are read.
class WeightFiles {
 public:
  // `model_folder` is what "@model_path" stands for. Paths may climb from there up to `package`
  // (the stages of a compiled pipeline may share a file), links may lead into `roots`; nothing
  // leads elsewhere.
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

// The weight file that WeightFiles has mapped for a source, if it still has its name; nothing for
// other sources, an empty path for a file that is absent.
std::optional<std::filesystem::path> weight_file_of(const TensorSource& source);

// Of paths without "." and "..".
bool is_within(const std::filesystem::path& path, const std::filesystem::path& folder);

// base / relative, where it stays inside: no absolute path, no "..", and no link that leads out of
// `roots`. Throws InvalidFile, with `what` in front. The file need not exist.
std::filesystem::path inside(const std::filesystem::path& base, std::string_view relative,
                             const std::vector<std::filesystem::path>& roots,
                             std::string_view what);

}  // namespace pippin::mil
