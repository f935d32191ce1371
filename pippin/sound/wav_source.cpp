// WAV files of integers and floats.
#include <cstring>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/sound/sound_source.h"

namespace pippin::sound {

namespace {

constexpr uint16_t kIntegers = 1, kFloats = 3, kExtensible = 0xfffe;

struct WavHeader {
  uint16_t tag = 0, channels = 0, bits = 0;
  uint32_t sampling_rate = 0;
  ByteSpan data;
};

// Samples of one type, whose bytes become a float.
template <size_t kBytes, typename Convert>
class WavSource : public SoundSource {
 public:
  WavSource(ByteSpan data, Convert convert) : data_(data), convert_(convert) {}

  size_t read(std::span<float> out) override {
    const size_t frame = kBytes * static_cast<size_t>(channels);
    const size_t frames =
        std::min(out.size() / static_cast<size_t>(channels), data_.size() / frame);
    const std::byte* in = data_.data();
    for (float& sample : out.first(frames * static_cast<size_t>(channels))) {
      sample = convert_(in);
      in += kBytes;
    }
    data_ = data_.subspan(frames * frame);
    return frames;
  }

 private:
  ByteSpan data_;
  Convert convert_;
};

template <typename T>
T value_at(const std::byte* bytes) {
  T value{};
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <size_t kBytes, typename Convert>
std::unique_ptr<SoundSource> make_source(const WavHeader& header, Convert convert) {
  auto source = std::make_unique<WavSource<kBytes, Convert>>(header.data, convert);
  source->sampling_rate = header.sampling_rate;
  source->channels = header.channels;
  source->num_frames = static_cast<int64_t>(header.data.size() / (kBytes * header.channels));
  return source;
}

WavHeader read_format(ByteReader chunk, const std::string& name) {
  if (chunk.remaining() < 16) {
    fail(ErrorCode::InvalidFile, "{}: a format of {} bytes (at least 16)", name, chunk.remaining());
  }
  WavHeader header;
  header.tag = chunk.read<uint16_t>();
  header.channels = chunk.read<uint16_t>();
  header.sampling_rate = chunk.read<uint32_t>();
  chunk.take(4);
  const auto frame_bytes = chunk.read<uint16_t>();
  header.bits = chunk.read<uint16_t>();
  // The extended form has the tag in the first bytes of an identifier.
  if (header.tag == kExtensible && chunk.remaining() >= 10) {
    chunk.take(8);
    header.tag = chunk.read<uint16_t>();
  }
  // Samples with unused bytes.
  if (uint64_t{frame_bytes} * 8 != uint64_t{header.channels} * header.bits) header.tag = 0;
  if (header.channels == 0) fail(ErrorCode::InvalidFile, "{}: 0 channels", name);
  return header;
}

// Samples may only be followed by other chunks. A program that crashed while it recorded leaves the
// length 0.
void check_empty(ByteReader rest, const std::string& name) {
  const size_t left = rest.remaining();
  if (left == 0) return;
  if (left >= 8) {
    const auto id = as_text(rest.take(4));
    const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
    if (ranges::all_of(id, is_printable) && rest.read<uint32_t>() <= rest.remaining()) return;
  }
  fail(ErrorCode::InvalidFile, "{}: the header states 0 bytes of samples, {} bytes follow", name,
       left);
}

ByteSpan read_data(ByteReader& reader, uint32_t size, const std::string& name) {
  // Programs that write to a pipe state the largest length.
  if (size >= 0x7ffff000) return reader.take(reader.remaining());
  if (size == 0) check_empty(reader, name);
  if (size > reader.remaining()) {
    fail(ErrorCode::InvalidFile, "{}: {} bytes of samples, the header states {}", name,
         reader.remaining(), size);
  }
  return reader.take(size);
}

WavHeader read_header(ByteSpan file, const std::string& name) {
  ByteReader reader(file, name);
  reader.seek(12);  // "RIFF", a length, "WAVE"
  std::optional<WavHeader> header;
  while (reader.remaining() >= 8) {
    const auto id = as_text(reader.take(4));
    const auto size = reader.read<uint32_t>();
    if (id == "data") {
      if (!header) fail(ErrorCode::InvalidFile, "{}: samples before their format", name);
      header->data = read_data(reader, size, name);
      return *header;
    }
    const ByteSpan chunk = reader.take(size);
    if (id == "fmt " && !header) header = read_format(ByteReader(chunk, name), name);
    if (size % 2 == 1 && reader.remaining() > 0) reader.take(1);
  }
  fail(ErrorCode::InvalidFile, "{}: the file has no samples", name);
}

}  // namespace

std::unique_ptr<SoundSource> open_wav(ByteSpan file, const std::string& name) {
  const WavHeader header = read_header(file, name);
  if (header.tag == kIntegers && header.bits == 8) {
    return make_source<1>(header, [](const std::byte* bytes) {
      return static_cast<float>(value_at<uint8_t>(bytes) - 128) / 128;
    });
  }
  if (header.tag == kIntegers && header.bits == 16) {
    return make_source<2>(header, [](const std::byte* bytes) {
      return static_cast<float>(value_at<int16_t>(bytes)) / (1 << 15);
    });
  }
  if (header.tag == kIntegers && header.bits == 24) {
    return make_source<3>(header, [](const std::byte* bytes) {
      // The upper bytes of 32 bits.
      uint32_t value = 0;
      std::memcpy(reinterpret_cast<std::byte*>(&value) + 1, bytes, 3);
      return static_cast<float>(static_cast<int32_t>(value)) / 2147483648.0F;
    });
  }
  if (header.tag == kIntegers && header.bits == 32) {
    return make_source<4>(header, [](const std::byte* bytes) {
      return static_cast<float>(value_at<int32_t>(bytes)) / 2147483648.0F;
    });
  }
  if (header.tag == kFloats && header.bits == 32) {
    return make_source<4>(header, value_at<float>);
  }
  if (header.tag == kFloats && header.bits == 64) {
    return make_source<8>(
        header, [](const std::byte* bytes) { return static_cast<float>(value_at<double>(bytes)); });
  }
  return nullptr;
}

}  // namespace pippin::sound
