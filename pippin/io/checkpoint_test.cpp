#include "pippin/io/checkpoint.h"

#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/fault_test.h"
#include "pippin/io/safetensors_writer.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

// Writes a shard in which each name is a tensor of one byte.
void write_shard(const fs::path& path, const std::vector<std::string>& names) {
  std::vector<SafetensorsWriter::Declaration> tensors;
  for (const auto& name : names) tensors.push_back({name, Dtype::U8, {1}});
  SafetensorsWriter writer(path, tensors);
  for (const auto& name : names) writer.append(as_byte_span(name.substr(0, 1)));
  writer.finish();
}

void write_index(const fs::path& folder, const std::string& weight_map) {
  write_file(folder / "model.safetensors.index.json", "{\"weight_map\": " + weight_map + "}");
}

TEST(Checkpoint, OneFile) {
  const TempDir dir;
  write_shard(dir / "model.safetensors", {"b", "a"});
  for (const fs::path& path : {dir.path(), dir / "model.safetensors"}) {
    const Checkpoint checkpoint = Checkpoint::open(path);
    EXPECT_EQ(checkpoint.names(), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(as_text(checkpoint.at("a").bytes), "a");
    EXPECT_EQ(checkpoint.find("c"), nullptr);
    EXPECT_EQ(checkpoint.total_bytes(), 2u);
    EXPECT_EQ(checkpoint.file_of("a").file().path().filename(), "model.safetensors");
    EXPECT_FAULT(checkpoint.at("c"), "no tensor c in its 2 tensors");
  }
}

TEST(Checkpoint, ShardsWithAnIndex) {
  const TempDir dir;
  write_shard(dir / "m-1.safetensors", {"a"});
  write_shard(dir / "m-2.safetensors", {"b"});
  write_shard(dir / "unrelated.safetensors", {"a"});  // not in the index: ignored
  write_index(dir.path(), R"({"a": "m-1.safetensors", "b": "m-2.safetensors"})");
  const Checkpoint checkpoint = Checkpoint::open(dir.path());
  EXPECT_EQ(checkpoint.files().size(), 2u);
  EXPECT_EQ(checkpoint.file_of("b").file().path().filename(), "m-2.safetensors");
}

TEST(Checkpoint, ShardsWithoutAnIndexAreUnited) {
  const TempDir dir;
  write_shard(dir / "m-1.safetensors", {"a"});
  write_shard(dir / "m-2.safetensors", {"b"});
  EXPECT_EQ(Checkpoint::open(dir.path()).size(), 2u);
  write_shard(dir / "m-3.safetensors", {"c", "a"});
  EXPECT_FAULT(Checkpoint::open(dir.path()), "tensor a lies in m-1.safetensors and in m-3");
}

TEST(Checkpoint, IndexFaults) {
  const TempDir dir;
  write_shard(dir / "m-1.safetensors", {"a", "both"});
  write_shard(dir / "m-2.safetensors", {"b", "both"});
  const auto open = [&](const std::string& weight_map) {
    write_index(dir.path(), weight_map);
    return Checkpoint::open(dir.path());
  };
  EXPECT_FAULT(open(R"({"b": "m-1.safetensors"})"),
               "tensor b lies in m-1.safetensors, which lacks");
  EXPECT_FAULT(open(R"({"b": "m-9.safetensors"})"), "names m-9.safetensors, which is missing");
  EXPECT_FAULT(open(R"({"a": "../m-1.safetensors"})"), "is not a file of weights of the same");
  EXPECT_FAULT(open(R"({"a": "/tmp/m-1.safetensors"})"), "is not a file of weights");
  EXPECT_FAULT(open(R"({"a": "m-1.ggml"})"), "is not a file of weights");
  EXPECT_FAULT(open(R"({"a": "m-1.safetensors\u0000.safetensors"})"), "is not a file of weights");
  EXPECT_FAULT(open(R"({"a": 1})"), "weight_map.a: expected a string, found 1");
  EXPECT_FAULT(open("{}"), "weight_map is empty");
  EXPECT_FAULT(open("[]"), "weight_map: expected an object");
  EXPECT_FAULT(open(R"({"a": "m-1.safetensors", "a": "m-1.safetensors"})"), "occurs twice");
  EXPECT_FAULT(open(R"({"a": "m-1.safetensors", "b": "m-2.safetensors"})"),
               "tensor both lies in m-1.safetensors and in m-2.safetensors");
}

TEST(Checkpoint, AMergedFileWinsOverAnIndexOfMissingShards) {
  const TempDir dir;
  write_shard(dir / "model.safetensors", {"a"});
  write_index(dir.path(), R"({"a": "m-1.safetensors"})");
  EXPECT_EQ(Checkpoint::open(dir.path()).size(), 1u);
}

// A folder with optimizer state, an adapter or another copy of the weights next to the model.
TEST(Checkpoint, TheModelsOwnFileCountsAlone) {
  const TempDir dir;
  write_shard(dir / "model.safetensors", {"a"});
  write_shard(dir / "consolidated.safetensors", {"a", "b"});
  write_file(dir / "pytorch_model.bin", "not looked at");
  write_file(dir / "training_args.bin", "not looked at");
  EXPECT_EQ(Checkpoint::open(dir.path()).names(), (std::vector<std::string>{"a"}));
}

TEST(Checkpoint, NothingThere) {
  const TempDir dir;
  EXPECT_FAULT(
      Checkpoint::open(dir.path()),
      "neither *.safetensors (consolidated* and adapter_* apart) nor pytorch_model*.bin nor");
  EXPECT_FAULT(Checkpoint::open(dir / "none"), "no such file or folder");
}

TEST(Checkpoint, ReadsRealCheckpoints) {
  PIPPIN_SHARED_ENTRIES_OR_SKIP(entries, "architectures");
  int folders = 0;
  for (const fs::path& entry : entries) {
    if (!fs::is_directory(entry)) continue;
    EXPECT_GT(Checkpoint::open(entry).size(), 0u) << entry;
    ++folders;
  }
  EXPECT_GT(folders, 40);
  PIPPIN_SHARED_OR_SKIP(sharded, "architectures/llama_sharded_bf16");
  EXPECT_EQ(Checkpoint::open(sharded).files().size(), 3u);
}

}  // namespace
}  // namespace pippin
