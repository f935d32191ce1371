#include "pippin/mil/package/manifest.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "pippin/base/error.h"
#include "pippin/io/json.h"

namespace pippin::mil {
namespace {

using Version = std::array<int, 3>;

// Three numbers with dots between.
bool parse_version(std::string_view text, Version& version) {
  const char* position = text.data();
  const char* const end = position + text.size();
  for (size_t i = 0; i < version.size(); ++i) {
    if (i > 0 && (position == end || *position++ != '.')) return false;
    const auto result = std::from_chars(position, end, version[i]);
    if (result.ec != std::errc() || version[i] < 0) return false;
    position = result.ptr;
  }
  return position == end;
}

void check_version(const std::string& text) {
  Version version = {};
  if (!parse_version(text, version)) {
    fail(ErrorCode::InvalidFile, "Manifest.json: fileFormatVersion '{}' is no version", text);
  }
  if (version > Version{1, 0, 0}) {
    fail(ErrorCode::Unsupported, "Manifest.json: fileFormatVersion {}; up to 1.0.0 is read", text);
  }
}

}  // namespace

Manifest parse_manifest(const Json& json) {
  check_version(json.get_string("fileFormatVersion"));
  Manifest manifest;
  manifest.root = json.get_string("rootModelIdentifier");
  bool found = false;
  for (const auto& [identifier, item] : json.at("itemInfoEntries").members()) {
    manifest.items.push_back({std::string(identifier), item.get_string("path")});
    found = found || identifier == manifest.root;
  }
  if (!found) {
    fail(ErrorCode::InvalidFile, "Manifest.json: no item for rootModelIdentifier '{}'",
         manifest.root);
  }
  return manifest;
}

}  // namespace pippin::mil
