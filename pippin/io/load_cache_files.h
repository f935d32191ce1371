// The files of the load cache: names, footers, checksums.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "pippin/base/bytes.h"

namespace pippin::load_cache {

constexpr uint32_t kFormat = 1;
constexpr size_t kFooterBytes = 512;
constexpr std::string_view kEntrySuffix = ".array", kFolderSuffix = ".folder",
                           kAliasSuffix = ".alias", kPartialSuffix = ".partial";

struct Footer {
  std::string key;  // 64 hexadecimal digits
  uint64_t array_bytes = 0, array_checksum = 0;
  std::string version, what_of;  // cut to what fits
};

// kFooterBytes bytes.
std::string to_bytes(const Footer& footer);
// Nothing where a file's last kFooterBytes are no footer of this format, or one of another file
// size.
std::optional<Footer> parse_footer(std::string_view bytes, uint64_t file_bytes);
std::optional<Footer> read_footer(const std::filesystem::path& path);
// What comes after the array in front of the footer.
constexpr uint64_t padding_after(uint64_t array_bytes) {
  return (8 - array_bytes % 8) % 8;
}
bool has_clean_padding(ByteSpan file, uint64_t array_bytes);

// A checksum of 64 bits at the speed of memory. Not for enemies: any change of up to 8 bytes in
// place gives another one, anything else goes unseen with a chance of 2^-64 or so.
uint64_t checksum_piece(ByteSpan bytes) noexcept;
// The same of an array: that of its pieces' checksums, so that threads may share the work.
// `for_each(count, body)` calls body(i) for each i in [0, count), in any order.
using ForEach = std::function<void(size_t count, const std::function<void(size_t)>& body)>;
uint64_t checksum(ByteSpan bytes, const ForEach& for_each);

// A small file with one line that names an entry.
std::string alias_text(const std::string& key);
std::optional<std::string> read_alias(const std::filesystem::path& path);

// In a folder that is an entry: the version and what it is of, two lines.
inline constexpr std::string_view kAboutName = "about";
// Of all files in it.
uint64_t folder_bytes(const std::filesystem::path& folder);

enum class FileKind : uint8_t { Entry, Folder, Alias, Partial, Tag, Other };
// By its name and, for the tag, its content.
FileKind kind_of(const std::filesystem::path& path);
// Where the file with that final name is written: next to it, with this process's id and something
// random in its name.
std::filesystem::path partial_path(const std::filesystem::path& target);
// Whether the writer of a partial file is gone: no such process, or nothing written for an hour.
bool is_abandoned(const std::filesystem::path& partial);

// CACHEDIR.TAG (bford.info/cachedir): backup programs leave such folders out.
inline constexpr std::string_view kTagName = "CACHEDIR.TAG";
inline constexpr std::string_view kTagText =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# Arrays that pippin computed when it loaded models. `pippin cache clear` removes them.\n";

}  // namespace pippin::load_cache
