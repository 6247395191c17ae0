-- Wireshark dissector of Weft packets, as docs/protocol.md describes them. Nothing is decrypted or authenticated:
-- bodies travel in clear, and the tag is only shown.
--
--   tshark -X lua_script:docs/weft.lua -r capture.pcap
--   wireshark: copy it to the personal Lua plugins folder (Help > About > Folders)
--
-- Another port than 4793: Preferences > Protocols > WEFT, or -o weft.port:PORT.

local weft = Proto("weft", "Weft: erasure coding and fill for RoCEv2")

local HEADER_BYTES, TAG_BYTES = 24, 16
local TYPES = { "hello", "feedback", "announcement", "manifest", "repair", "ack_copy" }
local STATES = { [0] = "seeking", [1] = "echo_seen", [2] = "complete" }
local CODES = { "rs", "xor" }

local f = {}
local function field(name, make, label, ...)
  f[name] = make("weft." .. name, label, ...)
end
local u8, u16, u24, u32, u64 = ProtoField.uint8, ProtoField.uint16, ProtoField.uint24, ProtoField.uint32,
  ProtoField.uint64
local bytes, bool = ProtoField.bytes, ProtoField.bool

field("magic", ProtoField.string, "Magic")
field("version", u8, "Version")
field("type", u8, "Type", base.DEC, TYPES)
field("lane", u8, "Lane")
field("lane_count", u8, "Lane count")
field("sender", u64, "Sender boot id, first half", base.HEX)
field("counter", u64, "Counter")
field("tag", bytes, "Tag")
field("class", u8, "Class", base.DEC, nil, 0xf0)
field("level", u8, "Level", base.DEC, nil, 0x07)

field("hello.boot_id", bytes, "Boot id")
field("hello.echoed_boot_id", bytes, "Echoed boot id")
field("hello.classes_digest", u64, "Digest of the class names", base.HEX)
field("hello.capabilities", u32, "Capabilities", base.HEX)
field("hello.mtu_bytes", u16, "MTU")
field("hello.state", u8, "State", base.DEC, STATES)
field("sent_at_ns", u64, "Sent at (sender's clock, ns)")
field("echoed_sent_at_ns", u64, "Echoed time of sending (receiver's clock, ns)")
field("echo_delay_ns", u64, "Echo delay (ns)")

field("feedback.sequence", u32, "Sequence")
field("feedback.period_us", u32, "Next one due within (us)")
field("feedback.expected_packets", u64, "Expected packets")
field("feedback.lost_packets", u64, "Lost packets")
field("feedback.loss_runs", u64, "Loss runs")
field("feedback.ce_marked_packets", u64, "CE-marked packets")
field("feedback.undecodable_packets", u64, "Undecodable packets")
field("feedback.confirmed_count", u16, "Confirmed flows")
field("feedback.covered_count", u16, "Covered streams")
field("feedback.confirmed_flow", u16, "Confirmed flow")
field("feedback.covered_ordinal", u32, "Covered up to ordinal")

field("announcement.count", u8, "Flows")
field("announcement.epoch", u8, "Epoch")
field("announcement.ipv6", bool, "IPv6", 8, nil, 0x01)
field("announcement.response", bool, "Responses", 8, nil, 0x02)
field("announcement.dest_qpn", u24, "Destination QPN", base.HEX)
field("announcement.src", ProtoField.ipv4, "Source")
field("announcement.dst", ProtoField.ipv4, "Destination")
field("announcement.src6", ProtoField.ipv6, "Source")
field("announcement.dst6", ProtoField.ipv6, "Destination")

field("flow", u16, "Flow id")
field("psn", u24, "PSN")
field("first_psn", u24, "First PSN")
field("first_ordinal", u32, "First ordinal")

field("manifest.run_count", u8, "Runs")
field("manifest.descriptor_count", u8, "Descriptors")
field("manifest.packets", u16, "Packets")
field("manifest.mig_req", bool, "MigReq", 8, nil, 0x01)
field("manifest.end", bool, "End known", 8, nil, 0x02)
field("manifest.solicited_event", bool, "Solicited event", 8, nil, 0x04)
field("manifest.has_imm", bool, "Immediate", 8, nil, 0x08)
field("manifest.pmtu_log2", u8, "Path MTU (log2)")
field("manifest.pkey", u16, "P_Key", base.HEX)
field("manifest.va", u64, "Virtual address", base.HEX)
field("manifest.rkey", u32, "rkey", base.HEX)
field("manifest.length_bytes", u32, "Message length")
field("manifest.imm", u32, "Immediate data", base.HEX)

field("repair.code", u8, "Code", base.DEC, CODES, 0x0f)
field("repair.ce_seen", bool, "CE seen", 8, nil, 0x10)
field("repair.has_list", bool, "List", 8, nil, 0x20)
field("repair.has_symbol", bool, "Symbol", 8, nil, 0x40)
field("repair.interleave", u8, "Interleave")
field("repair.block", u8, "Block")
field("repair.k", u8, "k")
field("repair.r", u8, "r")
field("repair.index", u8, "Index")
field("repair.entry_count", u8, "Flow entries")
field("repair.symbol_bytes", u16, "Symbol size")
field("repair.stride", u8, "Stride")
field("repair.entry", u8, "Flow entry", base.DEC, nil, 0xf0)
field("repair.step", u8, "Step", base.DEC, nil, 0x0f)
field("repair.fingerprint", u16, "Fingerprint", base.HEX)
field("repair.source_flow", u16, "Flow id")
field("repair.source_psn", u24, "PSN")
field("repair.symbol", bytes, "Repair symbol")

weft.fields = f
local malformed = ProtoExpert.new("weft.malformed", "Malformed Weft packet", expert.group.MALFORMED,
  expert.severity.ERROR)
weft.experts = { malformed }
weft.prefs.port = Pref.uint("UDP port", 4793, "The destination port of Weft packets")

-- Reads a body from front to back; a read past its end raises what dissect_body turns into an expert item.
local Reader = {}
Reader.__index = Reader

local function fail(reason)
  error({ reason = reason })
end

function Reader:range(length)
  if self.at + length > self.buffer:len() then fail("the bytes end before the fields do") end
  local range = self.buffer(self.at, length)
  self.at = self.at + length
  return range
end

-- Adds the named fields for the next `length` bytes; more than one name for the parts of a byte of flags.
function Reader:add(tree, length, ...)
  local range = self:range(length)
  for _, name in ipairs({ ... }) do
    tree:add(f[name], range)
  end
  return range
end

-- The class and level of a stream.
function Reader:stream(tree)
  if self:add(tree, 1, "class", "level"):bitfield(4, 1) ~= 0 then fail("a reserved bit is set") end
end

function Reader:subtree(tree, length, label)
  local available = math.min(length, self.buffer:len() - self.at)
  return tree:add(weft, self.buffer(self.at, available), label)
end

local function echo(reader, tree)
  reader:add(tree, 8, "sent_at_ns")
  reader:add(tree, 8, "echoed_sent_at_ns")
  reader:add(tree, 8, "echo_delay_ns")
end

local bodies = {}

function bodies.hello(reader, tree)
  reader:add(tree, 16, "hello.boot_id")
  reader:add(tree, 16, "hello.echoed_boot_id")
  echo(reader, tree)
  reader:add(tree, 8, "hello.classes_digest")
  reader:add(tree, 4, "hello.capabilities")
  reader:add(tree, 2, "hello.mtu_bytes")
  local state = reader:add(tree, 1, "hello.state"):uint()
  if not STATES[state] then fail("unknown state") end
  if reader:range(1):uint() ~= 0 then fail("a reserved bit is set") end
  return STATES[state]
end

function bodies.feedback(reader, tree)
  local sequence = reader:add(tree, 4, "feedback.sequence"):uint()
  reader:add(tree, 4, "feedback.period_us")
  echo(reader, tree)
  for _, name in ipairs({ "expected", "lost" }) do
    reader:add(tree, 8, "feedback." .. name .. "_packets")
  end
  reader:add(tree, 8, "feedback.loss_runs")
  reader:add(tree, 8, "feedback.ce_marked_packets")
  reader:add(tree, 8, "feedback.undecodable_packets")
  local confirmed = reader:add(tree, 2, "feedback.confirmed_count"):uint()
  local covered = reader:add(tree, 2, "feedback.covered_count"):uint()
  for _ = 1, confirmed do
    reader:add(tree, 2, "feedback.confirmed_flow")
  end
  for _ = 1, covered do
    local one = reader:subtree(tree, 5, "Covered stream")
    reader:stream(one)
    reader:add(one, 4, "feedback.covered_ordinal")
  end
  return "sequence " .. sequence
end

function bodies.announcement(reader, tree)
  local count = reader:add(tree, 1, "announcement.count"):uint()
  if count == 0 then fail("no flows") end
  for _ = 1, count do
    local one = reader:subtree(tree, 8, "Flow")
    reader:add(one, 2, "flow")
    reader:add(one, 1, "announcement.epoch")
    reader:stream(one)
    local flags = reader:add(one, 1, "announcement.ipv6", "announcement.response"):uint()
    if flags > 3 then fail("a reserved bit is set") end
    reader:add(one, 3, "announcement.dest_qpn")
    local ipv6 = flags % 2 == 1
    for _, name in ipairs({ "announcement.src", "announcement.dst" }) do
      if ipv6 then reader:add(one, 16, name .. "6") else reader:add(one, 4, name) end
    end
  end
  return count .. " flows"
end

local function descriptor(reader, tree)
  local one = reader:subtree(tree, 25, "Message")
  reader:add(one, 2, "flow")
  reader:add(one, 3, "first_psn")
  local flags = reader:add(one, 1, "manifest.mig_req", "manifest.end", "manifest.solicited_event",
    "manifest.has_imm")
  if flags:bitfield(0, 4) ~= 0 then fail("a reserved bit is set") end
  local pmtu_log2 = reader:add(one, 1, "manifest.pmtu_log2"):uint()
  if pmtu_log2 < 8 or pmtu_log2 > 12 then fail("no such path MTU") end
  reader:add(one, 2, "manifest.pkey")
  reader:add(one, 8, "manifest.va")
  reader:add(one, 4, "manifest.rkey")
  reader:add(one, 4, "manifest.length_bytes")
  local has_imm, has_end = flags:bitfield(4, 1) == 1, flags:bitfield(6, 1) == 1
  if has_imm then reader:add(one, 4, "manifest.imm") end
  if not has_end and flags:bitfield(4, 2) ~= 0 then fail("a message without an end has the flags of one") end
end

function bodies.manifest(reader, tree)
  reader:stream(tree)
  local runs = reader:add(tree, 1, "manifest.run_count"):uint()
  local descriptors = reader:add(tree, 1, "manifest.descriptor_count"):uint()
  if reader:range(1):uint() ~= 0 then fail("a reserved bit is set") end
  if runs + descriptors == 0 then fail("nothing in it") end
  reader:add(tree, 4, "first_ordinal")
  for _ = 1, runs do
    local one = reader:subtree(tree, 7, "Run")
    reader:add(one, 2, "flow")
    reader:add(one, 3, "first_psn")
    if reader:add(one, 2, "manifest.packets"):uint() == 0 then fail("an empty run") end
  end
  for _ = 1, descriptors do
    descriptor(reader, tree)
  end
  return runs .. " runs, " .. descriptors .. " messages"
end

local function repair_list(reader, tree, entry_count, k)
  local entries = {}
  for i = 0, entry_count - 1 do
    local one = reader:subtree(tree, 6, "Flow entry " .. i)
    entries[i] = {
      flow = reader:add(one, 2, "flow"):uint(),
      psn = reader:add(one, 3, "first_psn"):uint(),
      stride = reader:add(one, 1, "repair.stride"):uint(),
    }
  end
  for i = 0, k - 1 do
    local one = reader:subtree(tree, 3, "Source symbol " .. i)
    local name = reader:add(one, 1, "repair.entry", "repair.step")
    local fingerprint = reader:add(one, 2, "repair.fingerprint")
    local entry, step = entries[name:bitfield(0, 4)], name:bitfield(4, 4)
    if not entry then fail("a symbol names a flow entry that is not there") end
    if not entry.used and step ~= 0 then fail("the first symbol of a flow entry has a step") end
    entry.used = true
    entry.psn = (entry.psn + step * entry.stride) % 0x1000000
    one:add(f["repair.source_flow"], name, entry.flow):set_generated()
    one:add(f["repair.source_psn"], name, entry.psn):set_generated()
    one:append_text(string.format(": flow %d PSN %d fingerprint 0x%04x", entry.flow, entry.psn, fingerprint:uint()))
  end
  for i = 0, entry_count - 1 do
    if not entries[i].used then fail("a flow entry has no symbol") end
  end
end

function bodies.repair(reader, tree)
  reader:stream(tree)
  local flags = reader:add(tree, 1, "repair.code", "repair.ce_seen", "repair.has_list", "repair.has_symbol")
  if flags:bitfield(0, 1) ~= 0 then fail("a reserved bit is set") end
  if not CODES[flags:bitfield(4, 4)] then fail("unknown code") end
  local interleave = reader:add(tree, 1, "repair.interleave"):uint()
  local block = reader:add(tree, 1, "repair.block"):uint()
  local k = reader:add(tree, 1, "repair.k"):uint()
  local r = reader:add(tree, 1, "repair.r"):uint()
  local index = reader:add(tree, 1, "repair.index"):uint()
  local entry_count = reader:add(tree, 1, "repair.entry_count"):uint()
  local ordinal = reader:add(tree, 4, "first_ordinal"):uint()
  local symbol_bytes = reader:add(tree, 2, "repair.symbol_bytes"):uint()
  local has_list, has_symbol = flags:bitfield(2, 1) == 1, flags:bitfield(1, 1) == 1
  if block >= interleave then fail("block is not below interleave") end
  if k == 0 or k > 224 then fail("k is 0 or exceeds 224") end
  if r == 0 or r > 32 then fail("r is 0 or exceeds 32") end
  if index >= r then fail("index is not below r") end
  if symbol_bytes == 0 or symbol_bytes > 9216 then fail("symbol size is 0 or exceeds 9216") end
  if not has_list and not has_symbol then fail("neither list nor symbol") end
  if has_list ~= (entry_count > 0) or entry_count > 16 then fail("impossible number of flow entries") end
  if has_list then repair_list(reader, tree, entry_count, k) end
  if has_symbol then reader:add(tree, symbol_bytes, "repair.symbol") end
  return string.format("group %d block %d/%d k=%d r=%d index %d", ordinal, block, interleave, k, r, index)
end

local ip_dissectors = { [4] = Dissector.get("ip"), [6] = Dissector.get("ipv6") }

function bodies.ack_copy(reader, tree, pinfo)
  local left = reader.buffer:len() - reader.at
  if left > 128 then fail("longer than any ACK") end
  local packet = reader:range(left)
  if left < 48 then fail("the bytes end before the fields do") end
  local version = packet:bitfield(0, 4)
  local length = version == 4 and packet(2, 2):uint() or version == 6 and 40 + packet(4, 2):uint() or 0
  if length ~= left then fail("not exactly one IP packet") end
  local columns = { info = tostring(pinfo.cols.info), protocol = tostring(pinfo.cols.protocol) }
  ip_dissectors[version]:call(packet:tvb(), pinfo, tree)
  pinfo.cols.protocol = columns.protocol
  pinfo.cols.info = columns.info
  return ""
end

local function dissect_body(kind, body, tree, pinfo)
  local reader = setmetatable({ buffer = body, at = 0 }, Reader)
  local fine, result = pcall(bodies[kind], reader, tree, pinfo)
  if fine and reader.at < body:len() then
    fine, result = false, { reason = "bytes follow the last field" }
  end
  if fine then return result end
  if type(result) ~= "table" then error(result, 0) end
  tree:add_proto_expert_info(malformed, result.reason)
  return "[" .. result.reason .. "]"
end

function weft.dissector(buffer, pinfo, root)
  local length = buffer:len()
  if length < 4 or buffer(0, 4):string() ~= "WEFT" then return 0 end
  pinfo.cols.protocol = "WEFT"
  local tree = root:add(weft, buffer())
  if length < HEADER_BYTES + TAG_BYTES then
    tree:add_proto_expert_info(malformed, "shorter than header and tag")
    return length
  end
  tree:add(f["magic"], buffer(0, 4))
  tree:add(f["version"], buffer(4, 1))
  tree:add(f["type"], buffer(5, 1))
  tree:add(f["lane"], buffer(6, 1))
  tree:add(f["lane_count"], buffer(7, 1))
  tree:add(f["sender"], buffer(8, 8))
  tree:add(f["counter"], buffer(16, 8))
  local kind = TYPES[buffer(5, 1):uint()]
  if buffer(4, 1):uint() ~= 1 or not kind then
    tree:add_proto_expert_info(malformed, "another version, or a type this version does not have")
    return length
  end
  if buffer(6, 1):uint() >= buffer(7, 1):uint() then
    tree:add_proto_expert_info(malformed, "lane is not below lane count")
  end
  local label = kind:gsub("_", " ")
  pinfo.cols.info = label
  tree:append_text(", " .. label)
  local body_length = length - HEADER_BYTES - TAG_BYTES
  local summary = ""
  if body_length > 0 then
    summary = dissect_body(kind, buffer(HEADER_BYTES, body_length):tvb(), tree, pinfo)
  else
    tree:add_proto_expert_info(malformed, "no body")
  end
  tree:add(f["tag"], buffer(length - TAG_BYTES, TAG_BYTES))
  if summary ~= "" then pinfo.cols.info = label .. " " .. summary end
  return length
end

local ports = DissectorTable.get("udp.port")
local port = weft.prefs.port
ports:add(port, weft)

function weft.prefs_changed()
  if weft.prefs.port == port then return end
  ports:remove(port, weft)
  port = weft.prefs.port
  ports:add(port, weft)
end
