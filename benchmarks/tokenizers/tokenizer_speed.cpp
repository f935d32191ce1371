// Encodes and decodes a text repeatedly, and reports the time: Pippin's half of compare.mjs.
//
//   pippin-tokenizer-speed TOKENIZER TEXT DOCUMENT_BYTES
//
// The text is cut at the first newline after each DOCUMENT_BYTES. Commands come on stdin, one per
// line; each is answered by a line of JSON: seconds of CPU time (one thread) and of wall time, the
// number of ids or bytes, and a hash of them.
//   load     the tokenizer from its file
//   encode   the documents, one call each
//   decode   the ids of the documents, one call each
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/files/file.h"
#include "pippin/tokenizers/tokenizer.h"

namespace {

using Ids = std::vector<int32_t>;

std::vector<std::string> cut(const std::string& text, size_t document_bytes) {
  std::vector<std::string> documents;
  for (size_t begin = 0; begin < text.size();) {
    const size_t line_end = text.find('\n', std::min(text.size(), begin + document_bytes));
    const size_t end = line_end == std::string::npos ? text.size() : line_end + 1;
    documents.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return documents;
}

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// 32-bit FNV-1a, as in compare.mjs.
class Hash {
 public:
  void add(uint32_t value) { hash_ = (hash_ ^ value) * 16777619u; }
  uint32_t value() const { return hash_; }

 private:
  uint32_t hash_ = 2166136261u;
};

struct Times {
  double processor = 0, clock = 0;
};

template <typename Work>
Times measure(Work work) {
  const double before = processor_seconds();
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> clock = std::chrono::steady_clock::now() - start;
  return {processor_seconds() - before, clock.count()};
}

void answer(const Times& times, size_t count, const Hash& hash) {
  std::cout << fmt::format(R"({{"processor": {}, "clock": {}, "count": {}, "hash": {}}})",
                           times.processor, times.clock, count, hash.value())
            << std::endl;
}

void serve(const std::string& path, const std::string& text, size_t document_bytes) {
  const std::vector<std::string> documents = cut(text, document_bytes);
  const auto tokenizer = pippin::Tokenizer::open(path);
  std::vector<Ids> ids(documents.size());
  for (size_t i = 0; i < documents.size(); ++i) ids[i] = tokenizer.encode(documents[i], false);
  for (std::string line; std::getline(std::cin, line);) {
    Hash hash;
    size_t count = 0;
    Times times;
    if (line == "load") {
      times = measure([&] { (void)pippin::Tokenizer::open(path); });
    } else if (line == "encode") {
      times = measure([&] {
        for (size_t i = 0; i < documents.size(); ++i) {
          ids[i] = tokenizer.encode(documents[i], false);
        }
      });
      for (const Ids& one : ids) {
        count += one.size();
        for (const int32_t id : one) hash.add(static_cast<uint32_t>(id));
      }
    } else if (line == "decode") {
      std::vector<std::string> texts(ids.size());
      times = measure([&] {
        for (size_t i = 0; i < ids.size(); ++i) texts[i] = tokenizer.decode(ids[i], false);
      });
      for (const std::string& one : texts) {
        count += one.size();
        for (const char c : one) hash.add(static_cast<unsigned char>(c));
      }
    } else {
      return;
    }
    answer(times, count, hash);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: pippin-tokenizer-speed TOKENIZER TEXT DOCUMENT_BYTES\n");
    return 2;
  }
  try {
    serve(argv[1], pippin::read_file(argv[2]), std::stoull(argv[3]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pippin-tokenizer-speed: %s\n", error.what());
    return 1;
  }
  return 0;
}
