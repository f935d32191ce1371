#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/families/windowed.h"
#include "pippin/runtime/windowed/model.h"

namespace pippin::runtime {
namespace {

using families::windowed::kCacheProcessor;
using families::windowed::kLogitProcessor;

// "Llama-2-7b-hf_chunk12": the prefix and the number.
std::optional<std::pair<std::string, int64_t>> parse_numbered(const std::string& stem) {
  constexpr std::string_view kWord = families::windowed::kChunkWord;
  const size_t place = stem.rfind(kWord);
  if (place == stem.npos || place == 0) return std::nullopt;
  const std::string_view digits = std::string_view(stem).substr(place + kWord.size());
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size() || number < 0 || number > 9999) {
    return std::nullopt;
  }
  return std::pair(stem.substr(0, place), number);
}

}  // namespace

bool looks_like_windowed(const PackageFolder& folder) {
  for (const std::string& stem : folder.stems()) {
    if (parse_numbered(stem)) return true;
  }
  return folder.contains(kCacheProcessor);
}

WindowedFiles find_windowed_files(const PackageFolder& folder) {
  WindowedFiles files;
  const std::string where = folder.path().string();
  std::map<int64_t, std::string> chunks;
  for (const std::string& stem : folder.stems()) {
    const auto chunk = parse_numbered(stem);
    if (!chunk) continue;
    if (!chunks.empty() && chunk->first != files.prefix) {
      fail(ErrorCode::InvalidArgument, "{}: holds several models: '{}' and '{}'", where,
           folder.file_name(chunks.begin()->second), folder.file_name(stem));
    }
    files.prefix = chunk->first;
    const auto [known, fresh] = chunks.emplace(chunk->second, stem);
    if (!fresh) {
      fail(ErrorCode::InvalidArgument, "{}: '{}' and '{}' are both chunk {}", where,
           folder.file_name(known->second), folder.file_name(stem), chunk->second);
    }
  }
  if (chunks.empty()) fail(ErrorCode::NotFound, "{}: the packages *_chunk1 ... are missing", where);
  // Numbers start at 1.
  int64_t number = chunks.begin()->first == 0 ? 0 : 1;
  for (const auto& [found, stem] : chunks) {
    if (found != number) {
      fail(ErrorCode::NotFound, "{}: {} is missing (.mlpackage, .mlmodelc or a .zip)", where,
           families::windowed::chunk_stem(files.prefix, number));
    }
    files.chunks.push_back(stem);
    ++number;
  }
  if (files.chunks.size() < 3) {
    fail(ErrorCode::NotFound,
         "{}: {} chunks of {}; there are at least three, embeddings, layers and head", where,
         files.chunks.size(), files.prefix);
  }
  if (!folder.contains(kCacheProcessor)) {
    fail(ErrorCode::NotFound, "{}: {} is missing (.mlpackage, .mlmodelc or a .zip)", where,
         kCacheProcessor);
  }
  files.cache_processor = kCacheProcessor;
  if (folder.contains(kLogitProcessor)) files.logit_processor = kLogitProcessor;
  return files;
}

}  // namespace pippin::runtime
