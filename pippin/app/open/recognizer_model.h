// Opens models of speech other than Whisper: CTC models, transducers, and encoder-decoders that
// take samples.
#pragma once

#include <filesystem>
#include <memory>

#include "pippin/app/open/open_model.h"
#include "pippin/app/open/speech_files.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/speech/recognition/recognized_words.h"
#include "pippin/speech/recognition/recognizer.h"

namespace pippin::app {

struct OpenedRecognizer {
  std::shared_ptr<ThreadPool> pool;
  std::shared_ptr<const void> files;  // that the model uses
  std::unique_ptr<speech::Recognizer> recognizer;
  speech::TokenTexts texts;
};

// Whether a local path is a folder or a package of the family `speech`. Throws the errors of
// reading its files.
bool recognizes_frames(const std::filesystem::path& path);

// Opens one, from a choice that resolve_choice() returned. Throws the errors of reading the files.
OpenedRecognizer open_frame_recognizer(const ModelChoice& choice);

// Whether a local path is a folder of FluidAudio's packages.
bool is_fluidaudio(const std::filesystem::path& path);

// Opens such a folder. Throws NotFound for a missing package or vocabulary, and the errors of
// reading them.
OpenedRecognizer open_fluidaudio(const ModelChoice& choice);

// Takes an encoder-decoder whose source is samples.
OpenedRecognizer open_written_recognizer(runtime::RunnableModel runnable, const SpeechFiles& files);

}  // namespace pippin::app
