// The page that the server shows at /, in the binary: files that a browser asks for, each as it is
// and compressed. The sources are in web/; embed.py puts them together when Pippin is built.
#pragma once

#include <span>
#include <string_view>

namespace pippin::page {

struct File {
  // "/", or "/page/VERSION/main.js", where VERSION tells the contents of all files: what lies
  // there never changes.
  std::string_view path;
  std::string_view content_type;
  std::string_view digest;
  std::string_view plain, gzip;
};

// None in a build without the page (PIPPIN_PAGE=OFF).
std::span<const File> files();
// Null where there is no such file.
const File* find(std::string_view path);

}  // namespace pippin::page
