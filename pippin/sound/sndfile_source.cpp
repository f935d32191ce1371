// Sound files other than MP3, by libsndfile.
#include <utility>

#include "pippin/base/error.h"
#include "pippin/sound/memory_file.h"
#include "pippin/sound/sndfile_library.h"
#include "pippin/sound/sound_source.h"

namespace pippin::sound {

namespace {

MemoryFile& file_of(void* user) {
  return *static_cast<MemoryFile*>(user);
}

SF_VIRTUAL_IO memory_functions = {
    [](void* user) -> sf_count_t { return file_of(user).size(); },
    [](sf_count_t offset, int whence, void* user) -> sf_count_t {
      return file_of(user).seek(offset, whence);
    },
    [](void* out, sf_count_t count, void* user) -> sf_count_t {
      return file_of(user).read(out, count);
    },
    [](const void*, sf_count_t, void*) -> sf_count_t { return 0; },
    [](void* user) -> sf_count_t { return file_of(user).position; },
};

class SndfileSource : public SoundSource {
 public:
  SndfileSource(ByteSpan bytes, std::string name, bool exact)
      : memory_{bytes}, name_(std::move(name)) {
    SF_INFO info = {};
    file_ = library_.open_virtual(&memory_functions, SFM_READ, &info, &memory_);
    if (file_ == nullptr) fail(ErrorCode::InvalidFile, "{}: {}", name_, reason(nullptr));
    sampling_rate = info.samplerate;
    channels = info.channels;
    // The largest number stands for an unknown length.
    if (info.frames >= 0 && info.frames < SF_COUNT_MAX) num_frames = info.frames;
    is_exact = exact;
  }
  SndfileSource(const SndfileSource&) = delete;
  SndfileSource& operator=(const SndfileSource&) = delete;
  ~SndfileSource() override {
    if (file_ != nullptr) library_.close(file_);
  }

  size_t read(std::span<float> out) override {
    const sf_count_t count =
        library_.readf_float(file_, out.data(), static_cast<sf_count_t>(out.size()) / channels);
    if (count <= 0 && library_.error(file_) != SF_ERR_NO_ERROR) {
      fail(ErrorCode::InvalidFile, "{}: {}", name_, reason(file_));
    }
    return count > 0 ? static_cast<size_t>(count) : 0;
  }

 private:
  // libsndfile's messages end with a period and may have several lines.
  std::string reason(SNDFILE* file) const {
    std::string text = library_.strerror(file);
    text.resize(text.find_last_not_of(". \n") + 1);
    for (char& c : text) c = c == '\n' ? ' ' : c;
    return text;
  }

  const Sndfile& library_ = libsndfile();
  MemoryFile memory_;
  std::string name_;
  SNDFILE* file_ = nullptr;
};

}  // namespace

std::unique_ptr<SoundSource> open_sndfile(ByteSpan file, const std::string& name, bool is_exact) {
  return std::make_unique<SndfileSource>(file, name, is_exact);
}

}  // namespace pippin::sound
