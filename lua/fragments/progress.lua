-- progress: the outcomes of a message on the devices that are done.
--
-- It is the record's field D, in the form of messages.Progress: for each device a letter and its
-- id, "dphone gtablet". The letters are d delivered, g gone, f failed and u uncertain. The
-- delivered ones come first.

-- has_reached reports whether a message with the field D reached a device. Then its place counts,
-- whatever happens on the other devices: it is neither moved nor cancelled, and ends as delivered.
local function has_reached(progress) return progress and string.byte(progress) == 100 end -- "d"
