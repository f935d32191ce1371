// Manifest.json of a package: its files, and which of them is the model.
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
  std::vector<ManifestItem> items;  // in file order
  std::string root;                 // the identifier of the model's item; empty if none exists

  // Null if none exists.
  const ManifestItem* find_root() const;
};

// If a root is named, its item exists. Throws InvalidFile, or Unsupported for a fileFormatVersion
// above 1.0.0.
Manifest parse_manifest(const Json& json);
// Reads a package's Manifest.json.
Manifest load_manifest(const std::filesystem::path& package);
std::string print_manifest(const Manifest& manifest);

// Identifiers need to be unique only within a manifest. They are derived from the item's path, so
// that the same model always gives the same package.
std::string manifest_identifier(std::string_view path);

}  // namespace pippin::mil
