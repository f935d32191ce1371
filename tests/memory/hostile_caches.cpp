#include "pippin/io/load_cache_files.h"
#include "pippin/io/zip_testing.h"
#include "pippin/runtime/sequence_file.h"
#include "pippin/scheduling/cache_file.h"
#include "tests/memory/hostile.h"

namespace pippin {
namespace {

std::string text_of(const std::vector<std::byte>& bytes) {
  return std::string(as_text(bytes));
}

}  // namespace

// Their checksums are right: an attacker computes them, too.
std::vector<Hostile> hostile_caches() {
  const runtime::SavedSequence saved{std::string(64, 'd'), 16, 0, {1, 2}};
  const std::vector<runtime::CacheArray> arrays(20'000, {"", 0, 1, 1'000'000, 0, 0});
  runtime::SavedSequence long_one = saved;
  long_one.tokens.resize(100'000);
  const auto read_sequence = [](const std::string& file) {
    const runtime::SequenceFile sequence(as_byte_span(file), "x.sequence");
    sequence.check({{"keys", 24, 2, 4}});
  };
  const auto none = [](size_t, const engine::StateRows&, std::byte*) {};
  scheduling::CacheFileHeader header;
  header.identity = std::string(64, 'd');
  header.tokens.resize(100'000);
  header.is_rest = true;
  header.parts.resize(50'000);
  const auto read_header = [](const std::string& file) {
    scheduling::parse_header(as_byte_span(file), uint64_t{1} << 40, "x.rows");
  };
  std::string footer = load_cache::to_bytes({.key = std::string(64, 'a'), .array_bytes = 1 << 30});
  return {
      {"sequence, arrays", 16, text_of(runtime::to_bytes(saved, arrays, none)), read_sequence},
      {"sequence, tokens", 16, text_of(runtime::to_bytes(long_one, {}, none)), read_sequence},
      {"prompt cache", 16, text_of(scheduling::to_bytes(header)), read_header},
      {"load cache", 16, footer,
       [](const std::string& file) { load_cache::parse_footer(file, (1 << 30) + file.size()); }},
  };
}

}  // namespace pippin
