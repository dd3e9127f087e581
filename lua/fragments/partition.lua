-- partition: the start of all keys of a partition, "sl:{p0042}:".
--
-- A script derives keys from those in KEYS: each key that a call passes takes time. They have the
-- same hash tag, so a cluster has them on the same node, and the same start, so a rule of an ACL
-- like ~sl:* allows them. For a slot that moves see fragments/moving.lua.
local prefix = string.sub(KEYS[1], 1, string.find(KEYS[1], '}:', 1, true) + 1)
