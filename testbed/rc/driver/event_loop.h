// Drives a Host over a packet socket in real time: frames in, events to the application, frames out, sleep
// until something is due. One thread.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "agent/base/result.h"
#include "netem/packet_socket.h"
#include "testbed/rc/host.h"

namespace weft::rc {

// What runs on top of a host: posts work and takes completions.
class Application {
 public:
  virtual ~Application() = default;
  virtual void start(Nanoseconds now) = 0;
  // The peer reads memory: make sure it holds the bytes. Called before the host sends again.
  virtual void serve(const ReadRequested& read) = 0;
  // Called when the host has sent what it could, so that long work here delays no acknowledgement.
  virtual void handle(Nanoseconds now, const Events& events) = 0;
  virtual bool finished() const = 0;
};

class EventLoop {
 public:
  // All but the socket outlive the loop.
  EventLoop(netem::PacketSocket socket, Host& host, Application& application);

  // Until the application is finished or `stop` is set. An error is the socket's.
  Status run(const std::atomic<bool>& stop);

  // Frames lost between the wire and the host, which no measurement may have.
  std::uint64_t rx_overruns() { return socket_.drops().received; }

 private:
  static constexpr std::size_t kBatch = netem::PacketSocket::kBatch;
  using FrameBuffer =
      std::array<std::uint8_t, netem::PacketSocket::kHeadroomBytes + Host::kLargestFrameBytes>;

  Result<bool> receive();
  Result<bool> send();
  void wait();

  netem::PacketSocket socket_;
  Host& host_;
  Application& application_;
  std::unique_ptr<std::array<FrameBuffer, kBatch>> rx_;
  std::unique_ptr<std::array<FrameBuffer, kBatch>> tx_;
  std::array<std::size_t, kBatch> tx_bytes_{};
  std::size_t tx_first_ = 0;  // [tx_first_, tx_count_) of tx_ wait for the interface's queue
  std::size_t tx_count_ = 0;
};

}  // namespace weft::rc
