#include "pippin/app/open/voice_model.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/app/open/hub_model.h"
#include "pippin/base/error.h"
#include "pippin/mil/package/package.h"
#include "pippin/speech/voice/silero.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

// The only package with Silero's name in a folder, or the only one.
std::string voice_stem(const runtime::PackageFolder& folder) {
  std::vector<std::string> stems = folder.stems();
  std::vector<std::string> named;
  for (const std::string& stem : stems) {
    if (stem.find("vad") != stem.npos) named.push_back(stem);
  }
  if (!named.empty()) stems = std::move(named);
  if (stems.size() == 1) return stems.front();
  if (stems.empty()) {
    fail(ErrorCode::NotFound, "{}: holds no package of a model of voice", folder.path().string());
  }
  fail(ErrorCode::InvalidArgument, "{}: several packages: name one of {}", folder.path().string(),
       fmt::join(stems, ", "));
}

}  // namespace

OpenedVoice open_voice(const ModelChoice& choice) {
  const fs::path path = resolve_model(choice.vad, ModelPart::Files, choice.pulls);
  if (!fs::exists(path)) {
    fail(ErrorCode::NotFound, "{}: there is no such model of voice", choice.vad);
  }
  OpenedVoice opened;
  opened.pool = std::make_shared<ThreadPool>(choice.load.threads, choice.load.pinning);
  fs::path package = path;
  if (!mil::is_package(path)) {
    auto folder = std::make_shared<runtime::PackageFolder>(path);
    package = folder->package(voice_stem(*folder));
    opened.files = std::move(folder);
  }
  opened.detector = with_context(choice.vad, [&] {
    return std::make_shared<speech::SileroVoice>(package, package.filename().string(), *opened.pool,
                                                 choice.load.compute);
  });
  return opened;
}

}  // namespace pippin::app
