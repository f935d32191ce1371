// A package as a folder of items that a manifest lists: for those who put packages together from
// files whose content they know. Models are read and written by package.h.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "pippin/mil/package/manifest.h"

namespace pippin::mil {

class PackageFolder {
 public:
  // Opens the package that is there; where nothing is, makes an empty one if `create` says so.
  // Throws NotFound where there is none, or where something is that has no manifest; InvalidFile
  // for a manifest that is none, or that lists an item without a name, an author or its file.
  explicit PackageFolder(std::filesystem::path path, bool create = true);
  // Whether opening it, without making one, throws nothing.
  static bool is_valid(const std::filesystem::path& path) noexcept;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path path_of(const ManifestItem& item) const {
    return path_ / "Data" / item.path;
  }

  // Copies a file, or a folder with all that is in it, to Data/AUTHOR/NAME, and lists it; the
  // package is whole at every moment. Returns the identifier. Throws InvalidArgument where the
  // package has an item of that name and author.
  std::string add_item(const std::filesystem::path& source, const std::string& name,
                       const std::string& author, const std::string& description = "");
  // The same, and makes it the model. Throws InvalidArgument where the package has a model.
  std::string set_root_model(const std::filesystem::path& source, const std::string& name,
                             const std::string& author, const std::string& description = "");
  // Takes the place of the model that the package has, if any.
  std::string replace_root_model(const std::filesystem::path& source, const std::string& name,
                                 const std::string& author, const std::string& description = "");

  // Throws NotFound where the package has no model.
  const ManifestItem& root_model() const;
  // Null where there is none.
  const ManifestItem* find_item(std::string_view name, std::string_view author) const;

 private:
  // Copies the file and lists it in `manifest`, which is not yet written.
  std::string copy_item(const std::filesystem::path& source, const ManifestItem& item,
                        Manifest& manifest) const;
  void write(Manifest manifest);

  std::filesystem::path path_;
  Manifest manifest_;
};

}  // namespace pippin::mil
