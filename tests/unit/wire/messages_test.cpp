// Bodies survive the wire, and whatever is not exactly a body is refused without reading beyond it.
#include "agent/wire/messages.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/exact_buffer.h"
#include "tests/support/random_message.h"
#include "tests/support/seed.h"

namespace weft::wire {
namespace {

using test::encoded;

template <class Body>
void expect_round_trip(const Body& body, Result<Body> (*decode)(ByteView)) {
  const Bytes bytes = encoded(body);
  const auto decoded = decode(test::ExactBuffer(bytes).view());
  ASSERT_TRUE(decoded) << decoded.error().to_string();
  EXPECT_EQ(*decoded, body);
}

// Every shorter prefix and every longer string is refused: no body is a prefix of another.
template <class Decode>
void expect_only_whole(const Bytes& bytes, Decode decode) {
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const test::ExactBuffer cut(ByteView(bytes).first(length));
    EXPECT_FALSE(decode(cut.view())) << length << " of " << bytes.size();
  }
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_FALSE(decode(longer));
}

// Whatever the bytes: no read beyond them (AddressSanitizer), and what is accepted encodes to the same bytes.
template <class Body>
void expect_strict(Rng& rng, Bytes bytes, Result<Body> (*decode)(ByteView)) {
  if (bytes.empty()) return;
  for (int flips = 0; flips < 3; ++flips) {
    bytes[rng.below(bytes.size())] ^= static_cast<std::uint8_t>(1U << rng.below(8));
    const test::ExactBuffer damaged(bytes);
    const auto decoded = decode(damaged.view());
    if (decoded) {
      EXPECT_EQ(encoded(*decoded), bytes);
    } else {
      EXPECT_FALSE(decoded.error().what.empty());
    }
  }
}

TEST(Messages, RoundTrip) {
  Rng rng = test::rng(1);
  for (int i = 0; i < 500; ++i) {
    expect_round_trip(test::random_hello(rng), decode_hello);
    expect_round_trip(test::random_feedback(rng), decode_feedback);
    expect_round_trip(test::random_announcement(rng), decode_announcement);
    expect_round_trip(test::random_manifest(rng), decode_manifest);
  }
}

TEST(Messages, OnlyTheWholeBodyIsAccepted) {
  Rng rng = test::rng(2);
  for (int i = 0; i < 20; ++i) {
    expect_only_whole(encoded(test::random_hello(rng)), decode_hello);
    expect_only_whole(encoded(test::random_feedback(rng)), decode_feedback);
    expect_only_whole(encoded(test::random_announcement(rng)), decode_announcement);
    expect_only_whole(encoded(test::random_manifest(rng)), decode_manifest);
  }
}

TEST(Messages, WhatIsAcceptedHasOneEncoding) {
  Rng rng = test::rng(3);
  for (int i = 0; i < 3000; ++i) {
    expect_strict(rng, encoded(test::random_hello(rng)), decode_hello);
    expect_strict(rng, encoded(test::random_feedback(rng)), decode_feedback);
    expect_strict(rng, encoded(test::random_announcement(rng)), decode_announcement);
    expect_strict(rng, encoded(test::random_manifest(rng)), decode_manifest);
  }
}

// One byte changed in a valid body, and the reason expected for it.
struct Refused {
  std::string name;
  std::size_t offset;
  std::uint8_t value;
  std::string reason;
};

template <class Decode>
void expect_refused(const Bytes& valid, const Refused& refused, Decode decode) {
  SCOPED_TRACE(refused.name);
  ASSERT_TRUE(decode(valid));
  Bytes bytes = valid;
  bytes[refused.offset] = refused.value;
  const auto decoded = decode(bytes);
  ASSERT_FALSE(decoded);
  EXPECT_THAT(decoded.error().what, testing::HasSubstr(refused.reason));
}

TEST(Messages, HelloRefusals) {
  Rng rng = test::rng(4);
  const Bytes valid = encoded(test::random_hello(rng));
  expect_refused(valid, {"unknown state", 70, 3, "state"}, decode_hello);
  expect_refused(valid, {"reserved byte", 71, 1, "reserved"}, decode_hello);
  Hello hello = test::random_hello(rng);
  hello.boot_id = {};
  EXPECT_FALSE(decode_hello(encoded(hello)));
  hello = test::random_hello(rng);
  hello.sent_at_ns = 0;
  EXPECT_FALSE(decode_hello(encoded(hello)));
}

TEST(Messages, FeedbackRefusals) {
  Feedback feedback{.sent_at_ns = 1, .loss = {}, .confirmed_flows = {}, .covered = {}};
  const Bytes valid = encoded(feedback);
  expect_refused(valid, {"more confirmed flows than bytes", 73, 1, "end before"}, decode_feedback);
  expect_refused(valid, {"257 confirmed flows", 72, 2, "too many"}, decode_feedback);
  expect_refused(valid, {"more covered streams than there are", 75, 129, "more covered"}, decode_feedback);
  feedback.covered.push_back({.stream = {.class_id = 3, .level = 7}, .ordinal = 9});
  expect_refused(encoded(feedback), {"reserved bit of a stream", 76, 0x3f, "reserved"}, decode_feedback);
}

TEST(Messages, AnnouncementRefusals) {
  Rng rng = test::rng(5);
  Announcement announcement = test::random_announcement(rng);
  announcement.flows.resize(1);
  const Bytes valid = encoded(announcement);
  expect_refused(valid, {"no flows", 0, 0, "no flows"}, decode_announcement);
  expect_refused(valid, {"reserved bit of the stream", 4, 0x08, "reserved"}, decode_announcement);
  const auto flags = static_cast<std::uint8_t>(valid[5] | 0x04);
  expect_refused(valid, {"reserved flag", 5, flags, "reserved"}, decode_announcement);
}

TEST(Messages, VlansOfAKeyStayAtHome) {
  Rng rng = test::rng(6);
  Announcement announcement = test::random_announcement(rng);
  Announcement tagged = announcement;
  for (auto& flow : tagged.flows) {
    flow.key.vids = {7, 8};
    flow.key.vlan_count = 2;
  }
  EXPECT_EQ(decode_announcement(encoded(tagged)).value(), announcement);
}

TEST(Messages, ManifestRefusals) {
  Manifest manifest{.stream = {.class_id = 2, .level = 0}, .first_ordinal = 5, .runs = {}, .descriptors = {}};
  EXPECT_FALSE(decode_manifest(encoded(manifest))) << "empty";
  manifest.runs.push_back({.flow = 1, .first_psn = roce::Psn(2), .packets = 3});
  manifest.descriptors.emplace_back().pmtu_bytes = 1024;
  const Bytes valid = encoded(manifest);
  const std::size_t flags = 8 + 7 + 5;
  expect_refused(valid, {"reserved byte", 3, 1, "reserved"}, decode_manifest);
  expect_refused(valid, {"reserved bit of the stream", 0, 0x28, "reserved"}, decode_manifest);
  expect_refused(valid, {"more runs than bytes", 1, 200, "end before"}, decode_manifest);
  expect_refused(valid, {"empty run", 14, 0, "empty run"}, decode_manifest);
  expect_refused(valid, {"reserved flag", flags, 0x10, "reserved"}, decode_manifest);
  expect_refused(valid, {"solicited without an end", flags, 0x04, "without an end"}, decode_manifest);
  expect_refused(valid, {"immediate without bytes", flags, 0x0a, "end before"}, decode_manifest);
  expect_refused(valid, {"PMTU 128", flags + 1, 7, "path MTU"}, decode_manifest);
  expect_refused(valid, {"PMTU 8192", flags + 1, 13, "path MTU"}, decode_manifest);
}

TEST(Messages, AckCopyIsOneIpPacket) {
  Bytes ack(48);
  ack[0] = 0x45;
  ack[3] = 48;
  const auto decoded = decode_ack_copy(ack);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->ip_packet.data(), ack.data());
  EXPECT_EQ(encoded(*decoded), ack);
  expect_only_whole(ack, decode_ack_copy);
  Bytes ack6(68);
  ack6[0] = 0x60;
  ack6[5] = 28;
  EXPECT_TRUE(decode_ack_copy(ack6));
  ack6[0] = 0x50;
  EXPECT_FALSE(decode_ack_copy(ack6)) << "version 5";
  Bytes data(200);
  data[0] = 0x45;
  data[3] = 200;
  EXPECT_FALSE(decode_ack_copy(data)) << "longer than any ACK";
}

TEST(Messages, ClassNamesDigestTellsTablesApart) {
  EXPECT_EQ(class_names_digest({"exact", "pp"}), class_names_digest({"exact", "pp"}));
  EXPECT_NE(class_names_digest({"exact", "pp"}), class_names_digest({"pp", "exact"}));
  EXPECT_NE(class_names_digest({"exact", "pp"}), class_names_digest({"exactpp"}));
}

}  // namespace
}  // namespace weft::wire
