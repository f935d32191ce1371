// The files of CoreML-LLM's bundles: model_config.json up to a zero byte, the values and the scales
// of a table, each after its length in two bytes, and an array of angles. Any bytes give rows of
// the sizes that the configuration states, or an Error.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/families/coreml_llm.h"
#include "pippin/io/digest.h"
#include "pippin/runtime/coreml_llm/files.h"
#include "pippin/runtime/coreml_llm/tables.h"

namespace {

namespace fs = std::filesystem;
namespace coreml_llm = pippin::families::coreml_llm;
using namespace pippin;

// Removes the part from the bytes.
std::string_view take(std::string_view& bytes, size_t size) {
  const std::string_view part = bytes.substr(0, size);
  bytes.remove_prefix(part.size());
  return part;
}

std::string_view take_counted(std::string_view& bytes) {
  const std::string_view count = take(bytes, 2);
  if (count.size() < 2) return {};
  return take(bytes, static_cast<uint8_t>(count[0]) + 256U * static_cast<uint8_t>(count[1]));
}

template <typename Read>
void read_or_fail(const Read& read) {
  try {
    read();
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const TempDir folder;
  const fs::path& root = folder.path();
  for (const char* chunk : coreml_llm::kFourChunks) {
    fs::create_directory(root / (std::string(chunk) + ".mlpackage"));
  }
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string_view config = take(bytes, bytes.find('\0'));
  take(bytes, 1);
  write_file(root / coreml_llm::kConfigFile, config);
  write_file(root / "embed_tokens_q8.bin", take_counted(bytes));
  write_file(root / "embed_tokens_scales.bin", take_counted(bytes));
  write_file(root / "cos_full.npy", bytes);
  read_or_fail([&] { runtime::find_coreml_llm_files(root); });
  read_or_fail([&] {
    const runtime::CoreMlLlmSizes sizes = runtime::read_coreml_llm_sizes(root);
    if (!std::isfinite(sizes.embed_scale) || !std::isfinite(sizes.layer_scale)) __builtin_trap();
    const runtime::QuantizedTable table(root, coreml_llm::kTokenTable, sizes.vocabulary,
                                        sizes.hidden, sizes.embed_scale);
    std::vector<float> row(static_cast<size_t>(table.width()));
    for (const int64_t id : {int64_t{0}, sizes.vocabulary - 1}) table.copy_row(id, row);
    Digest digest = Digest::sha256();
    table.add_to(digest);
    digest.finish();
  });
  read_or_fail([&] {
    const std::array<fs::path, 1> folders = {root};
    const runtime::AngleTable table(folders, "cos_full");
    volatile float last = 0;  // every value is read
    for (const int64_t position : {int64_t{0}, table.positions() - 1}) {
      const auto row = table.row(position);
      if (static_cast<int64_t>(row.size()) != table.width()) __builtin_trap();
      for (const float value : row) last = value;
    }
    static_cast<void>(last);
  });
  return 0;
}
