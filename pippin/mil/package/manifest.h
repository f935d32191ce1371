// Manifest.json of a package: which files it has, and which of them is the model.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace pippin {
class Json;
}

namespace pippin::mil {

struct ManifestItem {
  std::string identifier;
  std::string path;  // below Data/, not yet checked
  std::string name, author, description;
};

struct Manifest {
  std::vector<ManifestItem> items;  // in the order of the file
  std::string root;                 // the identifier of the model's item; empty: there is none

  // Null where there is none.
  const ManifestItem* find_root() const;
};

// A root that is named is there. Throws InvalidFile, or Unsupported for a fileFormatVersion above
// 1.0.0.
Manifest parse_manifest(const Json& json);
// Of a package's Manifest.json.
Manifest load_manifest(const std::filesystem::path& package);
std::string print_manifest(const Manifest& manifest);

// Identifiers only need to differ inside one manifest. They are made from the item's path, so that
// the same model gives the same package.
std::string manifest_identifier(std::string_view path);

}  // namespace pippin::mil
