package heavy

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/lua"
)

// Work is the work of a script call. It is the same on every machine.
type Work struct {
	Commands int // that it gives to the store
	Elements int // their arguments and what they answer
	Passed   int // places that they pass over before the first that they answer
	Loops    int // turns of its own loops
}

// Exceeds reports whether there is more of any kind than in a bound.
func (w Work) Exceeds(bound Work) bool {
	return w.Commands > bound.Commands || w.Elements > bound.Elements || w.Passed > bound.Passed || w.Loops > bound.Loops
}

// Counter is a client hook that counts the work of each script call. It replaces the
// scripts by ones that count. Another client of the same server reads the figures.
type Counter struct {
	scriptHook

	server *redis.Client
	texts  map[string]string // of the scripts that count, by the hash of the real one
	most   Work
}

const workKey = "heavy-work"

// counting surrounds the text of a script. A script gives no other command than call, so
// these are all.
const counting = `
local COUNTED, STORE = {commands = 0, elements = 0, passed = 0, loops = 0}, redis
local function script(redis)
%s
end
local function call(...)
  local answer = STORE.call(...)
  COUNTED.commands = COUNTED.commands + 1
  COUNTED.elements = COUNTED.elements + select('#', ...) + (type(answer) == 'table' and #answer or 1)
  for k = 1, select('#', ...) do
    if select(k, ...) == 'LIMIT' then COUNTED.passed = COUNTED.passed + select(k + 1, ...) end
  end
  return answer
end
local reply = script(setmetatable({call = call}, {__index = STORE}))
STORE.call('HSET', '` + workKey + `', 'commands', COUNTED.commands, 'elements', COUNTED.elements,
  'passed', COUNTED.passed, 'loops', COUNTED.loops)
return reply
`

// NewCounter returns a counter for a client of a server.
func NewCounter(server *redis.Client) (*Counter, error) {
	c := &Counter{server: server, texts: make(map[string]string)}
	c.look = c.count
	loop := regexp.MustCompile(`\bdo\b`)
	for hash, name := range lua.NamesByHash() {
		text, err := lua.Text(name)
		if err != nil {
			return nil, fmt.Errorf("counting work: %w", err)
		}
		c.texts[hash] = fmt.Sprintf(counting, loop.ReplaceAllString(text, "do COUNTED.loops = COUNTED.loops + 1 "))
	}
	return c, nil
}

// MaxOf returns the most work that a call of an operation does, of each kind.
func (c *Counter) MaxOf(do func() error) (Work, error) {
	c.most = Work{}
	err := do()
	return c.most, err
}

// count runs the counting script, and notes its counts.
func (c *Counter) count(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	if cmd.Name() != "evalsha" {
		return next(ctx, cmd)
	}
	args := cmd.Args()
	hash, _ := args[1].(string)
	if c.texts[hash] == "" {
		return fmt.Errorf("counting work: no script has the hash %q", hash)
	}
	args[0], args[1] = "eval", c.texts[hash]
	if err := next(ctx, cmd); err != nil {
		return err
	}
	return c.note(ctx)
}

func (c *Counter) note(ctx context.Context) error {
	counted, err := c.server.HGetAll(ctx, workKey).Result()
	if err != nil {
		return fmt.Errorf("counting work: %w", err)
	}
	var failed error
	figure := func(name string) int {
		n, err := strconv.Atoi(counted[name])
		failed = errors.Join(failed, err)
		return n
	}
	c.most.Commands = max(c.most.Commands, figure("commands"))
	c.most.Elements = max(c.most.Elements, figure("elements"))
	c.most.Passed = max(c.most.Passed, figure("passed"))
	c.most.Loops = max(c.most.Loops, figure("loops"))
	return failed
}
