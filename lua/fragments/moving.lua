-- moving: stops a script in a slot of a cluster that moves from one node to another.
--
-- Such a slot has some keys here and others there. Redis checks only that all KEYS are here. A
-- command on another key fails on the old node if the key moved, never existed, or was removed by
-- the script itself; earlier writes stay. On the new node the command finds no key, even if the old
-- node has it. So no script judges or writes in such a slot: this command fails in it, as no key
-- ends like that. In any other slot it costs one look at two keys.
redis.call('EXISTS', KEYS[#KEYS], KEYS[#KEYS] .. '\0')
