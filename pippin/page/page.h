// The page that the server shows at /, embedded in the binary: its files, each plain and
// compressed. The sources are in web/; embed.py prepares them when Pippin is built.
#pragma once

#include <span>
#include <string_view>

namespace pippin::page {

struct File {
  // "/", or "/page/VERSION/main.js", where VERSION is a digest of all files: a file at such a path
  // never changes.
  std::string_view path;
  std::string_view content_type;
  std::string_view digest;
  std::string_view plain, gzip;
};

// Returns all files; none in a build without the page (PIPPIN_PAGE=OFF).
std::span<const File> files();
// Returns null for an unknown path.
const File* find(std::string_view path);

}  // namespace pippin::page
