#include "pippin/runtime/sequence_file.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/io/load_cache_files.h"

namespace pippin::runtime {
namespace {

constexpr std::string_view kMagic = "PIPPINSQ";
constexpr uint32_t kVersion = 1, kVersionWithRows = 2, kVersionWithSteps = 3;
constexpr size_t kHeaderBytes = kMagic.size() + sizeof(uint32_t) + sizeof(uint64_t);
constexpr size_t kDigestBytes = 64;

uint64_t checksum_of(ByteSpan bytes) {
  return load_cache::checksum(bytes, [](size_t count, const std::function<void(size_t)>& body) {
    for (size_t i = 0; i < count; ++i) body(i);
  });
}

class Writer {
 public:
  template <typename T>
  void put(T value) {
    put_bytes(std::as_bytes(std::span(&value, 1)));
  }
  void put_bytes(ByteSpan bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void put_text(std::string_view text) { put_bytes(as_byte_span(text)); }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

uint32_t version_of(const std::vector<RowRun>& runs) {
  if (runs.empty()) return kVersion;
  const bool steps =
      std::any_of(runs.begin(), runs.end(), [](const RowRun& run) { return run.frame_step != 1; });
  return steps ? kVersionWithSteps : kVersionWithRows;
}

void put_runs(Writer& writer, const std::vector<RowRun>& runs) {
  const bool steps = version_of(runs) == kVersionWithSteps;
  writer.put(static_cast<uint64_t>(runs.size()));
  for (const RowRun& run : runs) {
    writer.put(run.begin);
    writer.put(run.count);
    for (const int64_t size : run.grid) writer.put(size);
    if (steps) writer.put(run.frame_step);
    writer.put_text(run.digest);
  }
}

std::vector<RowRun> read_runs(ByteReader& reader, uint32_t version) {
  std::vector<RowRun> runs;
  for (auto left = reader.read<uint64_t>(); left > 0; --left) {
    RowRun& run = runs.emplace_back();
    run.begin = reader.read<int64_t>();
    run.count = reader.read<int64_t>();
    for (int64_t& size : run.grid) size = reader.read<int64_t>();
    if (version == kVersionWithSteps) run.frame_step = reader.read<int64_t>();
    run.digest = as_text(reader.take(kDigestBytes));
  }
  return runs;
}

uint64_t times(uint64_t a, uint64_t b, const std::string& path) {
  if (const auto product = checked_mul(a, b)) return *product;
  fail(ErrorCode::InvalidFile, "{}: {} times {} bytes", path, a, b);
}

}  // namespace

CacheArray cache_array(std::string name, uint64_t bytes, const std::vector<int64_t>& shape,
                       int64_t length, int64_t filled) {
  CacheArray array{std::move(name), bytes};
  if (std::count(shape.begin(), shape.end(), length) != 1 || filled > length) return array;
  const auto axis = std::find(shape.begin(), shape.end(), length);
  uint64_t groups = 1;
  for (auto size = shape.begin(); size != axis; ++size) groups *= static_cast<uint64_t>(*size);
  const auto rows = static_cast<uint64_t>(length);
  if (groups == 0 || rows == 0 || bytes % (groups * rows) != 0) return array;
  array.groups = groups;
  array.rows = rows;
  array.filled = static_cast<uint64_t>(filled);
  array.by_token = true;
  return array;
}

std::vector<std::byte> to_bytes(const SavedSequence& sequence,
                                const std::vector<CacheArray>& arrays, const ReadRows& read) {
  Writer writer;
  writer.put_text(kMagic);
  writer.put(version_of(sequence.runs));
  writer.put(uint64_t{0});  // the size, written at the end
  writer.put_text(sequence.digest);
  writer.put(sequence.context);
  writer.put(sequence.marks);
  writer.put(static_cast<uint64_t>(sequence.tokens.size()));
  writer.put_bytes(std::as_bytes(std::span(sequence.tokens)));
  if (!sequence.runs.empty()) put_runs(writer, sequence.runs);
  writer.put(static_cast<uint64_t>(arrays.size()));
  for (size_t i = 0; i < arrays.size(); ++i) {
    const CacheArray& array = arrays[i];
    writer.put(static_cast<uint64_t>(array.name.size()));
    writer.put_text(array.name);
    const engine::StateRows rows = array.filled_rows();
    for (const uint64_t number : {rows.groups, rows.rows, rows.first, rows.count, rows.row_bytes}) {
      writer.put(number);
    }
    const size_t begin = writer.bytes().size();
    writer.bytes().resize(begin + rows.size());
    read(i, rows, writer.bytes().data() + begin);
  }
  const uint64_t total = writer.bytes().size() + sizeof(uint64_t);
  std::memcpy(writer.bytes().data() + kMagic.size() + sizeof(kVersion), &total, sizeof(total));
  writer.put(checksum_of(writer.bytes()));
  return std::move(writer.bytes());
}

SequenceFile::SequenceFile(const std::filesystem::path& path)
    : path_(path.string()), file_(MappedFile::open(path)) {
  parse(file_->bytes());
}

SequenceFile::SequenceFile(ByteSpan bytes, std::string name) : path_(std::move(name)) {
  parse(bytes);
}

void SequenceFile::parse(ByteSpan bytes) {
  if (bytes.size() < kHeaderBytes || as_text(bytes.first(kMagic.size())) != kMagic) {
    fail(ErrorCode::InvalidFile, "{}: not a saved sequence", path_);
  }
  ByteReader header(bytes.subspan(kMagic.size()), path_);
  const auto version = header.read<uint32_t>();
  if (version < kVersion || version > kVersionWithSteps) {
    fail(ErrorCode::Unsupported,
         "{}: a saved sequence of format {}, this version of Pippin reads formats {} to {}", path_,
         version, kVersion, kVersionWithSteps);
  }
  if (const auto size = header.read<uint64_t>();
      size != bytes.size() || size < kHeaderBytes + sizeof(uint64_t)) {
    fail(ErrorCode::InvalidFile, "{}: has {} bytes of the {} that were written", path_,
         bytes.size(), size);
  }
  const ByteSpan content = bytes.first(bytes.size() - sizeof(uint64_t));
  if (ByteReader(bytes.last(sizeof(uint64_t)), path_).read<uint64_t>() != checksum_of(content)) {
    fail(ErrorCode::InvalidFile, "{}: is damaged: its checksum does not match", path_);
  }
  ByteReader reader(content, path_);
  reader.seek(kHeaderBytes);
  sequence_.digest = as_text(reader.take(kDigestBytes));
  sequence_.context = reader.read<int64_t>();
  sequence_.marks = reader.read<uint32_t>();
  const auto tokens = reader.take(times(reader.read<uint64_t>(), sizeof(int32_t), path_));
  sequence_.tokens.resize(tokens.size() / sizeof(int32_t));
  if (!tokens.empty()) std::memcpy(sequence_.tokens.data(), tokens.data(), tokens.size());
  if (version != kVersion) sequence_.runs = read_runs(reader, version);
  for (auto left = reader.read<uint64_t>(); left > 0; --left) {
    Stored& stored = arrays_.emplace_back();
    stored.form.name = as_text(reader.take(reader.read<uint64_t>()));
    for (uint64_t* const number : {&stored.form.groups, &stored.form.rows, &stored.form.first,
                                   &stored.form.filled, &stored.row_bytes}) {
      *number = reader.read<uint64_t>();
    }
    const uint64_t rows = times(stored.form.groups, stored.form.filled, path_);
    stored.content = reader.take(times(rows, stored.row_bytes, path_));
  }
  if (reader.remaining() > 0) {
    fail(ErrorCode::InvalidFile, "{}: has {} bytes after its arrays", path_, reader.remaining());
  }
}

void SequenceFile::check(const std::vector<CacheArray>& arrays) const {
  // Names first: they tell the form of a quantized cache, which has arrays for its scales as well.
  for (size_t i = 0; i < std::min(arrays.size(), arrays_.size()); ++i) {
    const CacheArray &want = arrays[i], &have = arrays_[i].form;
    if (have.name != want.name || have.groups != want.groups || have.rows != want.rows ||
        arrays_[i].row_bytes != want.row_bytes() || have.first > have.rows ||
        have.filled > have.rows - have.first) {
      fail(ErrorCode::InvalidFile, "{}: its array '{}' does not fit the model's '{}'", path_,
           have.name, want.name);
    }
  }
  if (arrays.size() != arrays_.size()) {
    fail(ErrorCode::InvalidFile, "{}: has {} arrays, the model has {}", path_, arrays_.size(),
         arrays.size());
  }
}

void SequenceFile::read(const WriteRows& write) const {
  for (size_t i = 0; i < arrays_.size(); ++i) {
    const CacheArray& form = arrays_[i].form;
    const engine::StateRows rows{form.groups, form.rows, arrays_[i].row_bytes, form.first,
                                 form.filled};
    if (rows.size() > 0) write(i, rows, arrays_[i].content.data());
  }
}

}  // namespace pippin::runtime
