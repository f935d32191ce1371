#include "pippin/io/blob_file.h"
#include "pippin/io/gguf.h"
#include "pippin/io/npy.h"
#include "pippin/io/npz.h"
#include "pippin/io/pickle.h"
#include "pippin/io/safetensors.h"
#include "pippin/io/torch_file.h"
#include "pippin/io/zip_testing.h"
#include "tests/memory/hostile.h"

namespace pippin {
namespace {

using namespace std::string_literals;

template <typename T>
std::string number(T value) {
  std::string result;
  append_number<T>(result, value);
  return result;
}

// ---- pickles: values are referred to by one or two bytes, any number of times

std::string long_text(const std::string& text) {
  return "X" + number(static_cast<uint32_t>(text.size())) + text;
}
std::string short_text(const std::string& text) {
  return "\x8c" + std::string(1, static_cast<char>(text.size())) + text;
}
// A call of _rebuild_tensor_v2; sizes and strides share their numbers.
std::string tensor(const std::string& storage, size_t rank) {
  const std::string sizes = "(" + repeated("K\x01", rank) + "t";
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + short_text("storage") +
         "ctorch\nFloatStorage\n" + long_text(storage) + short_text("cpu") + "K\x40tQK\x04" +
         sizes + sizes + "\x89" + "ccollections\nOrderedDict\n)RtR";
}
// The same key and tensor, repeatedly.
std::string one_entry(const std::string& key, size_t count) {
  return "\x80\x02}" + long_text(key) + "q\x01" + "0" + tensor("0", 1) + "q\x02" + "0(" +
         repeated("h\x01h\x02", count) + "u.";
}
// Keys of four bytes, all for one tensor.
std::string one_tensor(const std::string& storage, size_t rank, size_t count) {
  return "\x80\x02}" + tensor(storage, rank) + "q\x02" + "0(" +
         joined(count,
                [](size_t i) { return short_text(number(static_cast<uint32_t>(i))) + "h\x02"; }) +
         "u.";
}

void read_pickle(const std::string& file) {
  read_tensor_pickle(as_byte_span(file), "data.pkl");
}

std::vector<Hostile> pickles() {
  const std::string key(1 << 16, 'k');
  const std::string storage = short_text("storage") + "ctorch\nFloatStorage\n" + short_text("0");
  return {
      {"pickle, one entry", 64, one_entry(key, 40'000), read_pickle},
      {"pickle, a long key of a storage", 64, one_tensor(key, 1, 10'000), read_pickle},
      {"pickle, many sizes", 64, one_tensor("0", 64, 20'000), read_pickle},
      {"pickle, values", 128, "\x80\x02}(" + repeated("N", 200'000) + "u.", read_pickle},
      {"pickle, dictionaries", 128, "\x80\x02}(" + repeated("}", 200'000) + "u.", read_pickle},
      {"pickle, tuples", 128, "\x80\x02}N)" + repeated("\x85", 200'000) + "s.", read_pickle},
      {"pickle, memory", 64, "\x80\x02}" + repeated("\x94", 200'000) + ".", read_pickle},
      {"pickle, names", 64, "\x80\x02}(" + repeated("ccollections\nOrderedDict\n", 20'000) + "u.",
       read_pickle},
      {"pickle, storages", 64,
       "\x80\x02}((" + storage + "tq\x03" + repeated("h\x03Q", 60'000) + "u.", read_pickle},
  };
}

// ---- .bin: an archive around a pickle

std::vector<Hostile> torch_files() {
  const auto read = [](const std::string& file) {
    OwnedTensors own(file.size());
    parse_torch_file(as_byte_span(file), "x.bin", own);
  };
  const auto around = [](const std::string& pickle) {
    return stored_zip({{"a/data.pkl", pickle}, {"a/data/0", std::string(64, '\0')}});
  };
  std::vector<std::pair<std::string, std::string>> entries(20'000);
  for (size_t i = 0; i < entries.size(); ++i) entries[i].first = std::to_string(i);
  return {{"bin, one entry", 64, around(one_entry(std::string(1 << 16, 'k'), 40'000)), read},
          {"bin, one tensor", 64, around(one_tensor("0", 4, 20'000)), read},
          {"bin, entries of the archive", 64, stored_zip(entries), read}};
}

// ---- safetensors

std::vector<Hostile> safetensors() {
  const auto file = [](const std::string& entries) {
    const std::string header = "{" + entries + "\"__metadata__\":{}}";
    return number(static_cast<uint64_t>(header.size())) + header;
  };
  const auto read = [](const std::string& bytes) {
    parse_safetensors(as_byte_span(bytes), "x.safetensors");
  };
  const auto tensors = [](size_t count, size_t rank) {
    return joined(count, [&](size_t i) {
      return "\"" + std::to_string(i) + R"(":{"dtype":"U8","shape":[0)" + repeated(",1", rank - 1) +
             R"(],"data_offsets":[0,0]},)";
    });
  };
  return {{"safetensors, tensors", 64, file(tensors(20'000, 1)), read},
          {"safetensors, sizes", 64, file(tensors(5'000, 64)), read},
          {"safetensors, empty header", 64, number(uint64_t{1} << 60), read}};
}

// ---- GGUF

std::vector<Hostile> ggufs() {
  const auto file = [](uint64_t tensors, uint64_t pairs, const std::string& rest) {
    return "GGUF" + number(uint32_t{3}) + number(tensors) + number(pairs) + rest;
  };
  const auto read = [](const std::string& bytes) { parse_gguf(as_byte_span(bytes), "x.gguf"); };
  const auto tensors = joined(20'000, [](size_t i) {
    return number(uint64_t{4}) + number(static_cast<uint32_t>(i)) + number(uint32_t{0}) +
           number(uint32_t{0}) + number(uint64_t{0});
  });
  const std::string pair = number(uint64_t{0}) + number(uint32_t{7}) + "\1";
  const std::string texts = number(uint64_t{0}) + number(uint32_t{9}) + number(uint32_t{8}) +
                            number(uint64_t{100'000}) + std::string(800'000, '\0');
  return {{"gguf, tensors", 32, file(20'000, 0, tensors) + std::string(64, '\0'), read},
          {"gguf, pairs", 32, file(0, 20'000, repeated(pair, 20'000)), read},
          {"gguf, texts", 32, file(0, 1, texts), read},
          {"gguf, counts", 32, file(1'000'000, 1'000'000, ""), read}};
}

// ---- NumPy and weight blobs

std::vector<Hostile> arrays() {
  const auto npy = [](const std::string& header) {
    return "\x93NUMPY\x02"s + '\0' + number(static_cast<uint32_t>(header.size())) + header;
  };
  const auto read = [](const std::string& bytes) { parse_npy(as_byte_span(bytes), "x.npy"); };
  const std::string shape = "{'descr': '|u1', 'fortran_order': True, 'shape': (";
  std::vector<std::pair<std::string, std::string>> entries(20'000);
  for (size_t i = 0; i < entries.size(); ++i) entries[i].first = std::to_string(i) + ".npy";
  const std::string blob = number(uint32_t{1'000'000'000}) + number(uint32_t{2}) +
                           std::string(56, '\0') + number(uint32_t{0xDEADBEEF}) +
                           number(uint32_t{3}) + number(uint64_t{0}) + number(uint64_t{64}) +
                           std::string(40, '\0');
  return {
      {"npy, a large shape", 4, npy(shape + "1000000000,)}"), read},
      {"npy, no elements", 4, npy(shape + "0, 9000000000000000000,)}"), read},
      {"npy, a long header", 4, npy("{'descr': '" + std::string(500'000, 'x') + "'}"), read},
      {"npz, entries", 64, stored_zip(entries),
       [](const std::string& bytes) { NpzFile::parse(as_byte_span(bytes), "x.npz"); }},
      {"weight blobs", 4, blob,
       [](const std::string& bytes) { BlobFile::parse(as_byte_span(bytes), "w.bin").offsets(); }},
  };
}

}  // namespace

std::vector<Hostile> hostile_weights() {
  std::vector<Hostile> all;
  for (auto* const make : {pickles, torch_files, safetensors, ggufs, arrays}) {
    for (Hostile& one : make()) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace pippin
