// Keys of the packets between two agents, and the tag they put on them.
//
//   hello key   HKDF-SHA256(pre-shared key, salt "weft-v1", info "hello" || sender's boot id)
//   data key    HKDF-SHA256(pre-shared key, salt "weft-v1", info "data" || sender's boot id || receiver's boot id)
//
// Each direction has its own, since the sender's boot id comes first. A packet is AES-256-GCM with everything
// before the tag as additional data and nothing encrypted; the nonce is lane (32 bits) || counter (64 bits).
// A nonce must never be used twice with a key for different bytes: that is why counters are never reset within
// a boot id and why a boot id is fresh for every session.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <openssl/evp.h>

#include "agent/base/bytes.h"
#include "agent/wire/format.h"
#include "agent/wire/messages.h"

namespace weft::wire {

inline constexpr std::size_t kKeyBytes = 32;

// The secret of one pair of agents. Wiped when it goes.
struct Psk {
  std::array<std::uint8_t, kKeyBytes> bytes{};

  Psk() = default;
  explicit Psk(const std::array<std::uint8_t, kKeyBytes>& key) : bytes(key) {}
  Psk(const Psk&) = default;
  Psk& operator=(const Psk&) = default;
  ~Psk();
};

// One derived key with its cipher context, reused from packet to packet. Not thread-safe.
class PacketKey {
 public:
  static PacketKey for_hello(const Psk& psk, const BootId& sender);
  static PacketKey for_data(const Psk& psk, const BootId& sender, const BootId& receiver);

  // Header and body stand in `packet`, whose last kTagBytes are written.
  [[nodiscard]] bool seal(std::uint8_t lane, std::uint64_t counter, MutableByteView packet) const;
  // Whether the last kTagBytes of `packet` are the tag of what precedes them; compared in constant time.
  [[nodiscard]] bool verify(std::uint8_t lane, std::uint64_t counter, ByteView packet) const;

 private:
  struct FreeContext {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
  };
  PacketKey(const Psk& psk, ByteView info);
  bool tag_of(std::uint8_t lane, std::uint64_t counter, ByteView authenticated,
              std::array<std::uint8_t, kTagBytes>& tag) const;

  std::unique_ptr<EVP_CIPHER_CTX, FreeContext> context_;
};

}  // namespace weft::wire
