#include "pippin/runtime/package/model_digest.h"

#include <algorithm>
#include <string_view>
#include <variant>
#include <vector>

namespace pippin::runtime {
namespace {

constexpr uint64_t kPieces = 16, kPieceBytes = 4096;

// Adds fields with their lengths, so that different lists of fields never have the same bytes.
class Fields {
 public:
  explicit Fields(Digest& digest) : digest_(digest) {}

  void add(ByteSpan bytes) {
    add(bytes.size());
    digest_.update(bytes);
  }
  void add(std::string_view text) { add(as_byte_span(text)); }
  void add(uint64_t number) { digest_.update(std::as_bytes(std::span(&number, 1))); }

  void add(const mil::Value& value) {
    add(mil::to_string(value.type));
    add(value.bytes);
    add(value.strings.size());
    for (const std::string& text : value.strings) add(text);
    add(value.elements.size());
    for (const mil::Value& element : value.elements) add(element);
    add(uint64_t{value.source != nullptr});
    if (value.source) add_pieces(*value.source);
  }

  void add(const mil::Operation& operation) {
    add(operation.type());
    for (const auto& [name, value] : operation.attributes()) {
      add(name);
      add(value);
    }
    for (const auto& [name, argument] : operation.inputs()) {
      add(name);
      add(argument.size());
      for (const mil::Binding& binding : argument) {
        if (const auto* literal = std::get_if<mil::Value>(&binding)) {
          add(*literal);
        } else {
          add(std::get<mil::Var*>(binding)->name);
        }
      }
    }
    add(operation.outputs().size());
    for (const auto& output : operation.outputs()) {
      add(output->name);
      add(mil::to_string(output->type));
    }
  }

 private:
  void add_pieces(const mil::TensorSource& source) {
    const uint64_t size = source.size();
    add(size);
    if (size <= kPieces * kPieceBytes) return add_piece(source, 0, size);
    for (uint64_t i = 0; i < kPieces; ++i) {
      add_piece(source, (size - kPieceBytes) / (kPieces - 1) * i, kPieceBytes);
    }
  }
  void add_piece(const mil::TensorSource& source, uint64_t offset, uint64_t size) {
    piece_.resize(size);
    source.read(offset, piece_);
    digest_.update(piece_);
  }

  Digest& digest_;
  std::vector<std::byte> piece_;
};

}  // namespace

void add_program(Digest& digest, const mil::Model& model) {
  Fields fields(digest);
  for (const auto& [name, function] : model.program.functions) {
    fields.add(name);
    mil::for_each_operation(function->block(),
                            [&](const mil::Operation& operation) { fields.add(operation); });
  }
}

}  // namespace pippin::runtime
