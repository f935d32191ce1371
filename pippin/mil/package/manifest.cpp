#include "pippin/mil/package/manifest.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "pippin/base/error.h"
#include "pippin/io/json.h"

namespace pippin::mil {
namespace {

constexpr size_t kMaxManifestBytes = size_t{16} << 20;

using Version = std::array<int, 3>;

// Three numbers separated by dots.
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
    fail(ErrorCode::InvalidFile, "Manifest.json: fileFormatVersion '{}' is not a version", text);
  }
  if (version > Version{1, 0, 0}) {
    fail(ErrorCode::Unsupported, "Manifest.json: fileFormatVersion {}; up to 1.0.0 is read", text);
  }
}

}  // namespace

const ManifestItem* Manifest::find_root() const {
  const auto found = std::find_if(items.begin(), items.end(),
                                  [&](const auto& item) { return item.identifier == root; });
  return root.empty() || found == items.end() ? nullptr : &*found;
}

Manifest parse_manifest(const Json& json) {
  check_version(json.get_string("fileFormatVersion"));
  Manifest manifest;
  manifest.root = json.get_string_or("rootModelIdentifier", "");
  if (const auto entries = json.find("itemInfoEntries")) {
    for (const auto& [identifier, item] : entries->members()) {
      manifest.items.push_back({std::string(identifier), item.get_string("path"),
                                item.get_string_or("name", ""), item.get_string_or("author", ""),
                                item.get_string_or("description", "")});
    }
  }
  if (!manifest.root.empty() && manifest.find_root() == nullptr) {
    fail(ErrorCode::InvalidFile, "Manifest.json: no item for rootModelIdentifier '{}'",
         manifest.root);
  }
  return manifest;
}

Manifest load_manifest(const std::filesystem::path& package) {
  return parse_manifest(Json::load(package / "Manifest.json", {.max_bytes = kMaxManifestBytes}));
}

std::string print_manifest(const Manifest& manifest) {
  JsonWriter json(4);
  json.begin_object().member("fileFormatVersion", "1.0.0").key("itemInfoEntries").begin_object();
  for (const ManifestItem& item : manifest.items) {
    json.key(item.identifier).begin_object();
    json.member("author", item.author).member("description", item.description);
    json.member("name", item.name).member("path", item.path).end_object();
  }
  json.end_object();
  if (!manifest.root.empty()) json.member("rootModelIdentifier", manifest.root);
  return json.end_object().text() + "\n";
}

std::string manifest_identifier(std::string_view path) {
  uint64_t halves[2] = {0xcbf29ce484222325u, 0x84222325cbf29ce4u};
  for (uint64_t& half : halves) {
    for (const char c : path) half = (half ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return fmt::format("{:08X}-{:04X}-4{:03X}-8{:03X}-{:012X}", halves[0] >> 32,
                     (halves[0] >> 16) & 0xffff, halves[0] & 0xfff, halves[1] >> 52,
                     halves[1] & 0xffffffffffffu);
}

}  // namespace pippin::mil
