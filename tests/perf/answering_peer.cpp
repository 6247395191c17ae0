#include "tests/perf/answering_peer.h"

#include <algorithm>
#include <utility>

#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include "agent/recovery/policy.h"
#include "agent/roce/udp_datagram.h"
#include "agent/wire/messages.h"
#include "agent/wire/secrets.h"

namespace weft::perf {
namespace {

// Ethernet and IPv4 addresses change places; the frames here are IPv4 without VLAN tags.
void turn_round(MutableByteView frame) {
  constexpr std::size_t kMacBytes = 6;
  constexpr std::size_t kAddressOffset = roce::kEthernetBytes + 12;
  constexpr std::size_t kAddressBytes = 4;
  std::swap_ranges(frame.begin(), frame.begin() + kMacBytes, frame.begin() + kMacBytes);
  std::uint8_t* source = frame.data() + kAddressOffset;
  std::swap_ranges(source, source + kAddressBytes, source + kAddressBytes);
}

}  // namespace

Result<AnsweringPeer> AnsweringPeer::open(const std::string& interface, const std::string& key_file) {
  const auto psk = wire::read_key_file(key_file);
  if (!psk) return fail(psk.error());
  const auto boot_id = wire::fresh_boot_id();
  if (!boot_id) return fail(boot_id.error());
  // Without a protocol nothing is received through it.
  UniqueFd socket(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(::if_nametoindex(interface.c_str()));
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return fail_errno("cannot send", interface);
  std::vector<std::string_view> class_names;
  const recovery::PolicyTable policy = recovery::PolicyTable::defaults();
  for (const recovery::ClassPolicy& policy_class : policy.classes)
    class_names.emplace_back(policy_class.name);
  return AnsweringPeer(std::move(socket),
                       {.psk = *psk,
                        .own_boot_id = *boot_id,
                        .classes_digest = wire::class_names_digest(class_names),
                        .capabilities = wire::kCapabilityReedSolomon | wire::kCapabilityXor,
                        .mtu_bytes = 1500});
}

void AnsweringPeer::receive(MutableByteView frame, Nanoseconds now) {
  const auto datagram = roce::UdpDatagram::parse(frame);
  if (!datagram || !wire::has_magic(datagram->payload)) return;
  const auto opened = session_.open(datagram->payload, now);
  if (!opened) return;
  if (opened->header.type == wire::PacketType::kAnnouncement) {
    if (const auto announcement = wire::decode_announcement(opened->body)) {
      for (const wire::Announcement::Flow& flow : announcement->flows)
        announced_.push_back(flow.id);
    }
  }
  turn_round(frame);
  back_ = recovery::PathHeaders(frame, *roce::UdpDatagram::parse(frame));
}

void AnsweringPeer::tick(std::uint64_t frames, Nanoseconds now) {
  if (frames != frames_) session_.on_data(now);
  frames_ = frames;
  session_.tick(now);
  while (session_.next_event()) {
  }
  if (!back_.known()) return;
  if (session_.hello_due(now)) send(wire::PacketType::kHello, session_.next_hello(now));
  if (!session_.feedback_due(now)) return;
  wire::Feedback feedback = session_.next_feedback(now);
  feedback.loss.expected_packets = frames;
  feedback.confirmed_flows = std::exchange(announced_, {});
  send(wire::PacketType::kFeedback, feedback);
}

template <class Message>
void AnsweringPeer::send(wire::PacketType type, const Message& message) {
  Bytes frame(back_.frame_header_bytes() + wire::kEnvelopeBytes + wire::body_bytes(message));
  const MutableByteView packet = MutableByteView(frame).subspan(back_.frame_header_bytes());
  wire::encode(message, packet.subspan(wire::kHeaderBytes, packet.size() - wire::kEnvelopeBytes));
  if (!session_.seal(type, packet)) return;
  back_.finish_frame(frame, wire::kDefaultUdpPort, next_ip_id_++);
  // One that does not get out is as good as lost on the way.
  static_cast<void>(::send(socket_.get(), frame.data(), frame.size(), 0));
}

}  // namespace weft::perf
