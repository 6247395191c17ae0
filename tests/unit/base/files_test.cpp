// Files read and written whole, and signals as a flag.
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "agent/base/stop_signal.h"
#include "agent/base/text_file.h"

namespace weft {
namespace {

TEST(TextFile, IsReadAsItWasWritten) {
  const auto path = std::filesystem::temp_directory_path() / ("weft-text-" + std::to_string(::getpid()));
  const std::string text("two\r\nlines\0and no end", 23);
  ASSERT_TRUE(write_text_file(path.string(), "longer than what replaces it, by a little"));
  ASSERT_TRUE(write_text_file(path.string(), text));
  const auto read = read_text_file(path.string());
  std::filesystem::remove(path);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, text);
}

TEST(TextFile, ErrorsNameThePath) {
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
