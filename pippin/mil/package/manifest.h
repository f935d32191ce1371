// Manifest.json of a package: which files it has, and which of them is the model.
#pragma once

#include <string>
#include <vector>

namespace pippin {
class Json;
}

namespace pippin::mil {

struct ManifestItem {
  std::string identifier;
  std::string path;  // below Data/, not yet checked
};

struct Manifest {
  std::vector<ManifestItem> items;  // in the order of the file
  std::string root;                 // the identifier of the model's item, which is there
};

// Throws InvalidFile, or Unsupported for a fileFormatVersion above 1.0.0.
Manifest parse_manifest(const Json& json);

}  // namespace pippin::mil
