#include "pippin/engine/nodes/buffer.h"

#include "pippin/base/error.h"

namespace pippin::engine {

Storage run_storage(mil::DataType type) {
  if (mil::is_float(type)) return Storage::F32;
  if (mil::is_integer(type)) return Storage::I32;
  if (type == mil::DataType::Bool) return Storage::Bool;
  fail(ErrorCode::Unsupported, "values of type {} do not exist at run time", mil::to_string(type));
}

std::optional<Storage> native_storage(mil::DataType type) {
  switch (type) {
    case mil::DataType::Float32:
      return Storage::F32;
    case mil::DataType::Float16:
      return Storage::F16;
    case mil::DataType::BFloat16:
      return Storage::BF16;
    case mil::DataType::Int32:
      return Storage::I32;
    case mil::DataType::Bool:
      return Storage::Bool;
    default:
      return std::nullopt;
  }
}

}  // namespace pippin::engine
