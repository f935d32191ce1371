#include "tests/gguf_recipes.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/io/checkpoint.h"
#include "pippin/io/json.h"
#include "tests/gguf_testing.h"

namespace pippin::testing_gguf {
namespace {

namespace fs = std::filesystem;
using Floats = std::vector<float>;

uint32_t crc32_of(const Floats& values) {
  uint32_t crc = ~uint32_t{0};
  const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
  for (size_t i = 0; i < values.size() * sizeof(float); ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xEDB88320U & (0U - (crc & 1U)));
  }
  return ~crc;
}

}  // namespace

Floats values_of(const TensorInfo& tensor) {
  Floats values;
  const auto half = [&](size_t i) {
    uint16_t bits;
    std::memcpy(&bits, tensor.bytes.data() + 2 * i, sizeof(bits));
    return bits;
  };
  const size_t count = tensor.bytes.size() / (tensor.dtype == Dtype::F32 ? 4 : 2);
  values.resize(count);
  if (tensor.dtype == Dtype::F32) {
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    return values;
  }
  for (size_t i = 0; i < count; ++i) {
    values[i] = tensor.dtype == Dtype::BF16
                    ? std::bit_cast<float>(static_cast<uint32_t>(half(i)) << 16)
                    : to_float(std::bit_cast<float16>(half(i)));
  }
  return values;
}

namespace {

// Transposes the values as matrices (rows, columns).
Floats transposed(const Floats& values, size_t rows, size_t columns) {
  Floats result(values.size());
  for (size_t first = 0; first < values.size(); first += rows * columns) {
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = 0; j < columns; ++j) {
        result[first + j * rows + i] = values[first + i * columns + j];
      }
    }
  }
  return result;
}

// The conversion of a checkpoint's tensors to a file's.
class Kitchen {
 public:
  explicit Kitchen(const fs::path& folder) : checkpoint_(Checkpoint::open(folder)) {}

  Floats make(const std::vector<int64_t>& shape, const std::string& function, const Json& runs) {
    size_t elements = 1;
    for (const int64_t size : shape) elements *= static_cast<size_t>(size);
    Floats result;
    if (function == "literal") {
      for (const double value : runs.as_floats()) result.push_back(static_cast<float>(value));
      return result;
    }
    const bool swaps = function == "swapped" || function == "columns";
    const bool turns = function == "turned" || function == "columns";
    size_t count = 0;
    for (const Json& run : runs.elements())
      count += static_cast<size_t>(run.at(size_t{2}).as_int());
    // The rows that the runs refer to: the file's, one vector, or single elements.
    const size_t width = elements / count;
    for (const Json& run : runs.elements()) {
      const std::string name(run.at(size_t{0}).as_string());
      const auto first = static_cast<size_t>(run.at(size_t{1}).as_int());
      const auto rows = static_cast<size_t>(run.at(size_t{2}).as_int());
      const auto step = static_cast<size_t>(run.at(size_t{3}).as_int());
      const Floats& source = turns ? turned(name) : plain(name);
      const float factor = run.size() > 4 ? static_cast<float>(run.at(size_t{4}).as_float()) : 1.0f;
      for (size_t i = 0; i < rows; ++i) {
        const size_t begin = (first + i * step) * width;
        for (size_t j = begin; j < begin + width; ++j) {
          result.push_back(changed(source.at(j), function, factor));
        }
      }
    }
    if (!swaps) return result;
    const auto rows = static_cast<size_t>(shape[shape.size() - 2]);
    const auto columns = static_cast<size_t>(shape.back());
    return transposed(result, columns, rows);
  }

 private:
  static float changed(float value, const std::string& function, float factor) {
    if (function == "plus") return value + 1.0f;
    if (function == "decay") return -std::exp(value);
    return function == "times" ? value * factor : value;
  }

  const Floats& plain(const std::string& name) {
    const auto [place, added] = values_.try_emplace(name);
    if (added) place->second = values_of(checkpoint_.at(name));
    return place->second;
  }
  const Floats& turned(const std::string& name) {
    const auto [place, added] = turned_.try_emplace(name);
    if (!added) return place->second;
    const std::vector<int64_t>& shape = checkpoint_.at(name).shape;
    place->second = transposed(plain(name), static_cast<size_t>(shape[shape.size() - 2]),
                               static_cast<size_t>(shape.back()));
    return place->second;
  }

  Checkpoint checkpoint_;
  std::map<std::string, Floats> values_, turned_;
};

double number_of(const Json& value) {
  if (!value.is_string()) return value.as_float();
  const double infinite = std::numeric_limits<double>::infinity();
  return value.as_string() == "inf" ? infinite : -infinite;
}

void put(GgufFile& file, const std::string& key, const std::string& type, const Json& value) {
  if (value.is_array()) {
    if (type == "f32") {
      std::vector<float> numbers;
      for (const Json& one : value.elements()) {
        numbers.push_back(static_cast<float>(number_of(one)));
      }
      file.reals(key, numbers);
    } else if (type == "bool") {
      std::vector<bool> flags;
      for (const Json& one : value.elements()) flags.push_back(one.as_bool());
      file.flags(key, flags);
    } else {
      std::vector<uint32_t> numbers;
      for (const int64_t one : value.as_ints()) numbers.push_back(static_cast<uint32_t>(one));
      file.numbers(key, numbers);
    }
  } else if (type == "text") {
    file.text(key, std::string(value.as_string()));
  } else if (type == "f32") {
    file.real(key, static_cast<float>(number_of(value)));
  } else if (type == "bool") {
    file.flag(key, value.as_bool());
  } else {
    file.number(key, static_cast<uint32_t>(value.as_int()));
  }
}

// A vocabulary with the table's number of tokens.
void put_tokens(GgufFile& file, int64_t count) {
  std::vector<std::string> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(fmt::format("t{}", i));
  file.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "gpt-2");
  file.texts("tokenizer.ggml.tokens", tokens).texts("tokenizer.ggml.merges", {});
}

}  // namespace

Recipe::Recipe(const fs::path& file) : text_(read_file(file, size_t{1} << 22)) {
  golden_ = Json::parse(text_, file.filename().string()).get_string("golden");
}

GgufFile Recipe::file(const fs::path& golden) const {
  const Json recipe = Json::parse(text_, "recipe");
  GgufFile file;
  for (const Json& pair : recipe.at("metadata").elements()) {
    put(file, std::string(pair.at(size_t{0}).as_string()),
        std::string(pair.at(size_t{1}).as_string()), pair.at(size_t{2}));
  }
  Kitchen kitchen(golden);
  for (const Json& tensor : recipe.at("tensors").elements()) {
    const std::string name(tensor.at(size_t{0}).as_string());
    const std::vector<int64_t> shape = tensor.at(size_t{1}).as_ints();
    const Json checksum = tensor.at(size_t{2});
    const Floats values =
        kitchen.make(shape, std::string(tensor.at(size_t{3}).as_string()), tensor.at(size_t{4}));
    if (checksum.is_string()) {
      EXPECT_EQ(fmt::format("{:08x}", crc32_of(values)), checksum.as_string()) << name;
    }
    if (name == "token_embd.weight") put_tokens(file, shape.front());
    file.tensor(name, shape,
                {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  }
  return file;
}

bool Recipe::has_overrides() const {
  return Json::parse(text_, "recipe").at("overrides").size() > 0;
}

void Recipe::write_checkpoint(const fs::path& golden, const fs::path& folder) const {
  const Json recipe = Json::parse(text_, "recipe");
  std::map<std::string, std::string> members;
  for (const auto& [key, value] : Json::load(golden / "config.json").members()) {
    members[std::string(key)] = value.dump();
  }
  for (const auto& [key, value] : recipe.at("overrides").members()) {
    members[std::string(key)] = value.dump();
  }
  JsonWriter json;
  json.begin_object();
  for (const auto& [key, value] : members) json.key(key).raw(value);
  json.end_object();
  fs::create_directories(folder);
  write_file(folder / "config.json", json.text());
  for (const auto& entry : fs::directory_iterator(golden)) {
    if (entry.path().extension() != ".safetensors") continue;
    fs::create_symlink(entry.path(), folder / entry.path().filename());
  }
}

}  // namespace pippin::testing_gguf
