// Sound files, by libsndfile.
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sndfile.h>

#include "pippin/base/error.h"
#include "pippin/sound/file_format.h"
#include "pippin/sound/sound_source.h"

namespace pippin::sound {

namespace {

// The bytes as the file that libsndfile reads.
struct Memory {
  ByteSpan bytes;
  sf_count_t position = 0;

  static Memory& of(void* user) { return *static_cast<Memory*>(user); }
  static sf_count_t size(void* user) { return static_cast<sf_count_t>(of(user).bytes.size()); }
  static sf_count_t tell(void* user) { return of(user).position; }
  static sf_count_t seek(sf_count_t offset, int whence, void* user) {
    Memory& memory = of(user);
    const sf_count_t base = whence == SEEK_SET   ? 0
                            : whence == SEEK_CUR ? memory.position
                                                 : size(user);
    sf_count_t target = 0;
    if (__builtin_add_overflow(base, offset, &target) || target < 0) return -1;
    memory.position = target;
    return target;
  }
  static sf_count_t read(void* out, sf_count_t count, void* user) {
    Memory& memory = of(user);
    const sf_count_t left = size(user) - memory.position;
    if (count > left) count = left;
    if (count <= 0) return 0;
    std::memcpy(out, memory.bytes.data() + memory.position, static_cast<size_t>(count));
    memory.position += count;
    return count;
  }
  static sf_count_t write(const void*, sf_count_t, void*) { return 0; }
};

SF_VIRTUAL_IO memory_functions = {Memory::size, Memory::seek, Memory::read, Memory::write,
                                  Memory::tell};

class SndfileSource : public SoundSource {
 public:
  SndfileSource(ByteSpan bytes, std::string name) : memory_{bytes}, name_(std::move(name)) {
    const FileFormat format = check_file_format(bytes, name_);
    SF_INFO info = {};
    file_ = sf_open_virtual(&memory_functions, SFM_READ, &info, &memory_);
    if (file_ == nullptr) fail(ErrorCode::InvalidFile, "{}: {}", name_, reason(nullptr));
    sampling_rate = info.samplerate;
    channels = info.channels;
    // What has no known length has the largest.
    if (info.frames >= 0 && info.frames < SF_COUNT_MAX) num_frames = info.frames;
    is_exact = format == FileFormat::Flac;
  }
  SndfileSource(const SndfileSource&) = delete;
  SndfileSource& operator=(const SndfileSource&) = delete;
  ~SndfileSource() override {
    if (file_ != nullptr) sf_close(file_);
  }

  size_t read(std::span<float> out) override {
    const sf_count_t count =
        sf_readf_float(file_, out.data(), static_cast<sf_count_t>(out.size()) / channels);
    if (count <= 0 && sf_error(file_) != SF_ERR_NO_ERROR) {
      fail(ErrorCode::InvalidFile, "{}: {}", name_, reason(file_));
    }
    return count > 0 ? static_cast<size_t>(count) : 0;
  }

 private:
  // libsndfile's messages end with a period and may have several lines.
  static std::string reason(SNDFILE* file) {
    std::string text = sf_strerror(file);
    text.resize(text.find_last_not_of(". \n") + 1);
    for (char& c : text) c = c == '\n' ? ' ' : c;
    return text;
  }

  Memory memory_;
  std::string name_;
  SNDFILE* file_ = nullptr;
};

}  // namespace

std::unique_ptr<SoundSource> open_sound_file(ByteSpan file, const std::string& name) {
  return std::make_unique<SndfileSource>(file, name);
}

}  // namespace pippin::sound
