#include "pippin/io/torch_legacy.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"

namespace pippin {
namespace {

// PROTO 2, then LONG1 of ten bytes: 0x1950a86a20f9469cfc6c.
constexpr std::array<unsigned char, 14> kTorchMagic = {0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c,
                                                       0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};
constexpr size_t kMostKeys = size_t{1} << 20;

// Scans pickles without running them.
class Pickles {
 public:
  Pickles(ByteSpan bytes, const std::string& name)
      : reader_(bytes, name), bytes_(bytes), name_(name) {}

  // Returns the next pickle, up to its STOP instruction.
  ByteSpan next() {
    const size_t begin = reader_.position();
    while (skip(reader_.read<uint8_t>())) {
    }
    return bytes_.subspan(begin, reader_.position() - begin);
  }
  // Returns the texts in the next pickle, in order.
  std::vector<std::string> texts() {
    texts_.emplace();
    next();
    std::vector<std::string> result = std::move(*texts_);
    texts_.reset();
    return result;
  }
  size_t position() const { return reader_.position(); }

 private:
  // Skips one instruction; returns false for STOP.
  bool skip(uint8_t code) {
    switch (code) {
      case '.':
        return false;
      case 'X':  // BINUNICODE
      case 'T':  // BINSTRING
        text(reader_.read<uint32_t>());
        return true;
      case 'U':   // SHORT_BINSTRING
      case 0x8c:  // SHORT_BINUNICODE
        text(reader_.read<uint8_t>());
        return true;
      case 'B':   // BINBYTES
      case 0x8b:  // LONG4
        reader_.take(reader_.read<uint32_t>());
        return true;
      case 'C':   // SHORT_BINBYTES
      case 0x8a:  // LONG1
        reader_.take(reader_.read<uint8_t>());
        return true;
      case 'c':  // GLOBAL
        line();
        line();
        return true;
      default:
        break;
    }
    constexpr std::string_view kBytes1 = "\x80Kqh", kBytes2 = "M", kBytes4 = "Jrj",
                               kBytes8 = "\x95G";
    constexpr std::string_view kPlain =
        "()}]012NRbsuaetldoQ\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x93\x94";
    const char own = static_cast<char>(code);
    const size_t count = kBytes1.find(own) != kBytes1.npos   ? 1
                         : kBytes2.find(own) != kBytes2.npos ? 2
                         : kBytes4.find(own) != kBytes4.npos ? 4
                         : kBytes8.find(own) != kBytes8.npos ? 8
                                                             : 0;
    if (count == 0 && kPlain.find(own) == kPlain.npos) {
      fail(ErrorCode::InvalidFile, "{}: pickle, byte {}: instruction {:#x} is not known", name_,
           reader_.position() - 1, code);
    }
    reader_.take(count);
    return true;
  }

  void text(size_t size) {
    const std::string_view content = as_text(reader_.take(size));
    if (!texts_) return;
    if (texts_->size() == kMostKeys) {
      fail(ErrorCode::LimitExceeded, "{}: more than {} storages", name_, kMostKeys);
    }
    texts_->emplace_back(content);
  }
  void line() {
    while (reader_.read<uint8_t>() != '\n') {
    }
  }

  ByteReader reader_;
  ByteSpan bytes_;
  const std::string& name_;
  std::optional<std::vector<std::string>> texts_;
};

// The machine's properties are a dictionary; NEWFALSE follows "little_endian" and its memo
// instruction on a big-endian machine.
void check_order(ByteSpan facts, const std::string& name) {
  constexpr std::string_view kKey = "little_endian";
  const std::string_view text = as_text(facts);
  const size_t at = text.find(kKey);
  if (at == text.npos) return;
  const std::string_view after = text.substr(at + kKey.size(), 6);
  const size_t flag = after.find_first_of("\x88\x89", after.starts_with('r') ? 5 : 0);
  if (flag != after.npos && after[flag] == '\x89') {
    fail(ErrorCode::Unsupported, "{}: its numbers are not little-endian", name);
  }
}

}  // namespace

bool is_legacy_torch_file(ByteSpan file) {
  return file.size() > kTorchMagic.size() &&
         std::equal(kTorchMagic.begin(), kTorchMagic.end(), file.begin(),
                    [](unsigned char a, std::byte b) { return std::byte{a} == b; });
}

LegacyTorchFile read_legacy_torch_file(ByteSpan file, const std::string& name) {
  Pickles pickles(file, name);
  pickles.next();  // the magic number
  pickles.next();  // the version
  check_order(pickles.next(), name);
  LegacyTorchFile result;
  result.tensors = read_tensor_pickle(pickles.next(), name);
  std::map<std::string_view, Dtype> types;
  const PickledTensor* before = nullptr;
  for (const PickledTensor& tensor : result.tensors) {
    // Any number of tensors may share a long key; it is not compared for each.
    const bool same = before != nullptr && before->storage.data() == tensor.storage.data() &&
                      before->dtype == tensor.dtype;
    before = &tensor;
    if (same || types.emplace(tensor.storage, tensor.dtype).first->second == tensor.dtype) continue;
    fail(ErrorCode::InvalidFile, "{}: storage {} is of two types", name,
         tensor.storage.substr(0, 60));
  }
  const std::vector<std::string> keys = pickles.texts();
  ByteReader reader(file.subspan(pickles.position()), name);
  for (const std::string& key : keys) {
    const auto type = types.find(key);
    if (type == types.end()) {
      fail(ErrorCode::Unsupported, "{}: storage {} belongs to no tensor of the dictionary", name,
           key.substr(0, 60));
    }
    const auto count = reader.read<int64_t>();
    const auto element = static_cast<uint64_t>(bits(type->second)) / 8;
    const auto bytes =
        count < 0 ? std::nullopt : checked_mul(static_cast<uint64_t>(count), element);
    if (!bytes || *bytes > file.size()) {
      fail(ErrorCode::InvalidFile, "{}: storage {} has {} elements, the file {} bytes", name,
           key.substr(0, 60), count, file.size());
    }
    result.storages.emplace(key, reader.take(*bytes));
  }
  return result;
}

}  // namespace pippin
