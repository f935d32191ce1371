#include "pippin/cuda/fake/weight_testing.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/engine/weights/block_rows.h"

namespace pippin::cuda {
namespace {

using kernels::OffsetType;
using kernels::WeightType;

// A weight with its memory.
struct HeldWeight {
  engine::QuantizedWeight weight;
  std::vector<uint8_t> codes;
  std::vector<std::byte> numbers, offsets;
};

std::vector<uint8_t> random_bytes(std::mt19937& random, int64_t count) {
  std::vector<uint8_t> bytes(static_cast<size_t>(count));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

std::vector<std::byte> random_floats(std::mt19937& random, WeightType type, int64_t count,
                                     float scale) {
  std::normal_distribution<float> normal(0, scale);
  const size_t each = type == WeightType::F32 ? 4 : 2;
  std::vector<std::byte> bytes(static_cast<size_t>(count) * each);
  for (size_t i = 0; i < bytes.size(); i += each) {
    const float number = normal(random);
    const uint16_t bits =
        type == WeightType::F16 ? to_float16(number).bits : to_bfloat16(number).bits;
    if (each == 4) {
      std::memcpy(bytes.data() + i, &number, 4);
    } else {
      std::memcpy(bytes.data() + i, &bits, 2);
    }
  }
  return bytes;
}

void set_offsets(HeldWeight& held, const WeightCase& one, int64_t blocks, std::mt19937& random) {
  kernels::QuantizedMatrix& w = held.weight.matrix;
  w.offset_type = one.offsets;
  w.scaled_offsets = one.scaled_offsets;
  const auto floats = [&](WeightType type) {
    return random_floats(random, type, blocks, one.scaled_offsets ? 1.0F : 8.0F);
  };
  switch (one.offsets) {
    case OffsetType::None:
      return;
    case OffsetType::F32:
      held.offsets = floats(WeightType::F32);
      break;
    case OffsetType::F16:
      held.offsets = floats(WeightType::F16);
      break;
    case OffsetType::BF16:
      held.offsets = floats(WeightType::BF16);
      break;
    default:
      held.offsets.reserve(static_cast<size_t>(blocks));
      for (const uint8_t byte : random_bytes(random, blocks)) {
        held.offsets.push_back(static_cast<std::byte>(byte));
      }
  }
  w.offsets = held.offsets.data();
}

std::shared_ptr<const engine::QuantizedWeight> random_blocks(const WeightCase& one, int64_t n,
                                                             int64_t k, std::mt19937& random) {
  const auto forms = kernels::ggml_forms();
  const auto form =
      std::find_if(forms.begin(), forms.end(), [&](const auto& f) { return f.name == one.ggml; });
  if (k % form->columns != 0) return nullptr;
  const auto held = std::make_shared<HeldWeight>();
  // Scales are halves somewhere in a block: no bytes with the highest exponents.
  held->codes = random_bytes(random, n * (k / form->columns) * form->bytes);
  for (uint8_t& byte : held->codes) byte &= 0xB7;
  held->weight = *engine::block_weight({form->type, held->codes.data(), n, k, nullptr},
                                       mil::DataType::Float16);
  return {held, &held->weight};
}

}  // namespace

const std::vector<WeightCase>& weight_cases() {
  static const std::vector<WeightCase> cases = {
      {.name = "int4, blocks of 32"},
      {.name = "int4, blocks of 16", .block_columns = 16},
      {.name = "int4, blocks of 24", .block_columns = 24},
      {.name = "int4, blocks of 12", .block_columns = 12},
      {.name = "int4, fp32 scales", .block_columns = 64, .type = WeightType::F32},
      {.name = "int4, a scale for each row", .block_columns = 0},
      {.name = "int4, later in the stream", .block_columns = 0, .first = 5},
      {.name = "uint4, offsets", .is_signed = false, .offsets = OffsetType::U4},
      {.name = "uint4, one scale",
       .is_signed = false,
       .block_rows = 0,
       .block_columns = 0,
       .offsets = OffsetType::I4},
      {.name = "uint4, bf16 and scaled offsets",
       .is_signed = false,
       .type = WeightType::BF16,
       .offsets = OffsetType::F16,
       .scaled_offsets = true},
      {.name = "uint4, fp32 offsets", .is_signed = false, .offsets = OffsetType::F32},
      {.name = "int8, a scale for each row", .bits = 8, .block_columns = 0},
      {.name = "int8, rows together", .bits = 8, .block_rows = 2, .offsets = OffsetType::BF16},
      {.name = "uint8, offsets",
       .bits = 8,
       .is_signed = false,
       .type = WeightType::F32,
       .offsets = OffsetType::U8},
      {.name = "int8, offsets", .bits = 8, .offsets = OffsetType::I8},
      {.name = "palette of 1 bit",
       .bits = 1,
       .is_signed = false,
       .has_palettes = true,
       .block_rows = 0,
       .block_columns = 0},
      {.name = "palette of 3 bits",
       .bits = 3,
       .is_signed = false,
       .has_palettes = true,
       .block_rows = 4,
       .block_columns = 0,
       .type = WeightType::F32},
      {.name = "palette of 4 bits",
       .bits = 4,
       .is_signed = false,
       .has_palettes = true,
       .block_rows = 0,
       .block_columns = 0},
      {.name = "palettes of columns",
       .bits = 4,
       .is_signed = false,
       .has_palettes = true,
       .block_rows = 0,
       .block_columns = 16},
      {.name = "palette of 6 bits",
       .bits = 6,
       .is_signed = false,
       .has_palettes = true,
       .block_rows = 0,
       .block_columns = 0},
      {.name = "palettes of 8 bits",
       .bits = 8,
       .is_signed = false,
       .has_palettes = true,
       .block_rows = 1,
       .block_columns = 0,
       .type = WeightType::BF16},
      {.name = "q4_0", .ggml = "q4_0"},
      {.name = "q4_1", .ggml = "q4_1"},
      {.name = "q5_1", .ggml = "q5_1"},
      {.name = "q8_0", .ggml = "q8_0"},
      {.name = "q4_k", .ggml = "q4_k"},
      {.name = "q6_k", .ggml = "q6_k"},
  };
  return cases;
}

std::shared_ptr<const engine::QuantizedWeight> random_weight(const WeightCase& one, int64_t n,
                                                             int64_t k, uint32_t seed) {
  std::mt19937 random(seed);
  if (!one.ggml.empty()) return random_blocks(one, n, k, random);
  const auto held = std::make_shared<HeldWeight>();
  kernels::QuantizedMatrix& w = held->weight.matrix;
  w.first = one.first;
  w.n = n;
  w.k = k;
  w.bits = one.bits;
  w.is_signed = one.is_signed;
  w.block_rows = one.block_rows == 0 ? n : one.block_rows;
  w.block_columns = one.block_columns == 0 ? k : one.block_columns;
  w.blocks_per_row = ceil_div(k, w.block_columns);
  const int64_t blocks = ceil_div(n, w.block_rows) * w.blocks_per_row;
  held->codes = random_bytes(random, ((n * k + one.first) * one.bits + 7) / 8);
  w.codes = held->codes.data();
  held->weight.form = one.name;
  held->numbers = random_floats(random, one.type, one.has_palettes ? blocks << one.bits : blocks,
                                one.has_palettes ? 1.0F : 0.1F);
  if (one.has_palettes) {
    w.palettes = held->numbers.data();
    w.palette_type = one.type;
    if (w.blocks_per_row == 1) {
      held->weight.byte_palettes =
          kernels::make_byte_palettes(w.palettes, one.type, one.bits, blocks);
      w.byte_palettes = held->weight.byte_palettes.bytes.data();
      w.byte_scales = held->weight.byte_palettes.scales.data();
    }
  } else {
    w.scales = held->numbers.data();
    w.scale_type = one.type;
    set_offsets(*held, one, blocks, random);
  }
  return {held, &held->weight};
}

std::shared_ptr<const engine::E4M7Weight> random_narrow(WeightType type, int64_t n, int64_t k,
                                                        uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.02F);
  const auto bytes = std::make_shared<std::vector<std::byte>>(kernels::e4m7_bytes(n, k));
  const kernels::E4M7Parts parts = kernels::e4m7_parts(bytes->data(), n, k);
  std::vector<uint16_t> row(static_cast<size_t>(k));
  uint32_t exceptions = 0;
  const auto room = static_cast<uint32_t>(kernels::most_e4m7_exceptions(n, k));
  for (int64_t j = 0; j < n; ++j) {
    const bool has_outlier = exceptions < room && j % 2 == 0;
    for (size_t i = 0; i < row.size(); ++i) {
      // Not so small that it would be an exception too.
      const float number = std::copysign(std::max(std::abs(normal(random)), 1e-3F), normal(random));
      const float value = to_float(to_bfloat16(has_outlier && i == 1 ? 300.0F : number));
      row[i] = type == WeightType::F16 ? to_float16(value).bits : to_bfloat16(value).bits;
    }
    const kernels::E4M7Row packed = kernels::pack_e4m7_row(
        type, reinterpret_cast<const std::byte*>(row.data()), k, parts.codes + j * parts.row_bytes,
        parts.exceptions + exceptions, room - exceptions);
    parts.scales[j] = packed.scale;
    parts.begins[j] = exceptions;
    exceptions += static_cast<uint32_t>(packed.num_exceptions);
    if (exceptions > room) fail(ErrorCode::Internal, "{} of {} exceptions", exceptions, room);
  }
  parts.begins[n] = exceptions;
  const auto weight = std::make_shared<engine::E4M7Weight>();
  weight->matrix = kernels::e4m7_matrix(bytes->data(), n, k);
  weight->bytes = {bytes, bytes->data()};
  return weight;
}

}  // namespace pippin::cuda
