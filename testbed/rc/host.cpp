#include "testbed/rc/host.h"

#include <algorithm>

namespace weft::rc {
namespace {

// The same VLANs; priorities may differ.
bool same_vlans(const roce::VlanStack& a, const roce::VlanStack& b) {
  if (a.count != b.count) return false;
  for (std::size_t i = 0; i < a.count; ++i) {
    if (a.tags[i].vid() != b.tags[i].vid()) return false;
  }
  return true;
}

}  // namespace

void Host::add_qp(const QpConfig& config) {
  qps_.push_back(std::make_unique<Qp>(config, memory_, counters_));
  by_qpn_[config.qpn] = qps_.back().get();
}

void Host::post(Nanoseconds now, std::uint32_t qpn, const WorkRequest& work) {
  Qp& qp = *by_qpn_.at(qpn);
  qp.requester.post(now, work, events_);
  enqueue(qp);
}

void Host::post_receive(std::uint32_t qpn, MutableByteView buffer) {
  by_qpn_.at(qpn)->responder.post_receive(buffer);
}

void Host::receive(Nanoseconds now, ByteView frame) {
  ++counters_.frames_received;
  const auto view = roce::PacketView::parse(frame);
  if (!view) {
    ++(roce::is_malformed(view.error()) ? counters_.malformed : counters_.not_ours);
    return;
  }
  const auto found = by_qpn_.find(view->dest_qpn());
  if (found == by_qpn_.end()) {
    ++counters_.not_ours;
    return;
  }
  Qp& qp = *found->second;
  const roce::PacketPath& path = qp.config.path;
  if (view->op().transport != roce::Transport::kRc || view->src_address() != path.dst ||
      view->dst_address() != path.src || !same_vlans(view->vlans(), path.vlans)) {
    ++counters_.not_ours;
    return;
  }
  if (!view->icrc_ok()) {
    ++counters_.icrc_errors;
    return;
  }
  if (view->op().is_response()) {
    qp.requester.receive(now, *view, events_);
  } else {
    qp.responder.receive(now, *view, events_);
  }
  enqueue(qp);
}

void Host::advance(Nanoseconds now) {
  for (const auto& qp : qps_) {
    const auto deadline = qp->requester.deadline();
    if (!deadline || *deadline > now) continue;
    qp->requester.advance(now, events_);
    enqueue(*qp);
  }
}

void Host::enqueue(Qp& qp) {
  const bool reply = qp.responder.has_response() && !qp.responder.response_is_data();
  if (reply && !qp.in_replies) {
    qp.in_replies = true;
    replies_.push_back(&qp);
  }
  const bool data =
      qp.requester.can_send() || (qp.responder.has_response() && qp.responder.response_is_data());
  if (data && !qp.in_data) {
    qp.in_data = true;
    data_.push_back(&qp);
  }
}

std::size_t Host::next_frame(Nanoseconds now, MutableByteView out) {
  const std::size_t bytes = next_reply(out);
  return bytes > 0 ? bytes : next_data(now, out);
}

std::size_t Host::next_reply(MutableByteView out) {
  while (!replies_.empty()) {
    Qp& qp = *replies_.front();
    replies_.pop_front();
    qp.in_replies = false;
    if (!qp.responder.has_response() || qp.responder.response_is_data()) continue;
    const std::size_t bytes = build(qp, qp.responder.next_response(), out);
    enqueue(qp);
    return bytes;
  }
  return 0;
}

std::size_t Host::next_data(Nanoseconds now, MutableByteView out) {
  if (now < pacer_.ready_at()) return 0;
  while (!data_.empty()) {
    Qp& qp = *data_.front();
    data_.pop_front();
    qp.in_data = false;
    const bool response = qp.responder.has_response() && qp.responder.response_is_data();
    if (!response && !qp.requester.can_send()) continue;  // what it queued for was taken back by a rewind
    const OutgoingPacket packet = response ? qp.responder.next_response() : qp.requester.next_packet(now);
    const std::size_t bytes = build(qp, packet, out);
    const std::size_t ip_bytes =
        bytes - roce::kEthernetBytes - qp.config.path.vlans.count * roce::kVlanTagBytes;
    pacer_.sent(now, ip_bytes);
    ++counters_.packets_sent;
    counters_.ip_bytes_sent += ip_bytes;
    if (packet.retransmission) {
      ++counters_.retransmitted_packets;
      counters_.retransmitted_ip_bytes += ip_bytes;
    }
    enqueue(qp);
    return bytes;
  }
  return 0;
}

std::size_t Host::build(Qp& qp, const OutgoingPacket& packet, MutableByteView out) {
  qp.config.path.ip_id = ip_id_++;
  return roce::build_frame(out, qp.config.path, packet.headers, packet.payload);
}

std::optional<Nanoseconds> Host::next_deadline() const {
  std::optional<Nanoseconds> earliest;
  const auto consider = [&earliest](Nanoseconds at) {
    if (!earliest || at < *earliest) earliest = at;
  };
  if (!replies_.empty()) consider(Nanoseconds{0});
  if (!data_.empty()) consider(pacer_.ready_at());
  for (const auto& qp : qps_) {
    if (const auto deadline = qp->requester.deadline()) consider(*deadline);
  }
  return earliest;
}

}  // namespace weft::rc
