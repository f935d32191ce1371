#include "pippin/io/load_cache_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "pippin/base/files/file.h"

namespace pippin::load_cache {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCacheMagic = "PIPPINLC";
constexpr size_t kKeyDigits = 64, kVersionBytes = 32, kWhatOfBytes = 256;
constexpr size_t kPiece = size_t{1} << 22;

// Offsets in the footer.
constexpr size_t kFormatAt = 8, kKeyAt = 16, kArrayBytesAt = kKeyAt + kKeyDigits,
                 kArrayChecksumAt = kArrayBytesAt + 8, kVersionAt = kArrayChecksumAt + 8,
                 kWhatOfAt = kVersionAt + kVersionBytes, kUnusedAt = kWhatOfAt + kWhatOfBytes,
                 kChecksumAt = kFooterBytes - 8;
static_assert(kUnusedAt <= kChecksumAt);

template <typename T>
void put(std::string& to, size_t at, T value) {
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(to.data() + at, &value, sizeof(value));
}

template <typename T>
T get(std::string_view from, size_t at) {
  T value;
  std::memcpy(&value, from.data() + at, sizeof(value));
  return value;
}

void put_text(std::string& to, size_t at, std::string_view text, size_t room) {
  std::memcpy(to.data() + at, text.data(), std::min(text.size(), room));
}

std::string get_text(std::string_view from, size_t at, size_t room) {
  const std::string_view field = from.substr(at, room);
  return std::string(field.substr(0, field.find('\0')));
}

bool is_key(std::string_view text) {
  return text.size() == kKeyDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

uint64_t mix(uint64_t hash, uint64_t word) {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio
  hash = (hash ^ word) * kOdd;
  return hash ^ (hash >> 29);
}

uint64_t sum_of_text(std::string_view text) {
  return checksum_piece(as_byte_span(text));
}

// Returns the process that wrote a temporary file: "." KEY SUFFIX "." PID "-" RANDOM ".partial"
std::optional<pid_t> writer_of(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(kPartialSuffix)) return std::nullopt;
  name = name.substr(1, name.size() - 1 - kPartialSuffix.size());
  if (name.size() <= kKeyDigits || !is_key(name.substr(0, kKeyDigits))) return std::nullopt;
  const size_t dot = name.rfind('.');
  const size_t dash = name.find('-', dot);
  if (dash == name.npos) return std::nullopt;
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(name.data() + dot + 1, name.data() + dash, pid);
  if (error != std::errc() || end != name.data() + dash || pid <= 0) return std::nullopt;
  return pid;
}

}  // namespace

uint64_t checksum_piece(ByteSpan bytes) noexcept {
  // Eight independent chains, so that the multiplications overlap. Each step is a bijection of the
  // hash for any word, and of the word for any hash, so that one changed word always changes the
  // result.
  std::array<uint64_t, 8> lanes{};
  for (size_t i = 0; i < lanes.size(); ++i) lanes[i] = mix(bytes.size(), i);
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  constexpr size_t kStride = sizeof(lanes);
  for (; left >= kStride; left -= kStride, at += kStride) {
    std::array<uint64_t, 8> words;
    std::memcpy(words.data(), at, kStride);
    for (size_t i = 0; i < lanes.size(); ++i) lanes[i] = mix(lanes[i], words[i]);
  }
  std::array<uint64_t, 8> tail{};
  if (left > 0) std::memcpy(tail.data(), at, left);
  uint64_t hash = 0;
  for (size_t i = 0; i < lanes.size(); ++i) hash = mix(hash, mix(lanes[i], tail[i]));
  return hash;
}

uint64_t checksum(ByteSpan bytes, const ForEach& for_each) {
  std::vector<uint64_t> sums((bytes.size() + kPiece - 1) / kPiece);
  for_each(sums.size(), [&](size_t i) {
    sums[i] =
        checksum_piece(bytes.subspan(i * kPiece, std::min(kPiece, bytes.size() - i * kPiece)));
  });
  return checksum_piece(std::as_bytes(std::span(sums)));
}

std::string to_bytes(const Footer& footer) {
  std::string bytes(kFooterBytes, '\0');
  put_text(bytes, 0, kCacheMagic, kCacheMagic.size());
  put(bytes, kFormatAt, kFormat);
  put_text(bytes, kKeyAt, footer.key, kKeyDigits);
  put(bytes, kArrayBytesAt, footer.array_bytes);
  put(bytes, kArrayChecksumAt, footer.array_checksum);
  put_text(bytes, kVersionAt, footer.version, kVersionBytes);
  put_text(bytes, kWhatOfAt, footer.what_of, kWhatOfBytes);
  put(bytes, kChecksumAt, sum_of_text(std::string_view(bytes).substr(0, kChecksumAt)));
  return bytes;
}

std::optional<Footer> parse_footer(std::string_view bytes, uint64_t file_bytes) {
  if (bytes.size() != kFooterBytes || !bytes.starts_with(kCacheMagic) ||
      get<uint32_t>(bytes, kFormatAt) != kFormat ||
      get<uint64_t>(bytes, kChecksumAt) != sum_of_text(bytes.substr(0, kChecksumAt))) {
    return std::nullopt;
  }
  Footer footer;
  footer.key = get_text(bytes, kKeyAt, kKeyDigits);
  footer.array_bytes = get<uint64_t>(bytes, kArrayBytesAt);
  footer.array_checksum = get<uint64_t>(bytes, kArrayChecksumAt);
  footer.version = get_text(bytes, kVersionAt, kVersionBytes);
  footer.what_of = get_text(bytes, kWhatOfAt, kWhatOfBytes);
  const uint64_t before = file_bytes - kFooterBytes;
  if (footer.array_bytes > before ||
      footer.array_bytes + padding_after(footer.array_bytes) != before) {
    return std::nullopt;
  }
  return footer;
}

std::optional<Footer> read_footer(const fs::path& path) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  if (error || size < kFooterBytes) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kFooterBytes, '\0');
  file.seekg(static_cast<std::streamoff>(size - kFooterBytes));
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) return std::nullopt;
  return parse_footer(bytes, size);
}

bool has_clean_padding(ByteSpan file, uint64_t array_bytes) {
  const ByteSpan padding = file.subspan(array_bytes, padding_after(array_bytes));
  return std::all_of(padding.begin(), padding.end(),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

std::string alias_text(const std::string& key) {
  return fmt::format("{} {:016x}\n", key, sum_of_text(key));
}

std::optional<std::string> read_alias(const fs::path& path) {
  constexpr size_t kMost = 256;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  const std::string text = read_file(path, kMost);
  if (text.size() < kKeyDigits) return std::nullopt;
  std::string key = text.substr(0, kKeyDigits);
  if (!is_key(key) || text != alias_text(key)) return std::nullopt;
  return key;
}

FileKind kind_of(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name == kTagName) {
    std::error_code error;
    const bool own = fs::file_size(path, error) == kTagText.size() && !error &&
                     fs::is_regular_file(path, error) && read_file(path, 4096) == kTagText;
    return own ? FileKind::Tag : FileKind::Other;
  }
  if (writer_of(name)) return FileKind::Partial;
  if (!is_key(std::string_view(name).substr(0, std::min(name.size(), kKeyDigits)))) {
    return FileKind::Other;
  }
  const std::string_view suffix = std::string_view(name).substr(kKeyDigits);
  if (suffix == kEntrySuffix) return FileKind::Entry;
  if (suffix == kFolderSuffix) return FileKind::Folder;
  return suffix == kAliasSuffix ? FileKind::Alias : FileKind::Other;
}

uint64_t folder_bytes(const fs::path& folder) {
  uint64_t total = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code gone;
    if (!it->is_regular_file(gone)) continue;
    const uint64_t size = it->file_size(gone);
    if (!gone) total += size;
  }
  return total;
}

fs::path partial_path(const fs::path& target) {
  std::random_device random;
  const uint64_t number = (static_cast<uint64_t>(random()) << 32) | random();
  return target.parent_path() / fmt::format(".{}.{}-{:016x}{}", target.filename().string(),
                                            ::getpid(), number, kPartialSuffix);
}

bool is_abandoned(const fs::path& partial) {
  const auto writer = writer_of(partial.filename().string());
  if (!writer) return false;
  if (*writer == ::getpid()) return false;
  if (::kill(*writer, 0) != 0 && errno == ESRCH) return true;
  std::error_code error;
  const auto written = fs::last_write_time(partial, error);
  return !error && fs::file_time_type::clock::now() - written > std::chrono::hours(1);
}

}  // namespace pippin::load_cache
