// Linked into programs that use the stand-in in place of Core ML.
#include "pippin/coreml/device.h"
#include "tests/coreml/standin.h"

namespace pippin::standin {
namespace {

[[maybe_unused]] const bool is_used = [] {
  take_settings_from_environment();
  coreml::set_system_framework(&coreml::core_ml());
  return true;
}();

}  // namespace
}  // namespace pippin::standin
