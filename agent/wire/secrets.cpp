#include "agent/wire/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/unique_fd.h"

namespace weft::wire {

namespace {

constexpr std::size_t kBase64Chars = 44;   // of 32 bytes
constexpr std::size_t kFileMaxBytes = 64;  // that and a line end, with room to see what else was put there
constexpr std::string_view kMakeOne = "make one with: umask 077; weftctl genkey > FILE";

// Text that is wiped when it goes.
struct FileText {
  std::array<char, kFileMaxBytes> chars{};
  std::size_t length = 0;
  FileText() = default;
  FileText(const FileText&) = delete;
  FileText& operator=(const FileText&) = delete;
  ~FileText() { OPENSSL_cleanse(chars.data(), chars.size()); }
};

Status read_text(const std::string& path, FileText& text) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return fail_errno("cannot open the key file", path, std::string(kMakeOne));
  struct stat state {};
  if (::fstat(file.get(), &state) != 0) return fail_errno("cannot look at the key file", path);
  if (!S_ISREG(state.st_mode)) return fail("the key file is not a regular file", path);
  if ((state.st_mode & 077) != 0) {
    return fail(fmt::format("the key file has mode {:04o}, so others may read it", state.st_mode & 07777),
                path, "chmod 600 " + path);
  }
  const ssize_t bytes = ::read(file.get(), text.chars.data(), text.chars.size());
  if (bytes < 0) return fail_errno("cannot read the key file", path);
  text.length = static_cast<std::size_t>(bytes);
  while (text.length > 0 && std::isspace(static_cast<unsigned char>(text.chars[text.length - 1])) != 0)
    --text.length;
  return {};
}

}  // namespace

Result<Psk> read_key_file(const std::string& path) {
  FileText text;
  if (auto read = read_text(path, text); !read) return fail(read.error());
  // EVP_DecodeBlock counts padding as zero bytes: 44 characters give 33, of which the last is the '='.
  std::array<std::uint8_t, kKeyBytes + 1> decoded{};
  const bool valid =
      text.length == kBase64Chars &&
      std::string_view(text.chars.data(), text.length).find('=') == kBase64Chars - 1 &&
      EVP_DecodeBlock(decoded.data(), reinterpret_cast<const unsigned char*>(text.chars.data()),
                      kBase64Chars) == static_cast<int>(decoded.size());
  if (!valid) return fail("the key file does not hold 32 bytes of base64", path, std::string(kMakeOne));
  Psk psk;
  std::copy_n(decoded.begin(), kKeyBytes, psk.bytes.begin());
  OPENSSL_cleanse(decoded.data(), decoded.size());
  return psk;
}

Result<std::string> generate_key() {
  std::array<std::uint8_t, kKeyBytes> key{};
  if (RAND_priv_bytes(key.data(), key.size()) != 1) return fail("OpenSSL has no random bytes to give");
  std::string text(kBase64Chars + 1, '\0');  // EVP_EncodeBlock ends with a NUL
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), key.data(), key.size());
  OPENSSL_cleanse(key.data(), key.size());
  text.pop_back();
  return text;
}

Result<BootId> fresh_boot_id() {
  BootId id{};
  if (RAND_bytes(id.data(), id.size()) != 1) return fail("OpenSSL has no random bytes to give");
  return id;
}

}  // namespace weft::wire
