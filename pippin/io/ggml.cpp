#include "pippin/io/ggml.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"

namespace pippin {
namespace {

constexpr uint32_t kGgmlMagic = 0x67676d6c;

class GgmlParser {
 public:
  GgmlParser(ByteSpan file, const std::string& name) : name_(name), reader_(file, name) {}

  GgmlContent parse() {
    const auto magic = reader_.read<uint32_t>();
    if (magic != kGgmlMagic) {
      fail(ErrorCode::InvalidFile, "{}: begins with {:#x}, not with {:#x} as GGML files", name_,
           magic, kGgmlMagic);
    }
    GgmlContent content;
    read_sizes(content);
    read_filters(content);
    read_tokens(content);
    std::set<std::string> names;
    while (reader_.remaining() > 0) {
      GgufTensor tensor = read_tensor();
      if (!names.insert(tensor.name).second) {
        fail(ErrorCode::InvalidFile, "{}: tensor {} occurs twice", name_, tensor.name);
      }
      content.tensors.push_back(std::move(tensor));
    }
    return content;
  }

 private:
  int64_t number(const char* what, int64_t least, int64_t most) {
    const auto value = reader_.read<int32_t>();
    if (value < least || value > most) {
      fail(ErrorCode::InvalidFile, "{}: {} is {}, not a number from {} to {}", name_, what, value,
           least, most);
    }
    return value;
  }

  void read_sizes(GgmlContent& content) {
    constexpr int64_t kMost = 1 << 24;
    const std::pair<const char*, int64_t*> sizes[] = {
        {"n_vocab", &content.vocab_size},         {"n_audio_ctx", &content.audio_context},
        {"n_audio_state", &content.audio_width},  {"n_audio_head", &content.audio_heads},
        {"n_audio_layer", &content.audio_layers}, {"n_text_ctx", &content.text_context},
        {"n_text_state", &content.text_width},    {"n_text_head", &content.text_heads},
        {"n_text_layer", &content.text_layers},   {"n_mels", &content.bands}};
    for (const auto& [what, size] : sizes) *size = number(what, 1, kMost);
    reader_.read<int32_t>();  // the type of most tensors, of which each has its own
    // Each position and each token has a row in a tensor.
    for (const auto& [what, size] : {sizes[0], sizes[1], sizes[5]}) {
      if (static_cast<size_t>(*size) > reader_.remaining()) {
        fail(ErrorCode::InvalidFile, "{}: {} is {}, {} bytes are left", name_, what, *size,
             reader_.remaining());
      }
    }
  }

  void read_filters(GgmlContent& content) {
    constexpr int64_t kMost = 1 << 16;
    const int64_t bands = number("the number of mel filters", 1, kMost);
    content.bins = number("the number of bins of a mel filter", 1, kMost);
    if (bands != content.bands) {
      fail(ErrorCode::InvalidFile, "{}: {} mel filters, n_mels is {}", name_, bands, content.bands);
    }
    const auto count = static_cast<size_t>(bands * content.bins);
    const ByteSpan bytes = reader_.take(count * sizeof(float));
    content.filters.resize(count);
    std::memcpy(content.filters.data(), bytes.data(), bytes.size());
    const auto bad = std::find_if(content.filters.begin(), content.filters.end(),
                                  [](float value) { return !std::isfinite(value); });
    if (bad != content.filters.end()) {
      fail(ErrorCode::InvalidFile, "{}: a mel filter has the weight {}", name_, *bad);
    }
  }

  void read_tokens(GgmlContent& content) {
    const int64_t count = number("the number of tokens", 0, content.vocab_size);
    // Each token has a length.
    if (static_cast<size_t>(count) > reader_.remaining() / sizeof(uint32_t)) {
      fail(ErrorCode::InvalidFile, "{}: {} tokens are stated, {} bytes are left", name_, count,
           reader_.remaining());
    }
    content.tokens.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      content.tokens.push_back(as_text(reader_.take(reader_.read<uint32_t>())));
    }
  }

  GgufTensor read_tensor() {
    constexpr int64_t kMostAxes = 4, kMostName = 1024;
    GgufTensor tensor;
    const int64_t axes = number("a tensor's number of axes", 1, kMostAxes);
    const int64_t length = number("the length of a tensor's name", 1, kMostName);
    tensor.type = reader_.read<uint32_t>();
    tensor.shape.resize(static_cast<size_t>(axes));
    for (size_t i = tensor.shape.size(); i-- > 0;) {
      tensor.shape[i] = number("a tensor's size", 1, INT32_MAX);
    }
    tensor.name = as_text(reader_.take(static_cast<size_t>(length)));
    const std::string where = fmt::format("{}: tensor {}", name_, tensor.name);
    const GgufBlock block = gguf_block(tensor.type, where);
    std::optional<int64_t> elements = 1;
    for (const int64_t size : tensor.shape) {
      if (elements) elements = checked_mul(*elements, size);
    }
    if (!elements || tensor.shape.back() % block.elements != 0) {
      fail(ErrorCode::InvalidFile, "{}: its sizes are not whole blocks of {} elements of {}", where,
           block.elements, block.name);
    }
    const auto bytes = checked_mul(*elements / block.elements, block.bytes);
    if (!bytes || static_cast<uint64_t>(*bytes) > reader_.remaining()) {
      fail(ErrorCode::InvalidFile, "{} needs {} bytes, the file has {} left", where,
           bytes.value_or(-1), reader_.remaining());
    }
    tensor.data = reader_.take(static_cast<size_t>(*bytes));
    return tensor;
  }

  const std::string& name_;
  ByteReader reader_;
};

}  // namespace

bool looks_like_ggml(ByteSpan bytes) {
  uint32_t magic = 0;
  if (bytes.size() < sizeof(magic)) return false;
  std::memcpy(&magic, bytes.data(), sizeof(magic));
  return magic == kGgmlMagic;
}

bool is_ggml_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (path.extension() != ".bin" || !std::filesystem::is_regular_file(path, ignored)) return false;
  std::array<char, sizeof(kGgmlMagic)> bytes = {};
  std::ifstream(path, std::ios::binary).read(bytes.data(), bytes.size());
  return looks_like_ggml(std::as_bytes(std::span(bytes)));
}

GgmlContent parse_ggml(ByteSpan file, const std::string& name) {
  return GgmlParser(file, name).parse();
}

}  // namespace pippin
