#include "pippin/io/npy.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/base/text.h"

namespace pippin {
namespace {

struct Row {
  NpyType type;
  std::string_view descr;
  size_t bytes;
};
// In enum order.
constexpr Row kRows[] = {
    {NpyType::Bool, "|b1", 1}, {NpyType::I8, "|i1", 1},  {NpyType::U8, "|u1", 1},
    {NpyType::I16, "<i2", 2},  {NpyType::U16, "<u2", 2}, {NpyType::I32, "<i4", 4},
    {NpyType::U32, "<u4", 4},  {NpyType::I64, "<i8", 8}, {NpyType::U64, "<u8", 8},
    {NpyType::F16, "<f2", 2},  {NpyType::F32, "<f4", 4}, {NpyType::F64, "<f8", 8},
};
const Row& row(NpyType type) {
  return kRows[static_cast<size_t>(type)];
}

constexpr size_t kMaxRank = 64;
constexpr size_t kMaxHeaderBytes = size_t{1} << 20;

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<int64_t>> shape;
};

// Parses the header, a Python dict of three keys: {'descr': '<f4', 'fortran_order': False, 'shape':
// (3, 4), }. No other Python syntax is accepted.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Header parse() {
    Header header;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !header.descr) {
        header.descr = descr();
      } else if (key == "fortran_order" && !header.fortran_order) {
        header.fortran_order = boolean();
      } else if (key == "shape" && !header.shape) {
        header.shape = shape();
      } else {
        broken(fmt::format("the key '{}' is unknown or occurs twice", key.substr(0, 40)));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (position_ != text_.size()) broken("text after the closing brace");
    if (!header.descr || !header.fortran_order || !header.shape) {
      broken("descr, fortran_order or shape is missing");
    }
    return header;
  }

 private:
  [[noreturn]] void broken(std::string_view what) const {
    fail(ErrorCode::InvalidFile, "{}: npy header, character {}: {}", name_, position_, what);
  }
  void skip_space() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) {
      ++position_;
    }
  }
  bool accept(char wanted) {
    skip_space();
    if (position_ == text_.size() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) broken(fmt::format("expected '{}'", wanted));
  }
  std::string string() {
    skip_space();
    const char quote = position_ < text_.size() ? text_[position_] : '\0';
    if (quote != '\'' && quote != '"') broken("expected a string");
    const size_t end = text_.find(quote, position_ + 1);
    if (end == text_.npos) broken("a string without end");
    std::string result(text_.substr(position_ + 1, end - position_ - 1));
    position_ = end + 1;
    return result;
  }
  std::string descr() {
    skip_space();
    if (position_ < text_.size() && text_[position_] == '[') {
      fail(ErrorCode::Unsupported, "{}: structured NumPy types are not read", name_);
    }
    return string();
  }
  bool boolean() {
    skip_space();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(position_).starts_with(word)) {
        position_ += word.size();
        return value;
      }
    }
    broken("expected True or False");
  }
  std::vector<int64_t> shape() {
    std::vector<int64_t> result;
    expect('(');
    while (!accept(')')) {
      if (result.size() == kMaxRank) broken(fmt::format("more than {} dimensions", kMaxRank));
      result.push_back(integer());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return result;
  }
  int64_t integer() {
    skip_space();
    std::optional<int64_t> value;
    for (; position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9';
         ++position_) {
      const auto tens = checked_mul(value.value_or(0), int64_t{10});
      value = tens ? checked_add(*tens, int64_t{text_[position_] - '0'}) : std::nullopt;
      if (!value) broken("a size above 2^63");
    }
    if (!value) broken("expected a size");
    return *value;
  }

  std::string_view text_;
  const std::string& name_;
  size_t position_ = 0;
};

NpyType find_type(const std::string& name, std::string_view descr) {
  for (const Row& candidate : kRows) {
    if (candidate.descr == descr) return candidate.type;
    // One byte has no byte order; '=' and '<' are equal on the machines that we support.
    if (descr.size() == 3 && candidate.descr.substr(1) == descr.substr(1) &&
        (descr[0] == '=' || candidate.bytes == 1)) {
      return candidate.type;
    }
  }
  fail(ErrorCode::Unsupported, "{}: NumPy type '{}' is not read (numbers and bools, little-endian)",
       name, descr.substr(0, 40));
}

std::optional<size_t> data_bytes(NpyType type, const std::vector<int64_t>& shape) {
  auto total = std::optional(byte_size(type));
  for (const int64_t size : shape) {
    if (size < 0) return std::nullopt;
    if (total) total = checked_mul(*total, static_cast<size_t>(size));
  }
  return total;
}

// In Fortran order, the first axis is fastest. Copies element by element in result order.
std::vector<std::byte> to_c_order(ByteSpan source, const std::vector<int64_t>& shape,
                                  size_t element) {
  std::vector<std::byte> result(source.size());
  const size_t rank = shape.size();
  std::vector<size_t> stride(rank, element);
  for (size_t i = 1; i < rank; ++i) stride[i] = stride[i - 1] * static_cast<size_t>(shape[i - 1]);
  std::vector<int64_t> index(rank, 0);
  size_t from = 0;
  for (size_t to = 0; to < result.size(); to += element) {
    std::copy_n(source.begin() + static_cast<ptrdiff_t>(from), element,
                result.begin() + static_cast<ptrdiff_t>(to));
    for (size_t axis = rank; axis-- > 0;) {
      from += stride[axis];
      if (++index[axis] < shape[axis]) break;
      from -= stride[axis] * static_cast<size_t>(shape[axis]);
      index[axis] = 0;
    }
  }
  return result;
}

template <typename To>
std::vector<To> convert(const NpyArray& array) {
  std::vector<To> result;
  result.reserve(array.data.size() / byte_size(array.type));
  const auto add = [&](auto example) {
    using From = decltype(example);
    for (const From value : array.as<From>()) {
      if constexpr (std::is_same_v<From, float16>) {
        result.push_back(static_cast<To>(to_float(value)));
      } else {
        result.push_back(static_cast<To>(value));
      }
    }
  };
  switch (array.type) {
    case NpyType::Bool:
      for (const std::byte value : array.data) result.push_back(value != std::byte{0} ? 1 : 0);
      break;
    case NpyType::I8:
      add(int8_t{});
      break;
    case NpyType::U8:
      add(uint8_t{});
      break;
    case NpyType::I16:
      add(int16_t{});
      break;
    case NpyType::U16:
      add(uint16_t{});
      break;
    case NpyType::I32:
      add(int32_t{});
      break;
    case NpyType::U32:
      add(uint32_t{});
      break;
    case NpyType::I64:
      add(int64_t{});
      break;
    case NpyType::U64:
      add(uint64_t{});
      break;
    case NpyType::F16:
      add(float16{});
      break;
    case NpyType::F32:
      add(float{});
      break;
    case NpyType::F64:
      add(double{});
      break;
  }
  return result;
}

std::string format_header(std::string_view descr, const std::vector<int64_t>& shape) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                   descr, fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  constexpr size_t kPrefix = 10;  // magic, version, u16 length
  const size_t total = align_up(kPrefix + header.size() + 1, size_t{64});
  header.resize(total - kPrefix - 1, ' ');
  header += '\n';
  const auto length = static_cast<uint16_t>(header.size());
  std::string result = "\x93NUMPY\x01";
  result += '\0';
  result += static_cast<char>(length & 0xff);
  result += static_cast<char>(length >> 8);
  result += header;
  return result;
}

}  // namespace

size_t byte_size(NpyType type) {
  return row(type).bytes;
}
std::string_view to_string(NpyType type) {
  return row(type).descr;
}

int64_t NpyArray::num_elements() const {
  return static_cast<int64_t>(data.size() / byte_size(type));
}

void NpyArray::check_type(NpyType wanted) const {
  const bool bool_as_bytes = type == NpyType::Bool && wanted == NpyType::U8;
  if (type != wanted && !bool_as_bytes) {
    fail(ErrorCode::InvalidArgument, "a NumPy array of '{}' is read as '{}'", to_string(type),
         to_string(wanted));
  }
}

std::vector<double> NpyArray::to_doubles() const {
  return convert<double>(*this);
}
std::vector<float> NpyArray::to_floats() const {
  return convert<float>(*this);
}

NpyView view_npy(ByteSpan file, const std::string& name) {
  ByteReader reader(file, name);
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (file.size() < 10 || as_text(file.first(kMagic.size())) != kMagic) {
    fail(ErrorCode::InvalidFile, "{}: not a .npy file", name);
  }
  reader.seek(kMagic.size());
  const auto major = reader.read<uint8_t>();
  const auto minor = reader.read<uint8_t>();
  if (major < 1 || major > 3) {
    fail(ErrorCode::Unsupported, "{}: .npy version {}.{}, 1 to 3 are read", name, major, minor);
  }
  const size_t header_bytes = major == 1 ? reader.read<uint16_t>() : reader.read<uint32_t>();
  if (header_bytes > kMaxHeaderBytes) {
    fail(ErrorCode::LimitExceeded, "{}: npy header of {} bytes, at most {}", name, header_bytes,
         kMaxHeaderBytes);
  }
  Header header = HeaderParser(as_text(reader.take(header_bytes)), name).parse();
  return {std::move(*header.descr), *header.fortran_order, std::move(*header.shape),
          reader.take(reader.remaining())};
}

NpyArray parse_npy(ByteSpan file, const std::string& name, const NpyLimits& limits) {
  const NpyView view = view_npy(file, name);
  const NpyType type = find_type(name, view.descr);
  const auto needed = data_bytes(type, view.shape);
  if (!needed || *needed != view.data.size()) {
    fail(ErrorCode::InvalidFile, "{}: shape ({}) of '{}' needs {} bytes, the file has {}", name,
         fmt::join(view.shape, ", "), view.descr,
         needed ? fmt::format("{}", *needed) : "more than 2^64", view.data.size());
  }
  if (*needed > limits.max_bytes) {
    fail(ErrorCode::LimitExceeded, "{}: {} bytes of data, at most {} are read", name, *needed,
         limits.max_bytes);
  }
  NpyArray array{type, view.shape, {}};
  if (view.fortran_order && array.shape.size() > 1) {
    array.data = to_c_order(view.data, array.shape, byte_size(type));
  } else {
    array.data.assign(view.data.begin(), view.data.end());
  }
  return array;
}

NpyArray read_npy(const std::filesystem::path& path, const NpyLimits& limits) {
  return parse_npy(MappedFile::open(path)->bytes(), path.filename().string(), limits);
}

std::string npy_header(NpyType type, const std::vector<int64_t>& shape) {
  return format_header(to_string(type), shape);
}
std::string format_npy(const NpyArray& array) {
  if (data_bytes(array.type, array.shape) != array.data.size()) {
    fail(ErrorCode::InvalidArgument, "shape ({}) of '{}' does not take {} bytes",
         fmt::join(array.shape, ", "), to_string(array.type), array.data.size());
  }
  return npy_header(array.type, array.shape).append(as_text(array.data));
}

std::string format_npy(std::span<const std::string> texts, const std::vector<int64_t>& shape) {
  if (data_bytes(NpyType::U8, shape) != texts.size()) {
    fail(ErrorCode::InvalidArgument, "shape ({}) does not take {} texts", fmt::join(shape, ", "),
         texts.size());
  }
  std::vector<std::u32string> decoded;
  decoded.reserve(texts.size());
  size_t width = 1;
  for (const std::string& text : texts) {
    std::u32string& characters = decoded.emplace_back();
    for (size_t position = 0; position < text.size();) {
      characters += decode_utf8(text, position);
    }
    width = std::max(width, characters.size());
  }
  std::string data;
  for (const std::u32string& characters : decoded) {
    for (size_t i = 0; i < width; ++i) {
      const uint32_t code = i < characters.size() ? characters[i] : 0;
      for (int byte = 0; byte < 4; ++byte) data += static_cast<char>(code >> (8 * byte));
    }
  }
  return format_header(fmt::format("<U{}", width), shape).append(data);
}

void write_npy(const std::filesystem::path& path, const NpyArray& array) {
  write_file(path, format_npy(array));
}

}  // namespace pippin
