// Files read and written whole, and signals as a flag.
#include <csignal>
#include <filesystem>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <unistd.h>

#include "agent/base/stop_signal.h"
#include "agent/base/text_file.h"

namespace weft {
namespace {

using namespace std::string_view_literals;

std::filesystem::path scratch_path() {
  return std::filesystem::temp_directory_path() / ("weft-text-" + std::to_string(::getpid()));
}

TEST(TextFile, IsReadAsItWasWritten) {
  const auto path = scratch_path();
  const std::string text("two\r\nlines\0and no end"sv);
  ASSERT_TRUE(write_text_file(path.string(), "longer than what replaces it, by a little"));
  ASSERT_TRUE(write_text_file(path.string(), text));
  const auto read = read_text_file(path.string());
  std::filesystem::remove(path);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, text);
}

TEST(TextFile, EmptyIsNoError) {
  const auto path = scratch_path();
  ASSERT_TRUE(write_text_file(path.string(), ""));
  const auto read = read_text_file(path.string());
  std::filesystem::remove(path);
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(*read, "");
}

TEST(TextFile, ErrorsNameThePath) {
  const std::string folder = std::filesystem::temp_directory_path().string();
  const auto not_a_file = read_text_file(folder);
  ASSERT_FALSE(not_a_file);
  EXPECT_EQ(not_a_file.error().where, folder);
  EXPECT_EQ(not_a_file.error().code, EISDIR);
  const auto read = read_text_file("/nowhere/at/all");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().where, "/nowhere/at/all");
  EXPECT_EQ(read.error().code, ENOENT);
  const auto written = write_text_file("/nowhere/at/all", "text");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().where, "/nowhere/at/all");
  EXPECT_EQ(written.error().code, ENOENT);
}

TEST(StopSignal, SetsTheFlagAndNothingElse) {
  const std::atomic<bool>& stop = stop_on_signals();
  EXPECT_FALSE(stop);
  std::raise(SIGTERM);
  EXPECT_TRUE(stop);
}

}  // namespace
}  // namespace weft
