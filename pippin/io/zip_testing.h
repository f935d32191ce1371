// For tests: zip archives and gzip files of stored bytes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pippin {

template <typename T>
void append_number(std::string& text, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    text += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  }
}

// zip's CRC-32.
inline uint32_t crc_of(const std::string& text) {
  uint32_t crc = ~0U;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320U : 0);
  }
  return ~crc;
}

inline std::string stored_zip(const std::vector<std::pair<std::string, std::string>>& entries,
                              uint16_t method = 0) {
  std::string file, directory;
  for (const auto& entry : entries) {
    const std::string& name = entry.first;
    const std::string& content = entry.second;
    const auto offset = static_cast<uint32_t>(file.size());
    const auto size = static_cast<uint32_t>(content.size());
    const auto common = [&](std::string& text) {
      append_number<uint16_t>(text, 20);  // version
      append_number<uint16_t>(text, 0);   // flags
      append_number<uint16_t>(text, method);
      append_number<uint32_t>(text, 0);  // time and date
      append_number<uint32_t>(text, crc_of(content));
      append_number<uint32_t>(text, size);
      append_number<uint32_t>(text, size);
      append_number<uint16_t>(text, name.size());
      append_number<uint16_t>(text, 0);  // extra
    };
    append_number<uint32_t>(file, 0x04034b50);
    common(file);
    file += name + content;
    append_number<uint32_t>(directory, 0x02014b50);
    append_number<uint16_t>(directory, 20);
    common(directory);
    append_number<uint16_t>(directory, 0);  // comment
    append_number<uint64_t>(directory, 0);  // disk, attributes
    append_number<uint32_t>(directory, offset);
    directory += name;
  }
  const auto begin = static_cast<uint32_t>(file.size());
  file += directory;
  append_number<uint32_t>(file, 0x06054b50);
  append_number<uint32_t>(file, 0);
  append_number<uint16_t>(file, entries.size());
  append_number<uint16_t>(file, entries.size());
  append_number<uint32_t>(file, directory.size());
  append_number<uint32_t>(file, begin);
  append_number<uint16_t>(file, 0);
  return file;
}

// A gzip file with one uncompressed block; `content` must be shorter than 65536 bytes.
inline std::string stored_gzip(const std::string& content) {
  std::string file("\x1f\x8b\x08\0\0\0\0\0\0\xff\x01", 11);
  append_number<uint16_t>(file, content.size());
  append_number<uint16_t>(file, ~content.size());
  file += content;
  append_number<uint32_t>(file, crc_of(content));
  append_number<uint32_t>(file, content.size());
  return file;
}

}  // namespace pippin
