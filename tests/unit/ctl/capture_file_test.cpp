// Reads the committed soft-RoCE captures, and files that are no captures.
#include "agent/ctl/capture_file.h"

#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "agent/ctl/packet_report.h"
#include "tests/support/exact_buffer.h"

namespace weft::ctl {
namespace {

using Counts = std::map<std::string, int>;

// Counts the opcodes of a capture, and checks that every packet is RoCE with a right ICRC.
Counts count_opcodes(const std::string& path) {
  auto file = CaptureFile::open(path);
  EXPECT_TRUE(file) << file.error().to_string();
  Counts counts;
  for (;;) {
    const auto packet = file->next();
    EXPECT_TRUE(packet) << packet.error().to_string();
    if (!packet || !*packet) return counts;
    const test::ExactBuffer buffer((*packet)->bytes);
    const auto view = roce::PacketView::parse(buffer.view(), (*packet)->wire_bytes);
    EXPECT_TRUE(view) << path << " packet " << (*packet)->number << ": " << describe(view.error());
    if (!view) continue;
    EXPECT_TRUE(view->icrc_ok()) << path << " packet " << (*packet)->number;
    ++counts[std::string(view->op().name)];
  }
}

TEST(Captures, EveryIpv4PacketIsRightAndEveryOpcodeCounted) {
  // As tshark counts them.
  const Counts expected{{"RC_ACKNOWLEDGE", 33},
                        {"RC_ATOMIC_ACKNOWLEDGE", 8},
                        {"RC_FETCH_ADD", 8},
                        {"RC_RDMA_READ_REQUEST", 8},
                        {"RC_RDMA_READ_RESPONSE_FIRST", 8},
                        {"RC_RDMA_READ_RESPONSE_LAST", 8},
                        {"RC_RDMA_READ_RESPONSE_MIDDLE", 40},
                        {"RC_RDMA_WRITE_FIRST", 28},
                        {"RC_RDMA_WRITE_LAST", 27},
                        {"RC_RDMA_WRITE_MIDDLE", 40},
                        {"RC_SEND_FIRST", 8},
                        {"RC_SEND_LAST", 8},
                        {"RC_SEND_MIDDLE", 24},
                        {"UC_RDMA_WRITE_FIRST", 8},
                        {"UC_RDMA_WRITE_LAST", 8},
                        {"UC_RDMA_WRITE_MIDDLE", 40},
                        {"UD_SEND_ONLY", 8}};
  EXPECT_EQ(count_opcodes("tests/data/soft-roce.pcap"), expected);
}

TEST(Captures, EveryIpv6PacketIsRightAndEveryOpcodeCounted) {
  const Counts expected{{"RC_ACKNOWLEDGE", 41},
                        {"RC_ATOMIC_ACKNOWLEDGE", 6},
                        {"RC_COMPARE_SWAP", 3},
                        {"RC_FETCH_ADD", 3},
                        {"RC_RDMA_READ_REQUEST", 3},
                        {"RC_RDMA_READ_RESPONSE_FIRST", 1},
                        {"RC_RDMA_READ_RESPONSE_LAST", 1},
                        {"RC_RDMA_READ_RESPONSE_MIDDLE", 2},
                        {"RC_RDMA_READ_RESPONSE_ONLY", 2},
                        {"RC_RDMA_WRITE_FIRST", 8},
                        {"RC_RDMA_WRITE_LAST", 4},
                        {"RC_RDMA_WRITE_LAST_WITH_IMMEDIATE", 4},
                        {"RC_RDMA_WRITE_MIDDLE", 10},
                        {"RC_RDMA_WRITE_ONLY", 6},
                        {"RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", 7},
                        {"RC_SEND_FIRST", 8},
                        {"RC_SEND_LAST", 4},
                        {"RC_SEND_LAST_WITH_IMMEDIATE", 4},
                        {"RC_SEND_MIDDLE", 10},
                        {"RC_SEND_ONLY", 6},
                        {"RC_SEND_ONLY_WITH_IMMEDIATE", 6}};
  EXPECT_EQ(count_opcodes("tests/data/soft-roce-ipv6.pcap"), expected);
}

// A file in the test's own folder, gone afterwards.
class CaptureFileErrors : public testing::Test {
 protected:
  ~CaptureFileErrors() override { std::filesystem::remove(path_); }
  void write(std::string_view bytes) {
    std::ofstream(path_, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  const std::string path_ =
      testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + ".pcap";
};

TEST_F(CaptureFileErrors, MissingFile) {
  const auto file = CaptureFile::open(path_);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ENOENT);
  EXPECT_EQ(file.error().where, path_);
  EXPECT_FALSE(file.error().hint.empty());
}

TEST_F(CaptureFileErrors, NotACapture) {
  for (const std::string_view text :
       {std::string_view(""), std::string_view("hello, this is no capture file")}) {
    write(text);
    const auto file = CaptureFile::open(path_);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().where, path_);
    EXPECT_FALSE(file.error().hint.empty());
  }
}

// The global header of a little-endian pcap file with the given link type.
std::string pcap_header(char link_type) {
  std::string header("\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00", 20);
  return header + link_type + std::string(3, '\0');
}

TEST_F(CaptureFileErrors, OtherLinkType) {
  write(pcap_header(105));  // IEEE802_11
  const auto file = CaptureFile::open(path_);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().what, "link type IEEE802_11 cannot be decoded");
}

TEST_F(CaptureFileErrors, EndsInsideAPacket) {
  const std::string packet_header("\1\0\0\0\0\0\0\0\x04\0\0\0\x04\0\0\0", 16);
  write(pcap_header(1) + packet_header + "abcd" + packet_header + "ab");
  auto file = CaptureFile::open(path_);
  ASSERT_TRUE(file);
  const auto first = file->next();
  ASSERT_TRUE(first && *first);
  EXPECT_EQ((*first)->bytes.size(), 4U);
  EXPECT_EQ((*first)->time, std::chrono::seconds{1});
  const auto second = file->next();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().where, path_ + " packet 2");
}

TEST_F(CaptureFileErrors, AnEmptyCaptureIsNoError) {
  write(pcap_header(1));
  auto file = CaptureFile::open(path_);
  ASSERT_TRUE(file);
  const auto end = file->next();
  ASSERT_TRUE(end);
  EXPECT_FALSE(*end);
}

}  // namespace
}  // namespace weft::ctl
