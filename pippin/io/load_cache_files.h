// The file format of the load cache: names, footers, checksums.
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
  std::string version, what_of;  // truncated to fit
};

// Returns kFooterBytes bytes.
std::string to_bytes(const Footer& footer);
// Returns nothing unless the last kFooterBytes of a file are a valid footer for a file of this
// size.
std::optional<Footer> parse_footer(std::string_view bytes, uint64_t file_bytes);
std::optional<Footer> read_footer(const std::filesystem::path& path);
// Number of padding bytes between the array and the footer.
constexpr uint64_t padding_after(uint64_t array_bytes) {
  return (8 - array_bytes % 8) % 8;
}
bool has_clean_padding(ByteSpan file, uint64_t array_bytes);

// A 64-bit checksum at memory speed. It is not cryptographic: any in-place change of up to 8 bytes
// changes it, other changes go undetected with a probability of about 2^-64.
uint64_t checksum_piece(ByteSpan bytes) noexcept;
// Returns the checksum of the checksums of an array's pieces, so that threads can share the work.
// `for_each(count, body)` must call body(i) for each i in [0, count), in any order.
using ForEach = std::function<void(size_t count, const std::function<void(size_t)>& body)>;
uint64_t checksum(ByteSpan bytes, const ForEach& for_each);

// A small file with one line that names an entry.
std::string alias_text(const std::string& key);
std::optional<std::string> read_alias(const std::filesystem::path& path);

// In an entry that is a folder: the version and the description, one line each.
inline constexpr std::string_view kAboutName = "about";
// Returns the total size of the files.
uint64_t folder_bytes(const std::filesystem::path& folder);

enum class FileKind : uint8_t { Entry, Folder, Alias, Partial, Tag, Other };
// Determined by the name and, for the tag, the content.
FileKind kind_of(const std::filesystem::path& path);
// Returns the temporary path for a file: next to `target`, with the process id and a random part in
// its name.
std::filesystem::path partial_path(const std::filesystem::path& target);
// Returns whether the writer of a partial file is gone: no such process, or no write for an hour.
bool is_abandoned(const std::filesystem::path& partial);

// CACHEDIR.TAG (bford.info/cachedir): backup programs skip such folders.
inline constexpr std::string_view kTagName = "CACHEDIR.TAG";
inline constexpr std::string_view kTagText =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# Arrays that pippin computed when it loaded models. `pippin cache clear` removes them.\n";

}  // namespace pippin::load_cache
