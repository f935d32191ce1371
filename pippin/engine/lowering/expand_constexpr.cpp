#include "pippin/engine/lowering/expand_constexpr.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/lowering/constexpr_input.h"
#include "pippin/mil/elements.h"

namespace pippin::engine {
namespace {

using mil::DataType;

constexpr int64_t kElementsAtOnce = int64_t{1} << 16;  // of a thread

// Calls body(chunk) for [0, chunks), on all threads if that pays off.
template <typename Body>
void for_each_chunk(int64_t chunks, const Body& body) {
  constexpr int64_t kWorthSharing = 16;
  if (chunks < kWorthSharing) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) body(chunk);
    return;
  }
  ThreadPool pool;
  pool.run([&](int part, int parts) {
    const Range share = split_range(chunks, part, parts);
    for (int64_t chunk = share.begin; chunk < share.end; ++chunk) body(chunk);
  });
}

// The set bits of a packed mask, in chunks with the number of set bits before each.
class Mask {
 public:
  // Throws InvalidFile unless `ones` bits are set.
  Mask(const Builder& builder, const mil::Operation& operation, const std::byte* bits,
       int64_t count, int64_t ones)
      : bits_(bits), count_(count) {
    before_.resize(static_cast<size_t>(ceil_div(count, kElementsAtOnce)) + 1);
    for_each_chunk(chunks(), [&](int64_t chunk) {
      int64_t sum = 0;
      for_each_word(chunk, [&](uint64_t word, int64_t) { sum += std::popcount(word); });
      before_[static_cast<size_t>(chunk) + 1] = sum;
    });
    for (size_t i = 1; i < before_.size(); ++i) before_[i] += before_[i - 1];
    if (before_.back() != ones) {
      fail(ErrorCode::InvalidFile, "{}: the mask has {} ones, the data {} elements",
           builder.where(operation), before_.back(), ones);
    }
  }

  // Calls visit(place, index): the index-th set bit of the mask is at `place`.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for_each_chunk(chunks(), [&](int64_t chunk) {
      int64_t index = before_[static_cast<size_t>(chunk)];
      for_each_word(chunk, [&](uint64_t word, int64_t start) {
        for (; word != 0; word &= word - 1) visit(start + std::countr_zero(word), index++);
      });
    });
  }

 private:
  int64_t chunks() const { return ceil_div(count_, kElementsAtOnce); }

  template <typename Visit>
  void for_each_word(int64_t chunk, const Visit& visit) const {
    const int64_t end = std::min(count_, (chunk + 1) * kElementsAtOnce);
    for (int64_t at = chunk * kElementsAtOnce; at < end; at += 64) {
      const int64_t left = std::min<int64_t>(64, end - at);
      uint64_t word = 0;
      std::memcpy(&word, bits_ + at / 8, static_cast<size_t>(ceil_div<int64_t>(left, 8)));
      if (left < 64) word &= (uint64_t{1} << left) - 1;
      visit(word, at);
    }
  }

  const std::byte* bits_;
  int64_t count_;
  std::vector<int64_t> before_;  // by chunk
};

template <typename T>
void put(std::vector<std::byte>& to, int64_t index, T value) {
  std::memcpy(to.data() + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

void copy_element(std::vector<std::byte>& to, int64_t to_index, const std::byte* from,
                  int64_t from_index, DataType type) {
  if (type == DataType::Float16) {
    std::memcpy(to.data() + 2 * to_index, from + 2 * from_index, 2);
  } else {
    std::memcpy(to.data() + 4 * to_index, from + 4 * from_index, 4);
  }
}

// Reads an element of any numeric type.
double number_at(const ConstexprInput& input, int64_t index) {
  const ByteSpan bytes(input.data, static_cast<size_t>(mil::packed_size(input.type, input.count)));
  return mil::bits_to_double(input.type,
                             mil::element_bits(input.type, bytes, static_cast<size_t>(index)));
}

// Indices into palettes: unsigned integers of 1 to 8 bits, the first one in the lowest bits.
class Codes {
 public:
  explicit Codes(const ConstexprInput& input)
      : data_(reinterpret_cast<const uint8_t*>(input.data)),
        bits_(static_cast<int>(mil::packed_size(input.type, 8))) {}
  static bool can_read(DataType type) {
    return mil::is_integer(type) && mil::packed_size(type, 8) <= 8;
  }
  int64_t at(int64_t index) const {
    const int64_t bit = index * bits_;
    const int shift = static_cast<int>(bit % 8);
    unsigned word = data_[bit / 8];
    if (shift + bits_ > 8) word |= static_cast<unsigned>(data_[bit / 8 + 1]) << 8;
    return static_cast<int64_t>((word >> shift) & ((1U << bits_) - 1));
  }

 private:
  const uint8_t* data_;
  int bits_;
};

// The block of one element after another, with divisions only at the beginning of a block.
class BlockWalk {
 public:
  BlockWalk(const kernels::QuantizedMatrix& w, int64_t place)
      : w_(w), row_(place / w.k), column_(place % w.k) {
    find();
  }
  int64_t block() const { return block_; }
  void next() {
    if (++column_ == w_.k) {
      column_ = 0;
      ++row_;
    }
    if (column_ == end_ || column_ == 0) find();
  }

 private:
  void find() {
    const int64_t across = column_ / w_.block_columns;
    block_ = row_ / w_.block_rows * w_.blocks_per_row + across;
    end_ = (across + 1) * w_.block_columns;
  }

  const kernels::QuantizedMatrix& w_;
  int64_t row_, column_, block_ = 0, end_ = 0;
};

class Expander {
 public:
  Expander(Builder& builder, const mil::Operation& operation)
      : builder_(builder), operation_(operation) {}

  bool run() {
    const std::string& op = operation_.type();
    if (op == "constexpr_sparse_to_dense") return sparse();
    if (op == "constexpr_sparse_blockwise_shift_scale") return sparse_blocks();
    if (op == "constexpr_lut_to_sparse") return sparse_palette();
    if (op == "constexpr_lut_to_dense") return vector_palette();
    if (op == "constexpr_cast") return cast();
    return false;
  }

 private:
  std::optional<ConstexprInput> input(std::string_view name) {
    return constexpr_input(builder_, operation_, name);
  }

  // `count` elements that `make` returns.
  void define(const mil::Var* var, DataType type, int64_t count,
              const std::function<std::vector<std::byte>()>& make) {
    log_debug("'{}' becomes dense: {}", var->name, operation_.type());
    const Storage storage = type == DataType::Float16 ? Storage::F16 : Storage::F32;
    const uint64_t size = mil::packed_size(type, count);
    if (is_step_) {
      const ArrayRequest request{var, size, builder_.opset()};
      builder_.define(var, builder_.shared_constant(storage, builder_.info(var).shape,
                                                    shared_array(request, make)));
      return;
    }
    builder_.define(var, builder_.cached_constant(var, storage, size, make));
  }

  void defer(bool (Expander::*expand)()) {
    builder_.defer(operation_.output(1), [&builder = builder_, &operation = operation_, expand] {
      Expander values(builder, operation);
      values.is_step_ = true;
      (values.*expand)();
    });
  }

  bool sparse() {
    const mil::Var* values = operation_.input_var("nonzero_data");
    const bool later = values != nullptr && builder_.is_deferred(values);
    const auto data = later ? std::nullopt : input("nonzero_data"), mask = input("mask");
    if ((!data && !later) || !mask) return false;
    const DataType type = later ? builder_.info(values).type : data->type;
    if (!float_type(type)) return false;
    const auto dims = mil::constant_shape(builder_.info(operation_.output()).shape);
    if (!dims) return false;
    const int64_t count = mil::num_elements(*dims);
    const int64_t bits = mask->type == DataType::UInt1 ? mask->count : 8 * mask->count;
    if ((mask->type != DataType::UInt1 && mask->type != DataType::UInt8) || bits < count) {
      return false;
    }
    define(operation_.output(), type, count, [&] {
      const auto given = later ? input("nonzero_data") : data;
      if (!given || given->type != type) {
        fail(ErrorCode::Internal, "{}: its values are not constant", builder_.where(operation_));
      }
      const Mask ones(builder_, operation_, mask->data, count, given->count);
      std::vector<std::byte> dense(static_cast<size_t>(mil::packed_size(type, count)));
      ones.for_each([&](int64_t place, int64_t index) {
        copy_element(dense, place, given->data, index, type);
      });
      return dense;
    });
    return true;
  }

  // Whether both results of a sparse op are only used by constexpr_sparse_to_dense, which reads the
  // first op's mask.
  bool feeds_sparse_only() const {
    return builder_.all_users(operation_, [](const mil::Operation& user) {
      return user.type() == "constexpr_sparse_to_dense";
    });
  }

  // The values of joint forms, computed if the dense weight is not known yet.
  bool sparse_blocks() {
    const auto mask = input("data_mask"), data = input("nonzero_data"), scale = input("scale");
    const bool offsets = operation_.find_input("offset") != nullptr;
    const auto offset = input("offset");
    kernels::QuantizedMatrix w{};
    if (!mask || !data || !scale || mask->type != DataType::UInt1 || !float_type(scale->type) ||
        (offsets && (!offset || offset->dims != scale->dims)) || !feeds_sparse_only() ||
        !set_blocks(mask->dims, scale->dims, w)) {
      return false;
    }
    if (!is_step_) {
      defer(&Expander::sparse_blocks);
      return true;
    }
    define(operation_.output(1), scale->type, data->count, [&] {
      const Mask ones(builder_, operation_, mask->data, mask->count, data->count);
      std::vector<std::byte> values(
          static_cast<size_t>(mil::packed_size(scale->type, data->count)));
      ones.for_each([&](int64_t place, int64_t index) {
        const int64_t block = block_of(w, place);
        const double value = (number_at(*data, index) - (offsets ? number_at(*offset, block) : 0)) *
                             number_at(*scale, block);
        if (scale->type == DataType::Float16) {
          put(values, index, to_float16(static_cast<float>(value)));
        } else {
          put(values, index, static_cast<float>(value));
        }
      });
      return values;
    });
    return true;
  }

  bool sparse_palette() {
    const auto mask = input("indices_mask"), data = input("indices_nonzero_data"),
               lut = input("lut");
    kernels::QuantizedMatrix w{};
    if (!mask || !data || !lut || mask->type != DataType::UInt1 || !feeds_sparse_only() ||
        !set_palettes(mask->dims, *lut, w) || lut->dims.back() != 1 ||
        !Codes::can_read(data->type)) {
      return false;
    }
    if (!is_step_) {
      defer(&Expander::sparse_palette);
      return true;
    }
    const Codes codes(*data);
    const int64_t entries = lut->dims[lut->dims.size() - 2];
    define(operation_.output(1), lut->type, data->count, [&] {
      const Mask ones(builder_, operation_, mask->data, mask->count, data->count);
      std::vector<std::byte> values(static_cast<size_t>(mil::packed_size(lut->type, data->count)));
      ones.for_each([&](int64_t place, int64_t index) {
        const int64_t code = codes.at(index) & (entries - 1);
        copy_element(values, index, lut->data, block_of(w, place) * entries + code, lut->type);
      });
      return values;
    });
    return true;
  }

  // Each index stands for several values along vector_axis.
  bool vector_palette() {
    if (builder_.opset() < mil::Opset::CoreML8) return false;
    const auto indices = input("indices"), lut = input("lut");
    const mil::Value* axis_value = constexpr_constant(operation_, "vector_axis");
    kernels::QuantizedMatrix w{};
    if (!indices || !lut || axis_value == nullptr || !set_palettes(indices->dims, *lut, w) ||
        !Codes::can_read(indices->type)) {
      return false;
    }
    const Codes codes(*indices);
    const auto rank = static_cast<int64_t>(indices->dims.size());
    const std::vector<int64_t> axes = axis_value->to_ints();
    const int64_t axis = axes.size() != 1 ? -1 : axes[0] < 0 ? axes[0] + rank : axes[0];
    if (axis < 0 || axis >= rank) return false;
    int64_t inner = 1;
    for (int64_t i = axis + 1; i < rank; ++i) inner *= indices->dims[static_cast<size_t>(i)];
    const int64_t width = lut->dims.back();
    const int64_t entries = lut->dims[lut->dims.size() - 2];
    define(operation_.output(), lut->type, indices->count * width, [&] {
      std::vector<std::byte> dense(
          static_cast<size_t>(mil::packed_size(lut->type, indices->count * width)));
      for_each_chunk(ceil_div(indices->count, kElementsAtOnce), [&](int64_t chunk) {
        const int64_t end = std::min(indices->count, (chunk + 1) * kElementsAtOnce);
        BlockWalk blocks(w, chunk * kElementsAtOnce);
        int64_t row = chunk * kElementsAtOnce / inner,
                column = chunk * kElementsAtOnce % inner;  // row: outer, axis
        for (int64_t at = chunk * kElementsAtOnce; at < end; ++at, blocks.next()) {
          const int64_t code = codes.at(at) & (entries - 1);
          const int64_t entry = (blocks.block() * entries + code) * width;
          const int64_t to = row * width * inner + column;
          if (++column == inner) {
            column = 0;
            ++row;
          }
          for (int64_t v = 0; v < width; ++v) {
            copy_element(dense, to + v * inner, lut->data, entry + v, lut->type);
          }
        }
      });
      return dense;
    });
    return true;
  }

  // A float constant in another width is read as it is stored.
  bool cast() {
    const auto source = input("source_val");
    if (!source || !float_type(source->type)) return false;
    const Storage storage = source->type == DataType::Float16 ? Storage::F16 : Storage::F32;
    builder_.define(operation_.output(),
                    builder_.borrowed_constant(storage, builder_.info(operation_.output()).shape,
                                               source->data));
    return true;
  }

  static bool set_palettes(const std::vector<int64_t>& dims, const ConstexprInput& lut,
                           kernels::QuantizedMatrix& w) {
    if (!float_type(lut.type) || lut.dims.size() != dims.size() + 2) return false;
    const std::vector<int64_t> groups(lut.dims.begin(), lut.dims.end() - 2);
    return palette_bits(lut.dims[lut.dims.size() - 2]) != 0 && set_blocks(dims, groups, w);
  }

  static int64_t block_of(const kernels::QuantizedMatrix& w, int64_t place) {
    const int64_t i = place / w.k, j = place % w.k;
    return i / w.block_rows * w.blocks_per_row + j / w.block_columns;
  }

  Builder& builder_;
  const mil::Operation& operation_;
  bool is_step_ = false;  // only cached operations read its result
};

}  // namespace

bool expand_constexpr(Builder& builder, const mil::Operation& operation) {
  return Expander(builder, operation).run();
}

}  // namespace pippin::engine
