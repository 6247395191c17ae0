#include "agent/wire/packet_key.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

namespace weft::wire {

namespace {

constexpr std::string_view kSalt = "weft-v1";

ByteView bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

Bytes joined(std::string_view label, std::initializer_list<const BootId*> ids) {
  const ByteView label_bytes = bytes_of(label);
  Bytes info(label_bytes.begin(), label_bytes.end());
  for (const BootId* id : ids)
    info.insert(info.end(), id->begin(), id->end());
  return info;
}

// OpenSSL's parameters point at mutable bytes and do not write to them.
OSSL_PARAM octets(const char* name, ByteView bytes) {
  return OSSL_PARAM_construct_octet_string(name, const_cast<std::uint8_t*>(bytes.data()), bytes.size());
}

bool hkdf(const Psk& psk, ByteView info, std::array<std::uint8_t, kKeyBytes>& key) {
  const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr),
                                                              EVP_KDF_free);
  if (!kdf) return false;
  const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> context(EVP_KDF_CTX_new(kdf.get()),
                                                                          EVP_KDF_CTX_free);
  std::string digest = "SHA256";
  const std::array<OSSL_PARAM, 5> parameters{
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
      octets(OSSL_KDF_PARAM_KEY, psk.bytes),
      octets(OSSL_KDF_PARAM_SALT, bytes_of(kSalt)),
      octets(OSSL_KDF_PARAM_INFO, info),
      OSSL_PARAM_construct_end(),
  };
  return context && EVP_KDF_derive(context.get(), key.data(), key.size(), parameters.data()) == 1;
}

}  // namespace

Psk::~Psk() { OPENSSL_cleanse(bytes.data(), bytes.size()); }

PacketKey PacketKey::for_hello(const Psk& psk, const BootId& sender) {
  return {psk, joined("hello", {&sender})};
}

PacketKey PacketKey::for_data(const Psk& psk, const BootId& sender, const BootId& receiver) {
  return {psk, joined("data", {&sender, &receiver})};
}

// Throws only when the machine's OpenSSL lacks HKDF or AES-GCM, or memory is out: the first key is made while
// starting up, so the former is seen there.
PacketKey::PacketKey(const Psk& psk, ByteView info) : context_(EVP_CIPHER_CTX_new()) {
  std::array<std::uint8_t, kKeyBytes> key{};
  const bool made = context_ && hkdf(psk, info, key) &&
                    EVP_EncryptInit_ex2(context_.get(), EVP_aes_256_gcm(), key.data(), nullptr, nullptr) == 1;
  OPENSSL_cleanse(key.data(), key.size());
  if (!made) throw std::runtime_error("OpenSSL cannot make an AES-256-GCM key by HKDF-SHA256");
}

bool PacketKey::tag_of(std::uint8_t lane, std::uint64_t counter, ByteView authenticated,
                       std::array<std::uint8_t, kTagBytes>& tag) const {
  std::array<std::uint8_t, 12> nonce{};
  store_be32(nonce.data(), lane);
  store_be64(nonce.data() + 4, counter);
  int written = 0;
  return EVP_EncryptInit_ex2(context_.get(), nullptr, nullptr, nonce.data(), nullptr) == 1 &&
         EVP_EncryptUpdate(context_.get(), nullptr, &written, authenticated.data(),
                           static_cast<int>(authenticated.size())) == 1 &&
         EVP_EncryptFinal_ex(context_.get(), tag.data(), &written) == 1 &&
         EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, tag.data()) == 1;
}

bool PacketKey::seal(std::uint8_t lane, std::uint64_t counter, MutableByteView packet) const {
  std::array<std::uint8_t, kTagBytes> tag{};
  if (!tag_of(lane, counter, packet.first(packet.size() - kTagBytes), tag)) return false;
  std::ranges::copy(tag, packet.last(kTagBytes).begin());
  return true;
}

bool PacketKey::verify(std::uint8_t lane, std::uint64_t counter, ByteView packet) const {
  std::array<std::uint8_t, kTagBytes> tag{};
  return tag_of(lane, counter, packet.first(packet.size() - kTagBytes), tag) &&
         CRYPTO_memcmp(tag.data(), packet.last(kTagBytes).data(), kTagBytes) == 0;
}

}  // namespace weft::wire
