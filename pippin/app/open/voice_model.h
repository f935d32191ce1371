// Opens a model of voice: a package of Silero's detector, a folder of one, or org/name.
#pragma once

#include <memory>

#include "pippin/app/open/open_model.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/runtime/package/folder.h"
#include "pippin/speech/voice/voice_detector.h"

namespace pippin::app {

struct OpenedVoice {
  std::shared_ptr<ThreadPool> pool;
  std::shared_ptr<const runtime::PackageFolder> files;  // that the model uses
  std::shared_ptr<speech::VoiceDetector> detector;      // null: none
};

// Of `choice.vad`, with the threads of `choice.load`. Throws NotFound, InvalidArgument for a folder
// of several packages, InvalidFile and Unsupported for packages of other models.
OpenedVoice open_voice(const ModelChoice& choice);

}  // namespace pippin::app
