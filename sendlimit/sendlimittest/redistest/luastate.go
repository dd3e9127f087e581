package redistest

import lua "github.com/yuin/gopher-lua"

// SmallLuaStates makes the Lua states of embedded stores smaller, for a TestMain: each call of a script
// gets a new one, and clearing its memory took up to a sixth of the processor time of tests. A script
// that needs more fails with "registry overflow" or "stack overflow"; one unpacks 1,000 words.
func SmallLuaStates() { lua.RegistrySize, lua.CallStackSize = 2560, 64 }
