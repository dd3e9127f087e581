package forecast

import "time"

// SetLocal replaces the clock that measures calls.
func (f *Forecasts) SetLocal(local func() time.Time) { f.local = local }
