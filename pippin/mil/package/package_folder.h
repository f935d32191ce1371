// A package as a folder of items listed in a manifest, for callers that assemble packages from
// files. Models are read and written by package.h.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "pippin/mil/package/manifest.h"

namespace pippin::mil {

class PackageFolder {
 public:
  // Opens an existing package or, if `create` is set and none exists, makes an empty one. Throws
  // NotFound if the package does not exist or the path has no manifest; InvalidFile if the manifest
  // is invalid or lists an item without a name, an author or its file.
  explicit PackageFolder(std::filesystem::path path, bool create = true);
  // Whether opening it, without creating it, succeeds.
  static bool is_valid(const std::filesystem::path& path) noexcept;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path path_of(const ManifestItem& item) const {
    return path_ / "Data" / item.path;
  }

  // Copies a file, or a folder with its contents, to Data/AUTHOR/NAME and lists it; the package is
  // valid at every moment. Returns the identifier. Throws InvalidArgument if the package has an
  // item of that name and author.
  std::string add_item(const std::filesystem::path& source, const std::string& name,
                       const std::string& author, const std::string& description = "");
  // Like add_item, and makes the item the model. Throws InvalidArgument if the package has a model.
  std::string set_root_model(const std::filesystem::path& source, const std::string& name,
                             const std::string& author, const std::string& description = "");
  // Like set_root_model, but replaces the package's model, if any.
  std::string replace_root_model(const std::filesystem::path& source, const std::string& name,
                                 const std::string& author, const std::string& description = "");

  // Throws NotFound if the package has no model.
  const ManifestItem& root_model() const;
  // Null if none exists.
  const ManifestItem* find_item(std::string_view name, std::string_view author) const;

 private:
  // Copies the file and lists it in `manifest`, which is not written yet.
  std::string copy_item(const std::filesystem::path& source, const ManifestItem& item,
                        Manifest& manifest) const;
  void write(Manifest manifest);

  std::filesystem::path path_;
  Manifest manifest_;
};

}  // namespace pippin::mil
