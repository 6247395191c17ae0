#include "agent/daemon/fill_file.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::daemon {
namespace {

class FillFileCase : public testing::Test {
 protected:
  ~FillFileCase() override { std::filesystem::remove(path_); }

  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static recovery::FillLog::Taken fills(std::size_t count) {
    return {.records = std::vector<recovery::FillRecord>(count), .missed = 0};
  }

  const std::string path_ = testing::TempDir() + "weft-fill-file-test-" + std::to_string(::getpid());
  const recovery::PolicyTable policy_ = recovery::PolicyTable::defaults();
};

TEST_F(FillFileCase, ALineForEveryFill) {
  auto file = FillFile::create(path_);
  ASSERT_TRUE(file);
  recovery::FillRecord record;
  record.dst_qpn = 17;
  record.tag.class_id = policy_.find("dp-low").value();
  const std::string line = to_json_line(record, "dp-low") + "\n";
  ASSERT_TRUE(file->append({.records = {record, record}}, policy_));
  EXPECT_EQ(text(), line + line) << "in the file at once";
  ASSERT_TRUE(file->append({.records = {record}}, policy_));
  EXPECT_EQ(text(), line + line + line);
  EXPECT_EQ(file->missed(), 0U);
}

TEST_F(FillFileCase, WhatAnEarlierRunDeclaredIsNotOfThisOne) {
  std::ofstream(path_) << "an earlier run's\n";
  ASSERT_TRUE(FillFile::create(path_));
  EXPECT_EQ(text(), "");
}

TEST_F(FillFileCase, WhatCameTooFastIsSaidAndCounted) {
  auto file = FillFile::create(path_);
  ASSERT_TRUE(file);
  const Status written = file->append({.records = {recovery::FillRecord()}, .missed = 3}, policy_);
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().to_string().find("3 fills"), std::string::npos);
  EXPECT_EQ(file->missed(), 3U);
  EXPECT_EQ(std::ranges::count(text(), '\n'), 1);
}

TEST_F(FillFileCase, AnImpossiblePathIsAnError) { EXPECT_FALSE(FillFile::create(path_ + "/no/such/folder")); }

// A full disk, for this process only: no file of its may grow beyond a size.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    ::setrlimit(RLIMIT_FSIZE, std::array{rlimit{bytes, before_.rlim_max}}.data());
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST_F(FillFileCase, AFullDiskIsSaidOnceCountedAndGotOver) {
  auto file = FillFile::create(path_);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->append(fills(1), policy_));
  const std::string line = text();
  {
    const FileSizeLimit full(line.size() * 5 / 2);
    EXPECT_FALSE(file->append(fills(3), policy_)) << "would end inside a line";
    EXPECT_EQ(text(), line);
    EXPECT_TRUE(file->append(fills(0), policy_));
    EXPECT_TRUE(file->append(fills(4), policy_)) << "said twice";
  }
  EXPECT_EQ(file->missed(), 7U);
  EXPECT_TRUE(file->append(fills(2), policy_));
  EXPECT_EQ(text(), line + line + line);
  EXPECT_EQ(file->missed(), 7U);
  const FileSizeLimit full(line.size() * 3);
  EXPECT_FALSE(file->append(fills(1), policy_)) << "full again, and nobody is told";
}

TEST_F(FillFileCase, APipeWithoutAReaderIsRefused) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(FillFile::create(path_));
}

}  // namespace
}  // namespace weft::daemon
