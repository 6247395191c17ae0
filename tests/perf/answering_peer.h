// The agent at the far end, as far as an encoder needs one: it answers hello, confirms announced flows, and feeds back
// that everything expected has arrived. What is sent to it is counted by the sink, not decoded: on one machine there is
// no second core for a restorer.
#pragma once

#include <optional>
#include <string>

#include "agent/base/result.h"
#include "agent/base/unique_fd.h"
#include "agent/recovery/path_headers.h"
#include "agent/wire/peer_session.h"

namespace weft::perf {

class AnsweringPeer {
 public:
  // Answers through `interface`.
  static Result<AnsweringPeer> open(const std::string& interface, const std::string& key_file);

  // A Weft packet's frame; its addresses change places.
  void receive(MutableByteView frame, Nanoseconds now);
  // Sends what is due. `frames`: source packets that have arrived so far.
  void tick(std::uint64_t frames, Nanoseconds now);
  bool ready() const { return session_.ready(); }

 private:
  AnsweringPeer(UniqueFd socket, const wire::SessionConfig& config)
      : socket_(std::move(socket)), session_(config) {}
  template <class Message>
  void send(wire::PacketType type, const Message& message);

  UniqueFd socket_;
  wire::PeerSession session_;
  recovery::PathHeaders back_;  // of the newest packet received, turned round
  std::vector<wire::FlowId> announced_;
  std::uint64_t frames_ = 0;
  std::uint16_t next_ip_id_ = 0;
};

}  // namespace weft::perf
