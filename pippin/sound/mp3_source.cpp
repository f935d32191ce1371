// MP3 files, by mpg123: libsndfile reads them with it as well, but then it prints warnings to
// stderr.
#include <utility>

#include <sys/types.h>

#include "pippin/base/error.h"
#include "pippin/sound/memory_file.h"
#include "pippin/sound/mpg123_library.h"
#include "pippin/sound/sound_source.h"

namespace pippin::sound {

namespace {

class Mp3Source : public SoundSource {
 public:
  Mp3Source(ByteSpan bytes, std::string name)
      : memory_{bytes}, name_(std::move(name)), decoder_(library_.create(nullptr, nullptr)) {
    if (decoder_ == nullptr) fail(ErrorCode::Internal, "{}: mpg123 cannot start", name_);
    try {
      open();
    } catch (const Error&) {
      library_.destroy(decoder_);
      throw;
    }
  }
  Mp3Source(const Mp3Source&) = delete;
  Mp3Source& operator=(const Mp3Source&) = delete;
  ~Mp3Source() override { library_.destroy(decoder_); }

  size_t read(std::span<float> out) override {
    size_t bytes = 0;
    const int status = library_.read(decoder_, reinterpret_cast<unsigned char*>(out.data()),
                                     out.size_bytes(), &bytes);
    if (status != MPG123_OK && status != MPG123_DONE) check(status);
    return bytes / sizeof(float) / static_cast<size_t>(channels);
  }

 private:
  void open() {
    // Without support for streams whose format changes, and for texts and pictures of tags.
    constexpr long kFlags =
        MPG123_QUIET | MPG123_FORCE_FLOAT | MPG123_SKIP_ID3V2 | MPG123_NO_FRANKENSTEIN;
    check(library_.param(decoder_, MPG123_ADD_FLAGS, kFlags, 0));
    check(library_.replace_reader_handle(
        decoder_,
        [](void* file, void* out, size_t count) -> ssize_t {
          return static_cast<MemoryFile*>(file)->read(out, static_cast<int64_t>(count));
        },
        [](void* file, off_t offset, int whence) -> off_t {
          return static_cast<MemoryFile*>(file)->seek(offset, whence);
        },
        nullptr));
    check(library_.open_handle(decoder_, &memory_));
    long rate = 0;
    int encoding = 0;
    check(library_.getformat(decoder_, &rate, &channels, &encoding));
    if (encoding != MPG123_ENC_FLOAT_32) {
      fail(ErrorCode::Unsupported, "{}: this mpg123 has no floats", name_);
    }
    sampling_rate = rate;
    check(library_.scan(decoder_));
    const off_t length = library_.length(decoder_);
    if (length >= 0) num_frames = length;
  }

  void check(int status) const {
    if (status == MPG123_OK) return;
    const char* reason =
        status == MPG123_ERR ? library_.strerror(decoder_) : library_.plain_strerror(status);
    fail(ErrorCode::InvalidFile, "{}: cannot be read as MP3: {}", name_, reason);
  }

  const Mpg123& library_ = libmpg123();
  MemoryFile memory_;
  std::string name_;
  mpg123_handle* decoder_;
};

}  // namespace

std::unique_ptr<SoundSource> open_mp3(ByteSpan file, const std::string& name) {
  return std::make_unique<Mp3Source>(file, name);
}

}  // namespace pippin::sound
