#include "pippin/mil/package/coreml_data.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/text.h"

namespace pippin::mil {
namespace {

constexpr uint32_t kForm = 5, kWholeForm = 1;
constexpr size_t kFirstText = 28;
constexpr size_t kAfterVersion = 28;
// The largest offset after the version at which a whole model may begin, and its first tag: that of
// the specification version.
constexpr size_t kLongestHead = 1024;
constexpr auto kFirstTag = std::byte{0x08};
// No specification has a larger version; bytes of another form usually decode to one.
constexpr uint32_t kLargestVersion = 1000;
constexpr uint64_t kMostStages = 10000;

ByteSpan read_counted(ByteReader& reader) {
  const auto size = reader.read<uint64_t>();
  if (size > reader.remaining()) {
    fail(ErrorCode::InvalidFile, "coremldata.bin: {} bytes at offset {}, {} are left", size,
         reader.position(), reader.remaining());
  }
  return reader.take(size);
}

template <typename T>
void put(std::string& out, T number) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(number >> (8 * i));
}

void put_counted(std::string& out, std::string_view text) {
  put(out, uint64_t{text.size()});
  out += text;
}

// Writes the head up to the specification version.
void put_head(std::string& out, int64_t kind, uint32_t form, std::string_view text) {
  put(out, static_cast<uint32_t>(kind));
  put(out, form);
  out.resize(kFirstText);
  put_counted(out, text);
}

// Three bytes become four characters; '=' pads the last group.
std::string base64_of_hexadecimal(std::string_view digits) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < digits.size(); i += 3) {
    size_t bits = 0;
    for (size_t k = i; k < i + 3; ++k) {
      bits = bits << 4 | (k < digits.size() ? kDigits.find(digits[k]) : 0);
    }
    text += kAlphabet[bits >> 6 & 63];
    if (i + 1 < digits.size()) text += kAlphabet[bits & 63];
  }
  text.resize((text.size() + 3) / 4 * 4, '=');
  return text;
}

}  // namespace

int64_t coreml_data_kind(ByteSpan bytes) {
  return ByteReader(bytes, "coremldata.bin").read<uint32_t>();
}

CoreMlData parse_coreml_data(ByteSpan bytes) {
  ByteReader reader(bytes, "coremldata.bin");
  CoreMlData data;
  data.kind = reader.read<uint32_t>();
  reader.seek(std::min(kFirstText, bytes.size()));
  read_counted(reader);
  const auto version = reader.read<uint32_t>();
  if (version == 0 || version > kLargestVersion) {
    fail(ErrorCode::InvalidFile, "coremldata.bin: specification version {}", version);
  }
  data.specification_version = version;
  reader.take(kAfterVersion);
  data.description = read_counted(reader);
  data.rest = reader.take(reader.remaining());
  return data;
}

int64_t coreml_data_version(ByteSpan bytes) {
  try {
    ByteReader reader(bytes, "coremldata.bin");
    reader.seek(kFirstText);
    read_counted(reader);
    const auto version = reader.read<uint32_t>();
    return version > kLargestVersion ? 0 : version;
  } catch (const Error&) {
    return 0;
  }
}

std::vector<ByteSpan> whole_model_candidates(ByteSpan bytes) {
  ByteReader reader(bytes, "coremldata.bin");
  reader.seek(std::min(kFirstText, bytes.size()));
  read_counted(reader);
  reader.read<uint32_t>();
  std::vector<ByteSpan> candidates;
  const size_t end = std::min(bytes.size(), reader.position() + kLongestHead);
  for (size_t i = reader.position(); i < end; ++i) {
    if (bytes[i] == kFirstTag) candidates.push_back(bytes.subspan(i));
  }
  return candidates;
}

std::vector<std::string> parse_model_names(ByteSpan bytes) {
  ByteReader reader(bytes, "modelNames/coremldata.bin");
  const auto count = reader.read<uint64_t>();
  if (count > kMostStages) {
    fail(ErrorCode::LimitExceeded, "modelNames/coremldata.bin: {} stages", count);
  }
  std::vector<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    names.emplace_back(as_text(read_counted(reader)));
    if (!is_valid_utf8(names.back())) {
      fail(ErrorCode::InvalidFile, "modelNames/coremldata.bin: a name that is not UTF-8");
    }
  }
  return names;
}

std::string print_coreml_data(const CoreMlData& data, size_t functions,
                              const std::vector<DataForm>& stages) {
  std::string out, text = "generic";
  for (size_t i = 0; i < stages.size(); ++i) {
    const bool is_whole = stages[i] == DataForm::WholeModel;
    text += fmt::format(".model{}v{}", i, is_whole ? "1.0.0spec" : "9.0.0generic");
  }
  put_head(out, data.kind, kForm, text);
  put(out, static_cast<uint32_t>(data.specification_version));
  out.append(kAfterVersion, '\0');
  put_counted(out, as_text(data.description));
  for (size_t i = 0; i < std::max<size_t>(functions + stages.size(), 1); ++i) {
    put(out, static_cast<uint64_t>(data.kind));
    put(out, uint64_t{0});
  }
  return out;
}

std::string print_whole_model(int64_t kind, int64_t specification_version,
                              std::string_view message) {
  std::string out;
  put_head(out, kind, kWholeForm, "spec");
  put(out, static_cast<uint32_t>(specification_version));
  out.append(kAfterVersion, '\0');
  return out + std::string(message);
}

std::string print_model_names(const std::vector<std::string>& names) {
  std::string out;
  put(out, uint64_t{names.size()});
  for (const std::string& name : names) put_counted(out, name);
  return out;
}

std::string print_analytics(std::string_view digest) {
  const std::string hash = base64_of_hexadecimal(digest);
  using Pairs = std::vector<std::pair<std::string_view, std::string_view>>;
  std::string out;
  const auto put_section = [&](std::string_view name, const Pairs& pairs) {
    put_counted(out, name);
    put(out, uint64_t{pairs.size()});
    for (const auto& [key, value] : pairs) {
      put_counted(out, key);
      put_counted(out, value);
    }
  };
  put_section("NeuralNetworkModelDetails", {{"containsCustomLayer", "0"}, {"modelDimension", "0"}});
  put_section("SpecificationDetails", {{"modelHash", hash}, {"modelName", "model"}});
  return out;
}

}  // namespace pippin::mil
